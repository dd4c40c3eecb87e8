"""What a classic group leaves in the log, and how it comes back from there.

Only a generation that has its assignment is written, and that a group is empty; a rebalance under
way is not, because clients repeat it. A group that serves members is past its own records:
replaying them must not disturb those who wait there.
"""

from __future__ import annotations

from headrace.coordinator.effects import Effects, StateRecord
from headrace.coordinator.group.classic.member import ClassicMember
from headrace.coordinator.group.classic.membership import Membership
from headrace.coordinator.group.classic.state import ClassicState
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    GroupRecord,
    MemberMetadata,
)
from headrace.errors import CorruptData


def metadata_record(group: Membership) -> GroupRecord:
    """The group as it is now, with all members and their assignments."""
    members = []
    for member in group.members.values():
        assert group.protocol_name is not None, "members have agreed on a protocol"
        members.append(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=member.assignment,
            )
        )
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=group.state_since_ms,
        members=members,
    )
    return StateRecord(GroupMetadataKey(group=group.group_id), value)


def new_group_record(group: Membership) -> GroupRecord:
    """That there is such a group, before it has had a generation."""
    value = GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=group.state_since_ms,
        members=[],
    )
    return StateRecord(GroupMetadataKey(group=group.group_id), value)


def load_generation(group: Membership, value: GroupMetadataValue) -> None:
    """Become what a record says; what an earlier record said is gone."""
    if value.members and value.protocol is None:
        raise CorruptData(f"group {group.group_id}: its record has members but no protocol")
    nobody: GroupEffects = Effects()
    for member_id in list(group.members):
        group.remove(member_id, nobody)
    assert not nobody.replies, "no member waits in a group that is being loaded"
    group.generation_id = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.state = ClassicState.STABLE if value.members else ClassicState.EMPTY
    group.state_since_ms = value.current_state_timestamp
    for loaded in value.members:
        if loaded.member_id in group.members or loaded.group_instance_id in group.static_members:
            raise CorruptData(f"group {group.group_id}: {loaded.member_id} is in its record twice")
        group.add(_member_from(loaded, value))
    if value.leader in group.members:
        group.leader_id = value.leader


def _member_from(loaded: MemberMetadata, value: GroupMetadataValue) -> ClassicMember:
    assert value.protocol is not None, "checked before"
    rebalance_timeout_ms = loaded.rebalance_timeout
    if rebalance_timeout_ms == -1:  # written before there was one (KIP-62)
        rebalance_timeout_ms = loaded.session_timeout
    return ClassicMember(
        member_id=loaded.member_id,
        group_instance_id=loaded.group_instance_id,
        client_id=loaded.client_id,
        client_host=loaded.client_host,
        rebalance_timeout_ms=rebalance_timeout_ms,
        session_timeout_ms=loaded.session_timeout,
        protocol_type=value.protocol_type,
        protocols=[(value.protocol, loaded.subscription)],
        assignment=loaded.assignment,
    )
