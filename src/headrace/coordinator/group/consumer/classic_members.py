"""Members of a consumer group that still speak the classic protocol: join, sync, heartbeat, leave.

behaviour  Such a member is assigned to by the broker like any other. The generation that it sees
           is its member epoch, and nobody is its leader. It learns of a new assignment by
           REBALANCE_IN_PROGRESS, says with the join what it still owns, gets with the sync what it
           may own, and is told to join once more when partitions that it waits for are free.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.answers import join_refused
from headrace.coordinator.group.consumer.change import (
    Change,
    begin_dynamic,
    begin_static,
    check_instance,
    move_member,
    settle,
    update_epoch,
    update_target,
    write_member,
)
from headrace.coordinator.group.consumer.fencing import remove_members
from headrace.coordinator.group.consumer.member import UNSET_TIMEOUT_MS, Member
from headrace.coordinator.group.consumer.migration import (
    DISABLED,
    build_downgrade_records,
    classic_metadata,
    encode_partitions,
    may_downgrade_replacing,
    note_downgrade,
)
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.consumer.timers import (
    SYNC,
    cancel,
    cancel_all,
    expect_join,
    expect_sync,
    set_session,
)
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.modern.member import Target
from headrace.coordinator.group.modern.state import MemberState
from headrace.errors import ClientFault, Error
from headrace.types import uuid_to_text
from headrace.wire import MalformedMessage
from headrace.wire.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerProtocolSubscription,
    decode_subscription,
    version_of,
)
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headrace.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

KNOWN_MEMBER_ID_SINCE = 4  # of JoinGroup (KIP-394)
BATCH_LEAVE_SINCE = 3  # of LeaveGroup (KIP-345)


def handle_join(
    group: Roster, request: JoinGroupRequest, caller: Caller[JoinGroupResponse], now_ms: int
) -> GroupEffects:
    """Take a member of the classic protocol in, or on to its next epoch."""
    _check_join(group, request)
    member_id = request.member_id or uuid_to_text(group.new_uuid())
    group.check_room(member_id)
    _check_protocols(group, request)
    is_unknown = not request.member_id
    instance_id = request.group_instance_id
    if is_unknown and instance_id is None and caller.version >= KNOWN_MEMBER_ID_SINCE:
        return Effects(replies=[caller.reply(join_refused(Error.MEMBER_ID_REQUIRED, member_id))])
    if instance_id is None:
        change = begin_dynamic(group, member_id, now_ms, create=True)
    else:
        change = begin_static(
            group, member_id, instance_id, now_ms, create=is_unknown, classic=True
        )
    subscription = _subscription(request)
    change.after = _updated(change.before, request, subscription, caller)
    wishes_changed, bump = write_member(change)
    update_epoch(change, bump=bump)
    reported = _owned(subscription, group)
    if may_downgrade_replacing(group, group.static_member(instance_id)):
        _join_last(change, reported, wishes_changed=wishes_changed)
    else:
        epoch, target = update_target(change)
        move_member(change, epoch, target, wishes_changed=wishes_changed, reported=reported)
        settle(change)
        expect_sync(group, change.after, now_ms)
    return Effects(
        records=change.records,
        replies=[caller.reply(_joined(change.after))],
    )


def _check_join(group: Roster, request: JoinGroupRequest) -> None:
    settings = group.settings
    if settings.group_consumer_migration_policy == DISABLED:
        raise ClientFault(
            Error.INCONSISTENT_GROUP_PROTOCOL,
            f"group {group.group_id} takes no members of the classic protocol: "
            "group.consumer.migration.policy is disabled",
        )
    shortest, longest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if not shortest <= request.session_timeout_ms <= longest:
        raise ClientFault(
            Error.INVALID_SESSION_TIMEOUT,
            f"the session timeout must be between {shortest} and {longest} ms",
        )


def _check_protocols(group: Roster, request: JoinGroupRequest) -> None:
    """All members of the classic protocol must have one in common: they may be a group again."""
    names = {protocol.name for protocol in request.protocols}
    for member in group.members.values():
        if member.uses_classic_protocol:
            names &= {name for name, _ in member.classic_protocols}
    if request.protocol_type != PROTOCOL_TYPE or not names:
        raise ClientFault(
            Error.INCONSISTENT_GROUP_PROTOCOL,
            f"no protocol of the member is one of those of group {group.group_id}",
        )


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        return decode_subscription(request.protocols[0].metadata)
    except MalformedMessage as reason:
        raise ClientFault(
            Error.INCONSISTENT_GROUP_PROTOCOL, f"the subscription cannot be read: {reason}"
        ) from None


def _updated(
    member: Member,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    caller: Caller[JoinGroupResponse],
) -> Member:
    timeout_ms = request.rebalance_timeout_ms
    if timeout_ms == UNSET_TIMEOUT_MS:
        timeout_ms = request.session_timeout_ms  # v0 has only one of the two
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="",
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=classic_metadata(
            request.session_timeout_ms,
            [(protocol.name, protocol.metadata) for protocol in request.protocols],
        ),
    )


def _owned(subscription: ConsumerProtocolSubscription, group: Roster) -> Target:
    owned: dict[UUID, frozenset[int]] = {}
    for each in subscription.owned_partitions:
        topic_id = group.topics.topic_id(each.topic)
        if topic_id is not None:
            owned[topic_id] = frozenset(each.partitions)
    return owned


def _join_last(change: Change, reported: Target, *, wishes_changed: bool) -> None:
    """The last instance of the consumer protocol comes back with the classic one."""
    group = change.group
    is_stale = group.assignment_epoch < change.group_epoch
    if not is_stale:
        target = group.target_of(change.after)
        move_member(
            change,
            group.assignment_epoch,
            target,
            wishes_changed=wishes_changed,
            reported=reported,
        )
    for member_id in group.members:
        cancel_all(group, member_id)
    members = change.members()
    reason = "the consumer group had no assignment for its epoch" if is_stale else None
    note_downgrade(group, members, reason)
    change.records += build_downgrade_records(group, members, (), change.now_ms)


def _joined(member: Member) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=Error.NONE,
        generation_id=member.member_epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=member.classic_protocols[0][0],
        leader="",
        member_id=member.member_id,
        members=[],
    )


def handle_sync(
    group: Roster, request: SyncGroupRequest, caller: Caller[SyncGroupResponse], now_ms: int
) -> GroupEffects:
    """Tell a member that has joined what it may own."""
    member = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    protocol_name, metadata = member.classic_protocols[0]
    if request.protocol_type not in (None, PROTOCOL_TYPE):
        raise ClientFault(
            Error.INCONSISTENT_GROUP_PROTOCOL, f"the protocol type is {PROTOCOL_TYPE}"
        )
    if request.protocol_name not in (None, protocol_name):
        raise ClientFault(
            Error.INCONSISTENT_GROUP_PROTOCOL, f"the member joined with protocol {protocol_name}"
        )
    if (
        group.assignment_epoch > member.member_epoch
        and member.state is not MemberState.UNREVOKED_PARTITIONS
    ):
        expect_join(group, member, now_ms)
        raise ClientFault(Error.REBALANCE_IN_PROGRESS, "there is a newer assignment; join again")
    cancel(group, SYNC, member.member_id)
    set_session(group, member, now_ms)
    response = SyncGroupResponse(
        error_code=Error.NONE,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=encode_partitions(member.assigned, group.topics, version_of(metadata)),
    )
    return Effects(replies=[caller.reply(response)])


def handle_heartbeat(
    group: Roster, request: HeartbeatRequest, caller: Caller[HeartbeatResponse], now_ms: int
) -> GroupEffects:
    """Note that a member is alive, and tell it to join again if it can get closer to its target."""
    member = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    set_session(group, member, now_ms)
    error = Error.NONE
    if (
        member.member_epoch < group.assignment_epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (
            member.state is MemberState.UNRELEASED_PARTITIONS
            and not _waits_for_others(group, member)
        )
    ):
        error = Error.REBALANCE_IN_PROGRESS
        expect_join(group, member, now_ms)
    return Effects(replies=[caller.reply(HeartbeatResponse(error_code=error))])


def handle_leave(
    group: Roster, request: LeaveGroupRequest, caller: Caller[LeaveGroupResponse], now_ms: int
) -> GroupEffects:
    """Take the named members out, whichever protocol they speak."""
    leaving = request.members
    if caller.version < BATCH_LEAVE_SINCE:
        leaving = [MemberIdentity(member_id=request.member_id)]
    outcomes = []
    gone: set[str] = set()
    for identity in leaving:
        error = Error.NONE
        try:
            gone.add(_leaving_member(group, identity).member_id)
        except ClientFault as fault:
            error = fault.error
        outcomes.append(
            MemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=error,
            )
        )
    if caller.version < BATCH_LEAVE_SINCE:
        response = LeaveGroupResponse(error_code=outcomes[0].error_code)
    else:
        response = LeaveGroupResponse(error_code=Error.NONE, members=outcomes)
    return Effects(records=remove_members(group, gone, now_ms), replies=[caller.reply(response)])


def _leaving_member(group: Roster, identity: MemberIdentity) -> Member:
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    member = group.static_member(identity.group_instance_id)
    # An administrator need not know which member an instance is now.
    member_id = identity.member_id or (member.member_id if member is not None else "")
    return check_instance(group, member, identity.group_instance_id, member_id)


def _classic_member(group: Roster, member_id: str, instance_id: str | None) -> Member:
    if instance_id is None:
        member = group.member(member_id)
    else:
        member = check_instance(group, group.static_member(instance_id), instance_id, member_id)
    if not member.uses_classic_protocol:
        raise ClientFault(
            Error.UNKNOWN_MEMBER_ID, f"{member_id} is not a member of the classic protocol"
        )
    return member


def _check_generation(member: Member, generation_id: int) -> None:
    if generation_id != member.member_epoch:
        raise ClientFault(
            Error.ILLEGAL_GENERATION,
            f"generation {generation_id} is not the epoch {member.member_epoch} of the member",
        )


def _waits_for_others(group: Roster, member: Member) -> bool:
    """Whether something that the member shall have is still owned by somebody else."""
    nothing: dict[int, int] = {}
    return any(
        partition not in member.assigned.get(topic_id, nothing)
        and group.is_owned(topic_id, partition)
        for topic_id, partitions in group.target_of(member).items()
        for partition in partitions
    )
