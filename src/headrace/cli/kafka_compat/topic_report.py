"""What `kafka-topics --describe` prints: a line for each topic and one for each partition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum, auto

from headrace.admin.health import min_isr_of
from headrace.admin.settings import SettingView
from headrace.admin.views import (
    PartitionView,
    Reassignment,
    TopicView,
    is_at_min_isr,
    is_offline,
    is_under_min_isr,
    is_under_replicated,
    replication_factor,
)
from headrace.java.hash_order import hash_map_order
from headrace.types import ZERO_UUID, TopicPartition, uuid_to_text


class Filter(Enum):
    """Partitions that an operator looks for; the other ones and the topics' lines are left out."""

    UNDER_REPLICATED = auto()
    UNAVAILABLE = auto()
    UNDER_MIN_ISR = auto()
    AT_MIN_ISR = auto()


def report(
    topics: Sequence[TopicView],
    settings: Mapping[str, Sequence[SettingView]],
    reassignments: Mapping[TopicPartition, Reassignment],
    live: Collection[int],
    *,
    filters: Collection[Filter],
    overridden_only: bool,
) -> Iterator[str]:
    """The lines."""
    by_name = {topic.name: topic for topic in topics}
    # Kafka's tool has them from one map and puts them into another.
    ordered = hash_map_order(hash_map_order(by_name), len(by_name))
    for topic in (by_name[name] for name in ordered):
        changed = _changed(settings[topic.name])
        moves = {
            each.number: reassignments.get(TopicPartition(topic.name, each.number))
            for each in topic.partitions
        }
        if not filters and (changed or not overridden_only) and topic.partitions:
            yield _topic_line(topic, changed, moves[topic.partitions[0].number])
        if overridden_only:
            continue
        min_isr = min_isr_of(settings[topic.name])
        for partition in topic.partitions:
            move = moves[partition.number]
            found = kinds_of(partition, move, min_isr, live)
            if not filters or found & set(filters):
                yield _partition_line(topic.name, partition, move)


def kinds_of(
    partition: PartitionView, move: Reassignment | None, min_isr: int, live: Collection[int]
) -> set[Filter]:
    """What is the matter with a partition."""
    answers = {
        Filter.UNDER_REPLICATED: is_under_replicated(partition, move),
        Filter.UNAVAILABLE: is_offline(partition, live),
        Filter.UNDER_MIN_ISR: is_under_min_isr(partition, min_isr),
        Filter.AT_MIN_ISR: is_at_min_isr(partition, min_isr),
    }
    return {kind for kind, yes in answers.items() if yes}


def _changed(settings: Sequence[SettingView]) -> list[SettingView]:
    by_name = {each.name: each for each in settings}
    return [by_name[name] for name in hash_map_order(by_name) if not by_name[name].is_default]


def _topic_line(topic: TopicView, changed: Sequence[SettingView], move: Reassignment | None) -> str:
    parts = [f"Topic: {topic.name}"]
    if topic.id != ZERO_UUID:
        parts.append(f"TopicId: {uuid_to_text(topic.id)}")
    parts.append(f"PartitionCount: {len(topic.partitions)}")
    parts.append(f"ReplicationFactor: {replication_factor(topic.partitions[0], move)}")
    parts.append("Configs: " + ",".join(f"{each.name}={each.value}" for each in changed))
    return "\t".join(parts)


def _partition_line(topic: str, partition: PartitionView, move: Reassignment | None) -> str:
    leader = "none" if partition.leader is None else partition.leader
    parts = ["", f"Topic: {topic}", f"Partition: {partition.number}", f"Leader: {leader}"]
    parts.append(f"Replicas: {_listed(partition.replicas)}")
    parts.append(f"Isr: {_listed(partition.isr)}")
    if move is not None:
        parts.append(f"Adding Replicas: {_listed(move.adding)}")
        parts.append(f"Removing Replicas: {_listed(move.removing)}")
    parts.append(f"Elr: {_listed(partition.eligible)}")
    parts.append(f"LastKnownElr: {_listed(partition.last_eligible)}")
    return "\t".join(parts)


def _listed(ids: Sequence[int] | None) -> str:
    return "N/A" if ids is None else ",".join(map(str, ids))
