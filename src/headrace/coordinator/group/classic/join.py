"""JoinGroup: a member enters the group, or its next generation.

versions   0-9. v1 rebalance timeout · v4 a dynamic member joins with the id that it was given
           before (KIP-394) · v5 static members (KIP-345) · v9 a static leader that returns to a
           stable group is told not to assign (KIP-814)
behaviour  Whoever may join is parked until the generation begins. A follower that joins a stable
           group with what the group knows already is answered at once; a leader that does so wants
           a rebalance. A static member without id takes the place of its former self.
elsewhere  Group ids, authorization, and groups that do not exist.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.coordinator.effects import Caller, Effects, Reply
from headrace.coordinator.group.answers import UNKNOWN_MEMBER, join_refused
from headrace.coordinator.group.classic.member import ClassicMember
from headrace.coordinator.group.classic.membership import Membership
from headrace.coordinator.group.classic.persistence import metadata_record, new_group_record
from headrace.coordinator.group.classic.rebalance import (
    complete_join_if_ready,
    prepare_rebalance,
    rebalance,
)
from headrace.coordinator.group.classic.state import ClassicState
from headrace.coordinator.group.effects import GroupEffects
from headrace.errors import Error
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9


class _Join(NamedTuple):
    """One JoinGroup, the group that it is about, and what comes of it."""

    group: Membership
    request: JoinGroupRequest
    caller: Caller[JoinGroupResponse]
    now_ms: int
    effects: GroupEffects

    @property
    def protocols(self) -> list[tuple[str, bytes]]:
        return [(protocol.name, bytes(protocol.metadata)) for protocol in self.request.protocols]

    @property
    def rebalance_timeout_ms(self) -> int:
        request = self.request
        return (
            request.rebalance_timeout_ms if self.caller.version >= 1 else request.session_timeout_ms
        )

    @property
    def reason(self) -> str:
        reason = self.request.reason
        return f"client reason: {reason!r}" if reason else "the client gave no reason"

    def refuse(self, error: Error, member_id: str = UNKNOWN_MEMBER) -> None:
        self.effects.replies.append(self.caller.reply(join_refused(error, member_id)))


def handle_join(
    group: Membership, request: JoinGroupRequest, caller: Caller[JoinGroupResponse], now_ms: int
) -> GroupEffects:
    """Answer a JoinGroup, or park it until the next generation begins."""
    effects: GroupEffects = Effects()
    join = _Join(group, request, caller, now_ms, effects)
    settings = group.settings
    shortest_ms = settings.group_min_session_timeout_ms
    if not shortest_ms <= request.session_timeout_ms <= settings.group_max_session_timeout_ms:
        join.refuse(Error.INVALID_SESSION_TIMEOUT, request.member_id)
        return effects
    group.is_live = True
    if not group.is_recorded:
        group.state_since_ms = now_ms
    if not _has_room(group, request.member_id):
        group.remove(request.member_id, effects)
        join.refuse(Error.GROUP_MAX_SIZE_REACHED)
    else:
        _join(join)
    if not group.is_recorded:
        effects.records.append(new_group_record(group))
    return effects


def _has_room(group: Membership, member_id: str) -> bool:
    """Whether the group may grow by this member, if it does at all.

    During a rebalance those who have joined count: if the limit was lowered, who comes last is out.
    """
    largest = group.settings.group_max_size
    member = group.members.get(member_id)
    if group.state is ClassicState.PREPARING_REBALANCE:
        is_waiting = member is not None and member.parked_join is not None
        return is_waiting or group.awaiting_join < largest
    if group.state in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
        return member is not None or len(group.members) < largest
    return True


def _join(join: _Join) -> None:
    group, request = join.group, join.request
    member_id, instance_id = request.member_id, request.group_instance_id
    names = {protocol.name for protocol in request.protocols}
    if group.state is ClassicState.DEAD:
        join.refuse(Error.COORDINATOR_NOT_AVAILABLE, member_id)
    elif not group.supports(request.protocol_type, names):
        join.refuse(Error.INCONSISTENT_GROUP_PROTOCOL, member_id)
    elif member_id == UNKNOWN_MEMBER:
        _join_without_id(join)
    elif member_id in group.pending_members and instance_id is None:
        _add(join, member_id)
    else:
        error = group.check_member(member_id, instance_id)
        if error is Error.NONE:
            _rejoin(join, group.members[member_id])
        else:
            join.refuse(error, member_id)


def _join_without_id(join: _Join) -> None:
    group, request = join.group, join.request
    instance_id = request.group_instance_id
    new_id = group.new_member_id(join.caller.client_id, instance_id)
    if instance_id is not None and instance_id in group.static_members:
        _return_of_static(join, instance_id, new_id)
    elif instance_id is None and join.caller.version >= MEMBER_ID_REQUIRED_SINCE:
        # A client whose connection breaks meanwhile leaves no member behind that nobody knows.
        group.pending_members.add(new_id)
        group.timers.set(group.pending_timer(new_id), join.now_ms + request.session_timeout_ms)
        join.refuse(Error.MEMBER_ID_REQUIRED, new_id)
    else:
        _add(join, new_id)


def _add(join: _Join, member_id: str) -> None:
    group, request, caller, now_ms, effects = join
    member = ClassicMember(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=caller.client_id,
        client_host=caller.client_host,
        rebalance_timeout_ms=join.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=join.protocols,
        is_new=True,
    )
    if group.initial_delay is not None:
        group.new_member_added = True
    group.add(member)
    group.park_join(member, caller, effects)
    # It cannot send heartbeats while it waits, and its connection may be long gone: a member that
    # is still there repeats a request that was refused.
    deadline_ms = now_ms + group.settings.new_member_join_timeout_ms
    group.timers.set(group.session_timer(member_id), deadline_ms)
    rebalance(group, now_ms, effects, f"{member_id} joined; {join.reason}")


def _rejoin(join: _Join, member: ClassicMember) -> None:
    group, _, caller, now_ms, effects = join
    is_settled = group.state in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE)
    wants_rebalance = group.state is ClassicState.STABLE and member.member_id == group.leader_id
    if is_settled and not wants_rebalance and member.protocols == join.protocols:
        # The answer to its first request was lost, or it only wants to sync again.
        effects.replies.append(group.welcome(member, caller))
        return
    _update(join, member)
    rebalance(group, now_ms, effects, f"{member.member_id} joined again; {join.reason}")


def _return_of_static(join: _Join, instance_id: str, new_id: str) -> None:
    """A static member restarted. Its place in a stable group, and its work, wait for it."""
    group, _, caller, now_ms, effects = join
    former_leader = group.leader_id
    member = group.replace_static(group.static_members[instance_id], new_id, effects)
    group.touch(member, now_ms)
    _update(join, member)
    reason = f"static member {new_id} returned; {join.reason}"
    if group.state is ClassicState.STABLE:
        if group.select_protocol() == group.protocol_name:
            group.take_join(member)
            effects.records.append(metadata_record(group))
            effects.replies.append(_welcome_back(group, member, caller, former_leader))
        else:
            prepare_rebalance(group, now_ms, effects, reason)
    elif group.state is ClassicState.COMPLETING_REBALANCE:
        # The leader may be assigning work to the former id right now.
        prepare_rebalance(group, now_ms, effects, reason)
    else:
        complete_join_if_ready(group, now_ms, effects)


def _welcome_back(
    group: Membership,
    member: ClassicMember,
    caller: Caller[JoinGroupResponse],
    former_leader: str | None,
) -> Reply[JoinGroupResponse]:
    """The current generation for a static member that keeps its assignment.

    A leader must not assign again. Before it could be told so (KIP-814), the former id was named
    as the leader's, so that the member took itself for a follower.
    """
    reply = group.welcome(member, caller)
    if caller.version >= SKIP_ASSIGNMENT_SINCE:
        reply.response.skip_assignment = member.member_id == group.leader_id
    else:
        reply.response.leader = former_leader or ""
        reply.response.members = []
    return reply


def _update(join: _Join, member: ClassicMember) -> None:
    join.group.set_protocols(member, join.protocols)
    member.rebalance_timeout_ms = join.rebalance_timeout_ms
    member.session_timeout_ms = join.request.session_timeout_ms
    join.group.park_join(member, join.caller, join.effects)
