"""GetTelemetrySubscriptions (key 71): which metrics a client shall push (KIP-714)."""

from __future__ import annotations

from ..schema import request, response
from ..types import Bool, Int8, Int16, Int32, Uuid


@request(key=71, versions="0", flexible=0)
class GetTelemetrySubscriptionsRequest:
    """The client's instance id; all zeros asks for one."""

    client_instance_id: Uuid


@response(key=71, versions="0", flexible=0)
class GetTelemetrySubscriptionsResponse:
    """Metrics by the prefixes of their names; none means that there is nothing to push."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    client_instance_id: Uuid
    subscription_id: Int32
    accepted_compression_types: list[Int8]
    push_interval_ms: Int32
    telemetry_max_bytes: Int32
    delta_temporality: Bool
    requested_metrics: list[str]
