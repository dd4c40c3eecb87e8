"""Signs of life of a member: Heartbeat, and the commit of offsets.

versions   0-4. v3 static members (KIP-345)
behaviour  Both fence: who is not a member of the current generation is refused, and learns why. A
           heartbeat during the preparation of a rebalance counts, and says that it is time to join.
"""

from __future__ import annotations

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.classic.membership import Membership
from headrace.coordinator.group.classic.state import ClassicState
from headrace.coordinator.group.effects import GroupEffects
from headrace.errors import ClientFault, Error
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

KEEPS_SESSION_BY_COMMIT = (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE)


def handle_heartbeat(
    group: Membership, request: HeartbeatRequest, caller: Caller[HeartbeatResponse], now_ms: int
) -> GroupEffects:
    """Let the session of a member start anew."""
    error = _check(group, request)
    if error is Error.NONE:
        group.touch(group.members[request.member_id], now_ms)
        if group.state is ClassicState.PREPARING_REBALANCE:
            error = Error.REBALANCE_IN_PROGRESS
    return Effects(replies=[caller.reply(HeartbeatResponse(error_code=error))])


def _check(group: Membership, request: HeartbeatRequest) -> Error:
    if group.state is ClassicState.DEAD:
        return Error.COORDINATOR_NOT_AVAILABLE
    error = group.check_member(request.member_id, request.group_instance_id)
    if error is Error.NONE and request.generation_id != group.generation_id:
        return Error.ILLEGAL_GENERATION
    return error


def check_offset_commit(
    group: Membership,
    member_id: str,
    group_instance_id: str | None,
    generation_id: int,
    *,
    is_transactional: bool,
    now_ms: int,
) -> None:
    """Refuse a commit that does not come from the current generation; a good one is a heartbeat.

    Administrators and consumers without group management commit with generation -1, which is
    accepted while the group has no members. A transaction may commit in any state of the group, and
    old clients do so without naming a member.
    """
    if group.state is ClassicState.DEAD:
        raise ClientFault(Error.COORDINATOR_NOT_AVAILABLE)
    if generation_id < 0 and group.is_empty:
        return
    if generation_id >= 0 or member_id or group_instance_id is not None:
        error = group.check_member(member_id, group_instance_id)
        if error is Error.NONE and generation_id != group.generation_id:
            error = Error.ILLEGAL_GENERATION
        if error is not Error.NONE:
            raise ClientFault(error)
    elif not is_transactional:
        raise ClientFault(Error.UNKNOWN_MEMBER_ID)
    if is_transactional:
        return
    if group.state is ClassicState.COMPLETING_REBALANCE:
        raise ClientFault(Error.REBALANCE_IN_PROGRESS)
    if group.state in KEEPS_SESSION_BY_COMMIT:
        group.touch(group.members[member_id], now_ms)
