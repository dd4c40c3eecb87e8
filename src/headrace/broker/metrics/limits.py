"""Metrics of quotas, and of the telemetry that clients push."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from headrace.broker.metrics.declaration import COUNTER, GAUGE, Metric, Reading, Sources, one


def _plugin(name: str) -> str:
    return f"kafka.server:type=client-metrics:{name}"


def _by_quota(attribute: str) -> Callable[[Sources], Iterable[Reading]]:
    def read(sources: Sources) -> Iterator[Reading]:
        counted: Counter[str] = getattr(sources.broker.quotas, attribute)
        for kind, value in counted.items():
            yield (kind,), value

    return read


LIMIT_METRICS: Final = (
    Metric(
        "kafka_server_quota_throttled_total",
        COUNTER,
        "Responses that throttled their client, by the quota that was exceeded.",
        _by_quota("throttled"),
        ("type",),
    ),
    Metric(
        "kafka_server_quota_throttle_time_ms_total",
        COUNTER,
        "Total throttle time of clients, by quota. Milliseconds.",
        _by_quota("throttle_ms"),
        ("type",),
        "kafka.server:type={Produce|Fetch|Request},user=,client-id=:throttle-time",
    ),
    Metric(
        "kafka_server_request_exempt_request_time_ms_total",
        COUNTER,
        "Time that went into requests which no quota concerns, while there are quotas.",
        one(lambda sources: sources.broker.quotas.exempt_ns / 1e6),
        mbean="kafka.server:type=Request:exempt-request-time",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_accept_delayed_total",
        COUNTER,
        "Connections that had to wait for a connection rate.",
        one(lambda sources: sources.broker.gate.delayed),
        mbean="kafka.server:type=socket-server-metrics:connection-accept-throttle-time",
    ),
    Metric(
        "kafka_server_client_metrics_instance_count",
        GAUGE,
        "Clients that push metrics, or have asked whether they should.",
        one(lambda sources: sources.telemetry.instance_count),
        mbean=_plugin("client-metrics-instance-count"),
    ),
    Metric(
        "kafka_server_client_metrics_plugin_export_total",
        COUNTER,
        "Reports of clients that were taken in.",
        one(lambda sources: sources.telemetry.exported),
        mbean=_plugin("client-metrics-plugin-export-count"),
    ),
    Metric(
        "kafka_server_client_metrics_plugin_error_total",
        COUNTER,
        "Reports of clients that could not be understood.",
        one(lambda sources: sources.telemetry.failed),
        mbean=_plugin("client-metrics-plugin-error-count"),
    ),
    Metric(
        "kafka_server_client_metrics_throttle_total",
        COUNTER,
        "Clients that came too early.",
        one(lambda sources: sources.telemetry.throttled),
        mbean=_plugin("client-metrics-throttle-count"),
    ),
    Metric(
        "kafka_server_client_metrics_unknown_subscription_request_total",
        COUNTER,
        "Reports under a subscription that has changed since.",
        one(lambda sources: sources.telemetry.unknown_subscriptions),
        mbean=_plugin("client-metrics-unknown-subscription-request-count"),
    ),
    Metric(
        "headrace_client_series_dropped_total",
        COUNTER,
        "Time series of clients for which there was no room.",
        one(lambda sources: sources.telemetry.dropped_series),
    ),
)
