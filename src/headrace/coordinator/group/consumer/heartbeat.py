"""ConsumerGroupHeartbeat: the whole life of a member of the consumer protocol.

versions   0-1. v1 member ids made by the client (KIP-1082), subscription by regular expression
behaviour  Epoch 0 joins, -1 leaves, -2 leaves for a static member that will return. Every other
           epoch must be the member's own, or the one before if the member owns nothing that it
           should not: then the last answer was lost. The assignment is in the answer when it
           changed, when the member joins, and when it sent all its fields.
           A member that waits for partitions of others is told to come back sooner; if it owns
           nothing, its answer waits with it (`held`).
"""

from __future__ import annotations

from dataclasses import replace

from headrace.coordinator.effects import AnyReply, Caller, Effects
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
from headrace.coordinator.group.consumer.held import LONGEST_HOLD_MS, HeldHeartbeat
from headrace.coordinator.group.consumer.member import (
    LEAVE_STATIC_EPOCH,
    UNSET_TIMEOUT_MS,
    Member,
    Owned,
    owned_from,
)
from headrace.coordinator.group.consumer.persistence import current_record
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.consumer.timers import HOLD, REBALANCE, cancel
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.modern.member import JOIN_EPOCH, LEAVE_EPOCH, Target
from headrace.coordinator.group.modern.state import MemberState
from headrace.coordinator.group.modern.timers import TimerKey
from headrace.coordinator.group.records import GroupRecord
from headrace.errors import ClientFault, Error
from headrace.types import uuid_to_text
from headrace.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

MEMBER_ID_BY_CLIENT_SINCE = 1
SOONER_WHILE_WAITING = 10


def handle_heartbeat(
    group: Roster,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller[ConsumerGroupHeartbeatResponse],
    now_ms: int,
) -> GroupEffects:
    """Take a member in, let it go, or move it on."""
    check_request(request, caller.version, group.settings.group_consumer_assignors)
    if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
        records = _leave(group, request, now_ms)
        response = ConsumerGroupHeartbeatResponse(
            error_code=Error.NONE,
            member_id=request.member_id,
            member_epoch=request.member_epoch,
            heartbeat_interval_ms=0,
        )
        return Effects(records=records, replies=[caller.reply(response)])
    change = _begin(group, request, now_ms)
    change.after = _updated(change.before, request, caller)
    reported = owned_from(request.topic_partitions)
    wishes_changed, bump = write_member(change)
    update_epoch(change, bump=bump)
    epoch, target = update_target(change)
    move_member(change, epoch, target, wishes_changed=wishes_changed, reported=reported)
    settle(change)
    return Effects(records=change.records, replies=_answered(change, request, caller))


