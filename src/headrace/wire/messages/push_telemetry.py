"""PushTelemetry (key 72): a client's metrics (KIP-714)."""

from __future__ import annotations

from ..schema import request, response
from ..types import Bool, Int8, Int16, Int32, Uuid


@request(key=72, versions="0", flexible=0)
class PushTelemetryRequest:
    """`metrics` is OpenTelemetry's MetricsData v1, compressed as `compression_type` says."""

    client_instance_id: Uuid
    subscription_id: Int32
    terminating: Bool
    compression_type: Int8
    metrics: bytes


@response(key=72, versions="0", flexible=0)
class PushTelemetryResponse:
    """Whether the metrics were taken."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
