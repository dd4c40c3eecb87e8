"""SyncGroup: the leader says who shall do what, and every member asks for its part.

versions   0-5. v3 static members (KIP-345) · v5 the protocol, so that a member of another kind of
           group is found out (KIP-559)
behaviour  Members that ask before the leader has answered are parked. The assignment is written to
           the log before anybody hears of it. Members that the leader forgot get an empty one.
"""

from __future__ import annotations

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.answers import sync_refused
from headrace.coordinator.group.classic.membership import Membership
from headrace.coordinator.group.classic.persistence import metadata_record
from headrace.coordinator.group.classic.state import ClassicState
from headrace.coordinator.group.effects import GroupEffects
from headrace.errors import Error
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

PROTOCOL_REQUIRED_SINCE = 5


def handle_sync(
    group: Membership, request: SyncGroupRequest, caller: Caller[SyncGroupResponse], now_ms: int
) -> GroupEffects:
    """Answer a SyncGroup, or park it until the leader has assigned."""
    effects: GroupEffects = Effects()
    error = _check(group, request, caller)
    if error is not Error.NONE:
        effects.replies.append(caller.reply(sync_refused(error)))
        return effects
    member = group.members[request.member_id]
    group.pending_sync.discard(member.member_id)
    if not group.pending_sync:
        group.timers.cancel(group.sync_timer)
    if group.state is ClassicState.STABLE:
        effects.replies.append(group.assignment(member, caller))
        return effects
    group.park_sync(member, caller, effects)
    if member.member_id == group.leader_id:
        _assign(group, request, now_ms, effects)
    return effects


def _check(
    group: Membership, request: SyncGroupRequest, caller: Caller[SyncGroupResponse]
) -> Error:
    if caller.version >= PROTOCOL_REQUIRED_SINCE and None in (
        request.protocol_type,
        request.protocol_name,
    ):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    if group.state is ClassicState.DEAD:
        return Error.COORDINATOR_NOT_AVAILABLE
    error = group.check_member(request.member_id, request.group_instance_id)
    if error is not Error.NONE:
        return error
    if request.generation_id != group.generation_id:
        return Error.ILLEGAL_GENERATION
    if request.protocol_type not in (None, group.protocol_type):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name not in (None, group.protocol_name):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    if group.state is ClassicState.PREPARING_REBALANCE:
        return Error.REBALANCE_IN_PROGRESS
    return Error.NONE


def _assign(
    group: Membership, request: SyncGroupRequest, now_ms: int, effects: GroupEffects
) -> None:
    """Take over the leader's decision; it counts once it is in the log."""
    work = {item.member_id: bytes(item.assignment) for item in request.assignments}
    for member in group.members.values():
        member.assignment = work.get(member.member_id, b"")
    effects.records.append(metadata_record(group))
    group.become(ClassicState.STABLE, now_ms)
    for member in group.members.values():
        caller, member.parked_sync = member.parked_sync, None
        if caller is not None:
            effects.replies.append(group.assignment(member, caller))
            group.touch(member, now_ms)
