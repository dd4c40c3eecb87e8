"""The committed offsets of one shard: what groups have read, and what transactions say they have.

Offsets of a transaction are pending until its marker is replayed. Then each of them becomes the
committed one, unless the log holds a later commit of the same partition: what was written last
wins, not what was finished last.

State and look-ups only. Who may commit, and how requests are answered, is decided elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias
from uuid import UUID

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.records import GroupRecord, OffsetCommitKey, OffsetCommitValue
from headrace.types import NO_TIMESTAMP, ZERO_UUID, Offset, ProducerId, TopicPartition


class CommittedOffset(NamedTuple):
    """What a group committed for a partition, and where in the log that stands."""

    offset: Offset
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    topic_id: UUID
    record_offset: Offset

    def is_of_topic(self, topic_id: UUID) -> bool:
        """Whether this was committed for the topic with that id; unknown ids speak for it."""
        return ZERO_UUID in (self.topic_id, topic_id) or self.topic_id == topic_id


GroupOffsets: TypeAlias = dict[TopicPartition, CommittedOffset]
UsedTopic: TypeAlias = tuple[str, UUID]


class CommittedOffsets:
    """All offsets of a shard by group, and those of open transactions by producer."""

    __slots__ = ("_committed", "_open", "_pending", "_used")

    def __init__(self) -> None:
        self._committed: dict[str, GroupOffsets] = {}
        self._pending: dict[ProducerId, dict[str, GroupOffsets]] = {}
        # Which producers have something pending for a partition of a group.
        self._open: dict[str, dict[TopicPartition, set[ProducerId]]] = {}
        self._used: Counter[UsedTopic] = Counter()

    def of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        return self._committed.get(group_id, {})

    def group_ids(self) -> Iterable[str]:
        """The groups that have offsets, committed or pending."""
        return self._committed.keys() | self._open.keys()

    def is_pending(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an open transaction may still change this offset."""
        return partition in self._open.get(group_id, ())

    def has_open_transaction(self, group_id: str) -> bool:
        return group_id in self._open

    def used_topics(self) -> Iterable[UsedTopic]:
        """Name and id of every topic that has an offset here, committed or pending."""
        return self._used.keys()

    # -- replay --------------------------------------------------------------------------------

    def replay(
        self,
        key: OffsetCommitKey,
        value: OffsetCommitValue | None,
        record_offset: Offset,
        producer_id: ProducerId | None,
    ) -> None:
        """Apply a record; with a producer id it is part of that producer's transaction."""
        partition = TopicPartition(key.topic, key.partition)
        if value is None:
            self._delete(key.group, partition)
            return
        committed = CommittedOffset(
            offset=value.offset,
            leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            commit_timestamp_ms=value.commit_timestamp,
            expire_timestamp_ms=value.expire_timestamp,
            topic_id=value.topic_id,
            record_offset=record_offset,
        )
        if producer_id is None:
            self._put(self._committed, key.group, partition, committed)
            return
        self._put(self._pending.setdefault(producer_id, {}), key.group, partition, committed)
        partitions = self._open.setdefault(key.group, {})
        partitions.setdefault(partition, set()).add(producer_id)

    def replay_end_transaction(self, producer_id: ProducerId, commit: bool) -> None:
        """Settle what a producer has pending; nothing happens if that is nothing."""
        for group_id, pending in self._pending.pop(producer_id, {}).items():
            for partition, offset in pending.items():
                self._close(group_id, partition, producer_id)
                self._unuse(partition, offset)
                if commit:
                    known = self._committed.get(group_id, {}).get(partition)
                    if known is None or known.record_offset < offset.record_offset:
                        self._put(self._committed, group_id, partition, offset)

    def _delete(self, group_id: str, partition: TopicPartition) -> None:
        self._take(self._committed, group_id, partition)
        for producer_id in tuple(self._open.get(group_id, {}).get(partition, ())):
            pending = self._pending[producer_id]
            self._take(pending, group_id, partition)
            self._close(group_id, partition, producer_id)
            if not pending:
                del self._pending[producer_id]

    def _put(
        self,
        groups: dict[str, GroupOffsets],
        group_id: str,
        partition: TopicPartition,
        offset: CommittedOffset,
    ) -> None:
        offsets = groups.setdefault(group_id, {})
        previous = offsets.get(partition)
        offsets[partition] = offset
        self._used[partition.topic, offset.topic_id] += 1
        if previous is not None:
            self._unuse(partition, previous)

    def _take(
        self, groups: dict[str, GroupOffsets], group_id: str, partition: TopicPartition
    ) -> None:
        offsets = groups.get(group_id, {})
        taken = offsets.pop(partition, None)
        if taken is not None:
            self._unuse(partition, taken)
            if not offsets:
                del groups[group_id]

    def _unuse(self, partition: TopicPartition, offset: CommittedOffset) -> None:
        topic = (partition.topic, offset.topic_id)
        self._used[topic] -= 1
        if not self._used[topic]:
            del self._used[topic]

    def _close(self, group_id: str, partition: TopicPartition, producer_id: ProducerId) -> None:
        partitions = self._open[group_id]
        partitions[partition].discard(producer_id)
        if not partitions[partition]:
            del partitions[partition]
        if not partitions:
            del self._open[group_id]

    # -- deletion ------------------------------------------------------------------------------

    def has_any(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether there is something to delete, be it committed or pending."""
        return partition in self.of_group(group_id) or self.is_pending(group_id, partition)

    def tombstones_of_group(self, group_id: str) -> list[GroupRecord]:
        """What makes the log forget all offsets of a group."""
        partitions = dict.fromkeys((*self.of_group(group_id), *self._open.get(group_id, ())))
        return [tombstone(group_id, partition) for partition in partitions]

    def tombstones_of_topics(self, topics: Container[UsedTopic]) -> list[GroupRecord]:
        """What makes the log forget all offsets of these topics, in whichever group."""
        found = dict.fromkeys(
            (group_id, partition)
            for group_id, partition, offset in self._everything()
            if (partition.topic, offset.topic_id) in topics
        )
        return [tombstone(group_id, partition) for group_id, partition in found]

    def _everything(self) -> Iterator[tuple[str, TopicPartition, CommittedOffset]]:
        for groups in (self._committed, *self._pending.values()):
            for group_id, offsets in groups.items():
                for partition, offset in offsets.items():
                    yield group_id, partition, offset

    def expired(
        self,
        group_id: str,
        *,
        age_since_ms: Callable[[CommittedOffset], int],
        is_in_use: Callable[[str], bool],
        retention_ms: int,
        now_ms: int,
    ) -> list[TopicPartition]:
        """The partitions whose offset nobody has needed for so long that it may go.

        Offsets of topics in use stay, and those that an open transaction is about to change.
        """
        found = []
        for partition, offset in self.of_group(group_id).items():
            if is_in_use(partition.topic) or self.is_pending(group_id, partition):
                continue
            if offset.expire_timestamp_ms != NO_TIMESTAMP:
                is_old = now_ms >= offset.expire_timestamp_ms
            else:
                is_old = now_ms - age_since_ms(offset) >= retention_ms
            if is_old:
                found.append(partition)
        return found


def tombstone(group_id: str, partition: TopicPartition) -> GroupRecord:
    """What makes the log forget one offset."""
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return StateRecord(key, None)
