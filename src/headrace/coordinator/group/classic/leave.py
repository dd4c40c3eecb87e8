"""LeaveGroup: members go without waiting for their sessions to end.

versions   0-5. v3 several at once, static ones by their instance id alone, an outcome for each
           (KIP-345) · v5 why they leave (KIP-800)
behaviour  All of them leave before the group rebalances once.
"""

from __future__ import annotations

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.answers import UNKNOWN_MEMBER
from headrace.coordinator.group.classic.membership import Membership
from headrace.coordinator.group.classic.rebalance import complete_join_if_ready, prepare_rebalance
from headrace.coordinator.group.classic.state import ClassicState
from headrace.coordinator.group.effects import GroupEffects
from headrace.errors import Error
from headrace.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

BATCH_SINCE = 3


def handle_leave(
    group: Membership, request: LeaveGroupRequest, caller: Caller[LeaveGroupResponse], now_ms: int
) -> GroupEffects:
    """Take the named members out, and rebalance if any of them was in."""
    effects: GroupEffects = Effects()
    if group.state is ClassicState.DEAD:
        response = LeaveGroupResponse(error_code=Error.COORDINATOR_NOT_AVAILABLE)
        effects.replies.append(caller.reply(response))
        return effects
    leaving = request.members
    if caller.version < BATCH_SINCE:
        leaving = [MemberIdentity(member_id=request.member_id)]
    outcomes = [_leave(group, identity, effects) for identity in leaving]
    if caller.version < BATCH_SINCE:
        response = LeaveGroupResponse(error_code=outcomes[0].error_code)
    else:
        response = LeaveGroupResponse(error_code=Error.NONE, members=outcomes)
    effects.replies.append(caller.reply(response))
    gone = [outcome.member_id for outcome in outcomes if outcome.error_code == Error.NONE]
    if gone and group.state is ClassicState.PREPARING_REBALANCE:
        complete_join_if_ready(group, now_ms, effects)
    elif gone and not group.is_empty:
        reasons = {identity.reason for identity in leaving if identity.reason}
        reason = f"{len(gone)} members left; client reasons: {sorted(reasons)}"
        prepare_rebalance(group, now_ms, effects, reason)
    return effects


def _leave(group: Membership, identity: MemberIdentity, effects: GroupEffects) -> MemberResponse:
    member_id, instance_id = identity.member_id, identity.group_instance_id
    error = Error.NONE
    if member_id == UNKNOWN_MEMBER:
        # An administrator removes a static member without knowing its current id.
        known_id = None if instance_id is None else group.static_members.get(instance_id)
        if known_id is None:
            error = Error.UNKNOWN_MEMBER_ID
    else:
        known_id = member_id
        if member_id not in group.pending_members:
            error = group.check_member(member_id, instance_id)
    if error is Error.NONE and known_id is not None:
        group.remove(known_id, effects)
    return MemberResponse(member_id=member_id, group_instance_id=instance_id, error_code=error)
