"""What a cluster tells about itself, as plain values."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from headrace.types import TopicPartition


class BrokerView(NamedTuple):
    """One broker and the address that it advertises."""

    id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


class ClusterView(NamedTuple):
    """The brokers that live, and which of them is the controller (-1: nobody)."""

    cluster_id: str
    controller: int
    brokers: tuple[BrokerView, ...]

    @property
    def ids(self) -> set[int]:
        return {broker.id for broker in self.brokers}


class PartitionView(NamedTuple):
    """Who has a partition; the leader is None where there is none.

    The eligible leaders (KIP-966) are None on a broker that does not keep them.
    """

    number: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    eligible: tuple[int, ...] | None
    last_eligible: tuple[int, ...] | None


class TopicView(NamedTuple):
    """A topic; `operations` is the bit set of what the client may do, None if not requested."""

    name: str
    id: UUID
    is_internal: bool
    partitions: tuple[PartitionView, ...]
    operations: int | None = None

    @property
    def replication_factor(self) -> int:
        return max((len(each.replicas) for each in self.partitions), default=0)


class Created(NamedTuple):
    """What became of a new topic's defaults; -1 where a broker is too old to tell."""

    partitions: int
    replication_factor: int


class Reassignment(NamedTuple):
    """A partition whose replicas change: all of now, those that come, those that go."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(each for each in self.replicas if each not in self.removing)


def replication_factor(partition: PartitionView, reassignment: Reassignment | None) -> int:
    """How many replicas a partition counts; those that only come do not count yet."""
    if reassignment is None or not _is_under_way(partition, reassignment):
        return len(partition.replicas)
    return len(reassignment.replicas) - len(reassignment.adding)


def _is_under_way(partition: PartitionView, reassignment: Reassignment) -> bool:
    """Whether it had not ended when the partition was looked at."""
    return bool(set(partition.replicas) & {*reassignment.adding, *reassignment.removing})


def is_under_replicated(partition: PartitionView, reassignment: Reassignment | None) -> bool:
    return replication_factor(partition, reassignment) > len(partition.isr)


def is_offline(partition: PartitionView, live: Collection[int]) -> bool:
    return partition.leader is None or partition.leader not in live


def is_under_min_isr(partition: PartitionView, min_isr: int) -> bool:
    return partition.leader is None or len(partition.isr) < min_isr


def is_at_min_isr(partition: PartitionView, min_isr: int) -> bool:
    return len(partition.isr) == min_isr


def by_topic(partitions: Collection[TopicPartition]) -> dict[str, list[int]]:
    """The partition numbers of each topic, in order."""
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        found.setdefault(topic, []).append(partition)
    return found
