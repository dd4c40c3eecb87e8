"""Metrics of groups and transactions: how many in which state, and how far behind each group is.

A group is told by its coordinator alone, so the sum over brokers is right. Its lag is the distance
between what is committed in a partition and what the group has committed as read. A partition that
has no replica on the coordinator is asked of its leader; where that one does not answer, the lag
is left out and `kafka_consumergroup_current_offset` is still there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from headrace.broker.metrics.declaration import GAUGE, Metric, Reading, Sources, one
from headrace.coordinator.group.classic import ClassicState
from headrace.coordinator.group.listing import listed_groups
from headrace.coordinator.transaction.state import LABELS
from headrace.types import TopicPartition

_CLASSIC: Final = "classic"


def _group_states(sources: Sources) -> Counter[tuple[str, str]]:
    """How many groups there are, by type and state."""
    return Counter(
        (group.group_type, group.group_state)
        for host in sources.broker.groups.active()
        for group in listed_groups(host.shard.groups.values(), [], [])
    )


def _groups_by_type(sources: Sources) -> Iterator[Reading]:
    by_type: Counter[str] = Counter({_CLASSIC: 0, "consumer": 0, "share": 0})
    for (kind, _), count in _group_states(sources).items():
        by_type[kind] += count
    for kind, count in by_type.items():
        yield (kind,), count


def _of_type(kind: str) -> Callable[[Sources], Iterable[Reading]]:
    def read(sources: Sources) -> Iterator[Reading]:
        for (each, state), count in sorted(_group_states(sources).items()):
            if each == kind:
                yield (state,), count

    return read


def _classic(state: ClassicState) -> Callable[[Sources], int]:
    return lambda sources: _group_states(sources)[_CLASSIC, state.value]


def _offsets(sources: Sources) -> Iterator[tuple[str, TopicPartition, int]]:
    """Group, partition and offset of everything that is committed."""
    for host in sources.broker.groups.active():
        offsets = host.shard.offsets
        for group in list(offsets.group_ids()):
            for partition, committed in list(offsets.of_group(group).items()):
                yield group, partition, committed.offset


def _current_offsets(sources: Sources) -> Iterator[Reading]:
    for group, (topic, index), offset in _offsets(sources):
        yield (group, topic, str(index)), offset


def _lags(sources: Sources) -> Iterator[Reading]:
    partitions = sources.broker.storage.partitions
    for group, topic_partition, offset in _offsets(sources):
        partition = partitions.get(topic_partition)
        if partition is None:
            end = sources.remote_ends.get(topic_partition)
        elif partition.is_leader:
            end = partition.log.high_watermark
        else:
            end = max(partition.log.high_watermark, partition.leader_high_watermark)
        if end is not None:
            topic, index = topic_partition
            yield (group, topic, str(index)), max(end - offset, 0)


def distant_partitions(sources: Sources) -> set[TopicPartition]:
    """Partitions that a group here reads and that have no replica here."""
    partitions = sources.broker.storage.partitions
    image = sources.broker.metadata.image
    return {
        partition
        for _, partition, _ in _offsets(sources)
        if partition not in partitions and image.partition(*partition) is not None
    }


def _members(sources: Sources) -> Iterator[Reading]:
    for host in sources.broker.groups.active():
        for name, group in list(host.shard.groups.items()):
            yield (name,), len(group.members)


def _transactions(sources: Sources) -> Iterator[Reading]:
    states = Counter(
        known.state
        for host in sources.broker.transactions.active()
        for known in host.shard.transactions.values()
    )
    for state, label in LABELS.items():
        yield (label,), states[state]


def _manager(name: str) -> str:
    return f"kafka.coordinator.group:type=GroupMetadataManager,name={name}"


_COORDINATOR: Final = "kafka.server:type=group-coordinator-metrics,name="
_OF_OFFSET: Final = ("group", "topic", "partition")

COORDINATION_METRICS: Final = (
    Metric(
        "kafka_server_group_coordinator_metrics_group_count",
        GAUGE,
        "Groups that are coordinated here, by type.",
        _groups_by_type,
        ("protocol",),
        f"{_COORDINATOR}group-count,protocol=",
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_classic_group_count",
        GAUGE,
        "Groups of the classic protocol that are coordinated here, by state.",
        _of_type(_CLASSIC),
        ("state",),
        f"{_COORDINATOR}classic-group-count,state=",
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_consumer_group_count",
        GAUGE,
        "Groups of the consumer protocol that are coordinated here, by state.",
        _of_type("consumer"),
        ("state",),
        f"{_COORDINATOR}consumer-group-count,state=",
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_share_group_count",
        GAUGE,
        "Share groups that are coordinated here, by state.",
        _of_type("share"),
        ("state",),
        f"{_COORDINATOR}share-group-count,state=",
    ),
    Metric(
        "kafka_coordinator_group_groupmetadatamanager_numgroups",
        GAUGE,
        "Groups that are coordinated here.",
        one(lambda sources: _group_states(sources).total()),
        mbean=_manager("NumGroups"),
    ),
    *(
        Metric(
            f"kafka_coordinator_group_groupmetadatamanager_numgroups{state.value.lower()}",
            GAUGE,
            f"Groups of the classic protocol in the state {state.value}.",
            one(_classic(state)),
            mbean=_manager(f"NumGroups{state.value}"),
        )
        for state in ClassicState
    ),
    Metric(
        "kafka_coordinator_group_groupmetadatamanager_numoffsets",
        GAUGE,
        "Offsets that the groups here have committed.",
        one(lambda sources: sum(1 for _ in _offsets(sources))),
        mbean=_manager("NumOffsets"),
    ),
    Metric(
        "kafka_consumergroup_members",
        GAUGE,
        "Members of a group.",
        _members,
        ("group",),
    ),
    Metric(
        "kafka_consumergroup_current_offset",
        GAUGE,
        "The offset that a group has committed for a partition.",
        _current_offsets,
        _OF_OFFSET,
    ),
    Metric(
        "kafka_consumergroup_lag",
        GAUGE,
        "Records of a partition behind the offset that a group has committed.",
        _lags,
        _OF_OFFSET,
    ),
    Metric(
        "kafka_coordinator_transaction_transactionalids",
        GAUGE,
        "Transactional ids that are coordinated here, by state.",
        _transactions,
        ("state",),
    ),
)