def check_request(
    request: ConsumerGroupHeartbeatRequest, version: int, assignors: tuple[str, ...]
) -> None:
    """Refuse what no member of the protocol would send, whatever the group."""
    epoch = request.member_epoch
    if not request.member_id and (
        version >= MEMBER_ID_BY_CLIENT_SINCE or epoch > JOIN_EPOCH or epoch == LEAVE_EPOCH
    ):
        raise ClientFault(Error.INVALID_REQUEST, "MemberId must not be empty")
    for name, text in (
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if text is not None and not text.strip():
            raise ClientFault(Error.INVALID_REQUEST, f"{name} must not be empty")
    if epoch == JOIN_EPOCH:
        _check_join(request)
    elif epoch == LEAVE_STATIC_EPOCH and request.instance_id is None:
        raise ClientFault(Error.INVALID_REQUEST, "InstanceId must not be null in epoch -2")
    elif epoch < LEAVE_STATIC_EPOCH:
        raise ClientFault(Error.INVALID_REQUEST, f"MemberEpoch must not be {epoch}")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise ClientFault(
            Error.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not one of {', '.join(assignors)}",
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == UNSET_TIMEOUT_MS:
        raise ClientFault(Error.INVALID_REQUEST, "RebalanceTimeoutMs must be given to join")
    if request.topic_partitions is None or request.topic_partitions:
        raise ClientFault(Error.INVALID_REQUEST, "TopicPartitions must be empty to join")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise ClientFault(
            Error.INVALID_REQUEST,
            "SubscribedTopicNames or SubscribedTopicRegex must be given to join",
        )


def _begin(group: Roster, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> Change:
    group.check_room(request.member_id)
    member_id = request.member_id or uuid_to_text(group.new_uuid())
    create = request.member_epoch == JOIN_EPOCH
    if request.instance_id is None:
        change = begin_dynamic(group, member_id, now_ms, create=create)
    else:
        change = begin_static(
            group, member_id, request.instance_id, now_ms, create=create, classic=False
        )
    if not create:
        _check_epoch(change.before, request.member_epoch, owned_from(request.topic_partitions))
    return change


def _check_epoch(member: Member, epoch: int, reported: Target | None) -> None:
    if epoch == member.member_epoch:
        return
    if epoch > member.member_epoch:
        why = f"the member is only in epoch {member.member_epoch}"
    elif epoch != member.previous_member_epoch:
        why = f"the member is in epoch {member.member_epoch} since more than one answer"
    elif reported is None or not _is_within(reported, member.assigned):
        why = f"the member is in epoch {member.member_epoch} and owns what it should not"
    else:
        return
    raise ClientFault(
        Error.FENCED_MEMBER_EPOCH,
        f"epoch {epoch} is refused: {why}; abandon all partitions and join again",
    )


def _is_within(reported: Target, assigned: Owned) -> bool:
    return all(
        topic_id in assigned and partitions <= assigned[topic_id].keys()
        for topic_id, partitions in reported.items()
    )


def _updated(
    member: Member,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller[ConsumerGroupHeartbeatResponse],
) -> Member:
    """The member as it tells about itself now; what it does not tell is as before."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    if (
        names is None
        and regex is None
        and timeout_ms == UNSET_TIMEOUT_MS
        and request.instance_id == member.instance_id
        and request.rack_id is None
        and request.server_assignor is None
        and caller.client_id == member.client_id
        and caller.client_host == member.client_host
        and member.classic is None
    ):
        return member  # nearly every heartbeat of a group at rest
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=(
            member.rebalance_timeout_ms if timeout_ms == UNSET_TIMEOUT_MS else timeout_ms
        ),
        server_assignor=(
            member.server_assignor if request.server_assignor is None else request.server_assignor
        ),
        subscribed_topic_names=(
            member.subscribed_topic_names if names is None else frozenset(names)
        ),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=None,
    )


def _answered(
    change: Change,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller[ConsumerGroupHeartbeatResponse],
) -> list[AnyReply]:
    """The answer, unless it is held."""
    group, member_id, now_ms = change.group, change.after.member_id, change.now_ms
    response = _response(change, request)
    until_ms = now_ms + LONGEST_HOLD_MS
    held = group.held.pop(member_id, None)
    if held is not None and held.caller.ticket != caller.ticket:
        # The member has lost patience, or the network says everything twice. Nobody knows which of
        # the two requests the member waits for, so neither may be the only one that tells it news.
        cancel(group, HOLD, member_id)
        return [held.caller.reply(response), caller.reply(response)]
    if held is not None:
        until_ms = held.until_ms
    if now_ms < until_ms and _waits_empty_handed(change, request):
        group.held[member_id] = HeldHeartbeat(request, caller, until_ms)
        group.timers.set(TimerKey(HOLD, group.group_id, member_id), until_ms)
        return []
    cancel(group, HOLD, member_id)
    return [caller.reply(response)]


def _waits_empty_handed(change: Change, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the member owns nothing, shall get something, and would be told nothing new."""
    member = change.after
    return (
        member.state is MemberState.UNRELEASED_PARTITIONS
        and not member.assigned
        and not change.before.assigned
        and request.member_epoch == member.member_epoch
    )


def _response(
    change: Change, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    member = change.after
    is_complete = (
        request.rebalance_timeout_ms != UNSET_TIMEOUT_MS
        and request.topic_partitions is not None
        and not (request.subscribed_topic_names is None and request.subscribed_topic_regex is None)
    )
    tells = (
        request.member_epoch == JOIN_EPOCH
        or is_complete
        or change.before.assigned != member.assigned
    )
    return ConsumerGroupHeartbeatResponse(
        error_code=Error.NONE,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=_interval_ms(change),
        assignment=_assignment(member.assigned) if tells else None,
    )


def _interval_ms(change: Change) -> int:
    """When the member shall come back: sooner while it waits for what others have yet to release.

    It would otherwise idle for up to a whole interval after the partitions have become free, for
    nobody but the member itself can begin an exchange.
    """
    interval_ms = change.group.settings.group_consumer_heartbeat_interval_ms
    if change.after.state is MemberState.UNRELEASED_PARTITIONS:
        return max(interval_ms // SOONER_WHILE_WAITING, 1)
    return interval_ms


def _assignment(assigned: Owned) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(assigned[topic_id]))
            for topic_id in sorted(assigned)
        ]
    )


def _leave(group: Roster, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> list[GroupRecord]:
    if request.instance_id is None:
        member = group.member(request.member_id)
    else:
        existing = group.static_member(request.instance_id)
        member = check_instance(group, existing, request.instance_id, request.member_id)
        if request.member_epoch == LEAVE_STATIC_EPOCH:
            # It cannot give anything up while it is away. Its session still ends.
            cancel(group, REBALANCE, member.member_id)
            return [current_record(group.group_id, member.away())]
    return remove_members(group, {member.member_id}, now_ms)
