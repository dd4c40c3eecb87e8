"""Metrics of share groups: what was acquired from partitions led here, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from headrace.broker.metrics.declaration import COUNTER, GAUGE, Metric, Reading, Sources, one

if TYPE_CHECKING:
    from headrace.replica.sharing.partition import SharePartition

_SHARE: Final = "kafka.server:type=share-group-metrics,name="


def _shares(sources: Sources) -> Iterator[tuple[str, SharePartition]]:
    for key, led in list(sources.broker.share_partitions.led.items()):
        if led.share is not None:
            yield key.group_id, led.share


def _by_group(attribute: str) -> Callable[[Sources], Iterable[Reading]]:
    def read(sources: Sources) -> Iterator[Reading]:
        counted: Counter[str] = Counter()
        for group, share in _shares(sources):
            counted[group] += getattr(share, attribute)
        for group, value in counted.items():
            yield (group,), value

    return read


def _acknowledged(sources: Sources) -> Iterator[Reading]:
    counted: Counter[tuple[str, str]] = Counter()
    for group, share in _shares(sources):
        for kind, value in share.acknowledged_records.items():
            counted[group, kind.name.lower()] += value
    for (group, name), value in counted.items():
        yield (group, name), value


SHARING_METRICS: Final = (
    Metric(
        "kafka_server_share_group_metrics_share_partition_count",
        GAUGE,
        "Partitions led here that share groups read.",
        one(lambda sources: sum(1 for _ in _shares(sources))),
    ),
    Metric(
        "kafka_server_share_group_metrics_acquired_records_total",
        COUNTER,
        "Records that members were given, each as often as it was delivered.",
        _by_group("acquired_records"),
        ("group",),
    ),
    Metric(
        "kafka_server_share_group_metrics_record_acknowledgement_total",
        COUNTER,
        "Records that members have accepted, released, rejected or renewed.",
        _acknowledged,
        ("group", "ackType"),
        f"{_SHARE}record-acknowledgement-count,ackType=",
    ),
    Metric(
        "kafka_server_share_group_metrics_acquisition_lock_timeout_total",
        COUNTER,
        "Records that became available again because they were not acknowledged in time.",
        _by_group("expired_records"),
        ("group",),
        "kafka.server:type=SharePartitionMetrics,name=AcquisitionLockTimeoutPerSec",
    ),
    Metric(
        "kafka_server_share_coordinator_metrics_write_total",
        COUNTER,
        "Writes of the state of share groups.",
        one(lambda sources: sources.broker.share_states.writes),
        mbean="kafka.server:type=share-coordinator-metrics:write-total",
    ),
    Metric(
        "headrace_share_state_failed_writes_total",
        COUNTER,
        "Writes of the state of share groups that were refused.",
        one(lambda sources: sources.broker.share_states.failed_writes),
    ),
)
