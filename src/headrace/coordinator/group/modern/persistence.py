"""The records that every modern group writes; each kind of group has keys of its own for them.

Whatever has no order is written sorted: equal states are equal bytes on every broker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.modern.member import Target
from headrace.coordinator.group.modern.records import (
    TargetAssignmentMemberValue,
    TargetAssignmentMetadataValue,
    TargetPartitions,
)
from headrace.coordinator.group.records import GroupKey, GroupRecord


class ModernRecords(NamedTuple):
    """The keys of one kind of group, and the value of its epoch."""

    group_key: Callable[..., GroupKey]
    group_value: Callable[..., object]
    target_epoch_key: Callable[..., GroupKey]
    member_key: Callable[..., GroupKey]
    target_key: Callable[..., GroupKey]
    current_key: Callable[..., GroupKey]

    def epoch(self, group_id: str, epoch: int, metadata_hash: int) -> GroupRecord:
        """The epoch of the group, and what it knew of its topics then."""
        value = self.group_value(epoch=epoch, metadata_hash=metadata_hash)
        return StateRecord(self.group_key(group_id=group_id), value)

    def epoch_tombstone(self, group_id: str) -> GroupRecord:
        """What ends a group that has no members."""
        return StateRecord(self.group_key(group_id=group_id), None)

    def target_epoch(self, group_id: str, epoch: int, timestamp_ms: int) -> GroupRecord:
        """That the target assignment of this epoch is complete."""
        value = TargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=timestamp_ms
        )
        return StateRecord(self.target_epoch_key(group_id=group_id), value)

    def target_epoch_tombstone(self, group_id: str) -> GroupRecord:
        return StateRecord(self.target_epoch_key(group_id=group_id), None)

    def target(self, group_id: str, member_id: str, target: Target) -> GroupRecord:
        """The target assignment of one member."""
        value = TargetAssignmentMemberValue(topic_partitions=to_lists(target))
        return StateRecord(self.target_key(group_id=group_id, member_id=member_id), value)

    def member_tombstones(self, group_id: str, member_id: str) -> list[GroupRecord]:
        """What ends a member, in the order in which it must be undone."""
        keys = (self.current_key, self.target_key, self.member_key)
        return [StateRecord(key(group_id=group_id, member_id=member_id), None) for key in keys]


def to_lists(target: Target) -> list[TargetPartitions]:
    return [
        TargetPartitions(topic_id=topic_id, partitions=sorted(target[topic_id]))
        for topic_id in sorted(target)
    ]


def from_lists(topics: list[TargetPartitions]) -> Target:
    """Partitions by topic id, after a record about them."""
    return {each.topic_id: frozenset(each.partitions) for each in topics}
