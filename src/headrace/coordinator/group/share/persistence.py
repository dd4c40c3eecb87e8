"""The records of a share group, made from values and read back into them.

Whatever has no order is written sorted: equal states are equal bytes on every broker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.consumer.member import Target
from headrace.coordinator.group.consumer.state import MemberState
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.share.member import ShareMember
from headrace.coordinator.group.share_records import (
    SharedPartitions,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> GroupRecord:
    """The epoch of the group, and what it knew of its topics then."""
    value = ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return StateRecord(ShareGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member: ShareMember) -> GroupRecord:
    """What a member told about itself."""
    value = ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
    )
    key = ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, value)


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> GroupRecord:
    """That the target assignment of this epoch is complete."""
    value = ShareGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp_ms
    )
    return StateRecord(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_record(group_id: str, member_id: str, target: Target) -> GroupRecord:
    """What one member shall have."""
    value = ShareGroupTargetAssignmentMemberValue(topic_partitions=_to_lists(target))
    key = ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return StateRecord(key, value)


def current_record(group_id: str, member: ShareMember) -> GroupRecord:
    """What one member has."""
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=MemberState.STABLE,
        assigned_partitions=_to_lists(member.assigned),
    )
    key = ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, value)


def member_tombstones(group_id: str, member_id: str) -> list[GroupRecord]:
    """What ends a member, in the order in which it must be undone."""
    keys = (
        ShareGroupCurrentMemberAssignmentKey,
        ShareGroupTargetAssignmentMemberKey,
        ShareGroupMemberMetadataKey,
    )
    return [StateRecord(key(group_id=group_id, member_id=member_id), None) for key in keys]


def group_tombstones(group_id: str) -> list[GroupRecord]:
    """What ends a group that has no members."""
    keys = (
        ShareGroupTargetAssignmentMetadataKey,
        ShareGroupStatePartitionMetadataKey,
        ShareGroupMetadataKey,
    )
    return [StateRecord(key(group_id=group_id), None) for key in keys]


def with_metadata(member: ShareMember, value: ShareGroupMemberMetadataValue) -> ShareMember:
    """The member after a record about itself."""
    return replace(
        member,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=frozenset(value.subscribed_topic_names),
    )


def with_assignment(
    member: ShareMember, value: ShareGroupCurrentMemberAssignmentValue
) -> ShareMember:
    """The member after a record about what it has."""
    return replace(
        member,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        assigned=from_lists(value.assigned_partitions),
    )


def from_lists(topics: Iterable[SharedPartitions]) -> Target:
    """Partitions by topic id, after a record about them."""
    return {each.topic_id: frozenset(each.partitions) for each in topics}


def _to_lists(target: Target) -> list[SharedPartitions]:
    return [
        SharedPartitions(topic_id=topic_id, partitions=sorted(target[topic_id]))
        for topic_id in sorted(target)
    ]
