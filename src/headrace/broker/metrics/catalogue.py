"""Every metric of a broker, in the order in which they are shown."""

from __future__ import annotations

from typing import Final

from headrace.broker.metrics.cluster import CLUSTER_METRICS
from headrace.broker.metrics.coordination import COORDINATION_METRICS
from headrace.broker.metrics.declaration import Metric
from headrace.broker.metrics.files import FILE_METRICS
from headrace.broker.metrics.limits import LIMIT_METRICS
from headrace.broker.metrics.network import NETWORK_METRICS
from headrace.broker.metrics.process import PROCESS_METRICS
from headrace.broker.metrics.replicas import REPLICA_METRICS
from headrace.broker.metrics.sharing import SHARING_METRICS
from headrace.broker.metrics.topics import TOPIC_METRICS

SECTIONS: Final[dict[str, tuple[Metric, ...]]] = {
    "Cluster": CLUSTER_METRICS,
    "Replicas": REPLICA_METRICS,
    "Logs": FILE_METRICS,
    "Topics": TOPIC_METRICS,
    "Requests and connections": NETWORK_METRICS,
    "Groups and transactions": COORDINATION_METRICS,
    "Share groups": SHARING_METRICS,
    "Limits and client telemetry": LIMIT_METRICS,
    "Process": PROCESS_METRICS,
}
METRICS: Final[tuple[Metric, ...]] = tuple(
    metric for section in SECTIONS.values() for metric in section
)
