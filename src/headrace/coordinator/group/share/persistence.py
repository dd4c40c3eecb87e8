"""The records that only a share group writes, made from values and read back into them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.modern.persistence import ModernRecords, from_lists, to_lists
from headrace.coordinator.group.modern.state import MemberState
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.share.member import ShareMember
from headrace.coordinator.group.share_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)

RECORDS: Final = ModernRecords(
    group_key=ShareGroupMetadataKey,
    group_value=ShareGroupMetadataValue,
    target_epoch_key=ShareGroupTargetAssignmentMetadataKey,
    member_key=ShareGroupMemberMetadataKey,
    target_key=ShareGroupTargetAssignmentMemberKey,
    current_key=ShareGroupCurrentMemberAssignmentKey,
)


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


def current_record(group_id: str, member: ShareMember) -> GroupRecord:
    """What one member has."""
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=MemberState.STABLE,
        assigned_partitions=to_lists(member.assigned),
    )
    key = ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, value)


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
