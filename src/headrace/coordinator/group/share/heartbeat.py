"""ShareGroupHeartbeat: the whole life of a member of a share group.

versions   1
behaviour  Epoch 0 joins, -1 leaves. Every other epoch must be the member's own, or the one before:
           then the last answer was lost, and with it perhaps an assignment. So it is in the answer
           then, when it changed, when the member joins, and when it names its topics. A member
           whose partitions are being prepared is asked to come back soon instead of after the
           whole interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.modern.member import JOIN_EPOCH, LEAVE_EPOCH, Target
from headrace.coordinator.group.modern.subscriptions import metadata_hash
from headrace.coordinator.group.modern.timers import TimerKey
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.share.initialization import begin, is_repetition, missing_partitions
from headrace.coordinator.group.share.member import ShareMember
from headrace.coordinator.group.share.persistence import current_record, member_record
from headrace.coordinator.group.share.roster import ShareRoster
from headrace.coordinator.group.share.target import assign, is_stale
from headrace.errors import ClientFault, Error
from headrace.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

SESSION: Final = "share-session"  # no sign of life
SOON_MS: Final = 250  # partitions are being initialized, which takes about as long


def handle_heartbeat(
    group: ShareRoster,
    request: ShareGroupHeartbeatRequest,
    caller: Caller[ShareGroupHeartbeatResponse],
    now_ms: int,
) -> GroupEffects:
    """Take a member in, let it go, or move it on."""
    if request.member_epoch == LEAVE_EPOCH:
        group.member(request.member_id)
        response = ShareGroupHeartbeatResponse(
            error_code=Error.NONE,
            member_id=request.member_id,
            member_epoch=LEAVE_EPOCH,
            heartbeat_interval_ms=0,
        )
        records = remove_member(group, request.member_id)
        return Effects(records=records, replies=[caller.reply(response)])
    before = _begin(group, request)
    after = _updated(before, request, caller)
    members = {**group.members, after.member_id: after}
    wishes_changed = after.subscribed_topic_names != before.subscribed_topic_names
    effects: GroupEffects = Effects()
    if after != before or after.member_id not in group.members:
        effects.records.append(member_record(group.group_id, after))
    group_epoch, to_begin = _look_around(group, members, effects, now_ms, force=wishes_changed)
    epoch, target = _assigned(group, after, members, group_epoch, effects, now_ms)
    moved = _moved(group, after, epoch, target, wishes_changed=wishes_changed)
    if moved is not after:
        effects.records.append(current_record(group.group_id, moved))
    effects.extend(to_begin)
    group.timers.set(
        TimerKey(SESSION, group.group_id, moved.member_id),
        now_ms + group.settings.group_share_session_timeout_ms,
    )
    tells = (
        request.member_epoch != before.member_epoch
        or request.subscribed_topic_names is not None
        or moved.assigned != before.assigned
    )
    response = ShareGroupHeartbeatResponse(
        error_code=Error.NONE,
        member_id=moved.member_id,
        member_epoch=moved.member_epoch,
        heartbeat_interval_ms=_interval_ms(group, group_epoch, epoch, now_ms),
        assignment=_assignment(moved.assigned) if tells else None,
    )
    effects.replies.append(caller.reply(response))
    return effects


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """Refuse what no member of the protocol would send, whatever the group; in Kafka's words."""
    if not request.member_id:
        raise ClientFault(Error.INVALID_REQUEST)
    for name, text in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("RackId", request.rack_id),
    ):
        if text is not None and not text.strip():
            raise ClientFault(Error.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        raise ClientFault(
            Error.INVALID_REQUEST, "SubscribedTopicNames must be set in first request."
        )
    if request.member_epoch < LEAVE_EPOCH:
        raise ClientFault(Error.INVALID_REQUEST, "MemberEpoch is invalid.")


def remove_member(group: ShareRoster, member_id: str) -> list[GroupRecord]:
    """What must be written so that this member is gone."""
    group.timers.cancel(TimerKey(SESSION, group.group_id, member_id))
    remaining = [each for each in group.members.values() if each.member_id != member_id]
    hashed = metadata_hash(group.topics_wanted_by(remaining), group.topics)
    return [
        *group.RECORDS.member_tombstones(group.group_id, member_id),
        group.RECORDS.epoch(group.group_id, group.group_epoch + 1, hashed),
    ]


def _begin(group: ShareRoster, request: ShareGroupHeartbeatRequest) -> ShareMember:
    known = group.members.get(request.member_id)
    group.check_room(request.member_id)
    if request.member_epoch == JOIN_EPOCH:
        return known or ShareMember(member_id=request.member_id)
    member = group.member(request.member_id)
    if request.member_epoch not in (member.member_epoch, member.previous_member_epoch):
        raise ClientFault(
            Error.FENCED_MEMBER_EPOCH,
            f"epoch {request.member_epoch} is refused: the member is in epoch "
            f"{member.member_epoch}; abandon all partitions and join again",
        )
    return member


def _updated(
    member: ShareMember,
    request: ShareGroupHeartbeatRequest,
    caller: Caller[ShareGroupHeartbeatResponse],
) -> ShareMember:
    """The member as it tells about itself now; what it does not tell is as before."""
    names = request.subscribed_topic_names
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        subscribed_topic_names=(
            member.subscribed_topic_names if names is None else frozenset(names)
        ),
        client_id=caller.client_id,
        client_host=caller.client_host,
    )


def _look_around(
    group: ShareRoster,
    members: Mapping[str, ShareMember],
    effects: GroupEffects,
    now_ms: int,
    *,
    force: bool,
) -> tuple[int, GroupEffects]:
    """Compare the group with its topics and partitions, unless that was done since they changed.

    The epoch of the group, a new one if anything is not what it was, and what is to be initialized.
    """
    if group.is_settled and not force:
        return group.group_epoch, Effects()
    wanted = group.topics_wanted_by(members.values())
    hashed = metadata_hash(wanted, group.topics)
    shares = missing_partitions(group, wanted, now_ms)
    epoch = group.group_epoch
    if (
        force
        or hashed != group.metadata_hash
        or is_stale(group, members)
        or is_repetition(group, shares)
    ):
        epoch += 1
        effects.records.append(group.RECORDS.epoch(group.group_id, epoch, hashed))
    # What failed is looked at again when it may be repeated.
    group.is_settled = now_ms >= group.retry_at_ms
    return epoch, begin(group, shares, epoch) if shares else Effects()


def _assigned(
    group: ShareRoster,
    member: ShareMember,
    members: Mapping[str, ShareMember],
    group_epoch: int,
    effects: GroupEffects,
    now_ms: int,
) -> tuple[int, Target]:
    """The epoch of the target assignment and what the member shall have, computed if it is due."""
    if group.assignment_epoch >= group_epoch or now_ms < group.next_assignment_ms(now_ms):
        return group.assignment_epoch, group.target_of(member)
    targets = assign(group, members)
    # Giving nothing to anybody took no time: what becomes ready need not wait for the interval.
    assigned_at_ms = now_ms if any(targets.values()) else 0
    effects.records += group.target_records(targets, group_epoch, assigned_at_ms)
    return group_epoch, targets[member.member_id]


def _moved(
    group: ShareRoster, member: ShareMember, epoch: int, target: Target, *, wishes_changed: bool
) -> ShareMember:
    """The member in the epoch of the target assignment, with what it wants of it."""
    if member.member_epoch == epoch and not wishes_changed:
        return member
    wanted = group.topic_ids_of(member)
    assigned = {topic_id: target[topic_id] for topic_id in target if topic_id in wanted}
    if member.member_epoch == epoch and member.assigned == assigned:
        return member
    return member.moved_to(epoch, assigned)


def _interval_ms(group: ShareRoster, group_epoch: int, epoch: int, now_ms: int) -> int:
    """When the member shall come back: soon, if something is about to change for it."""
    interval_ms = group.settings.group_share_heartbeat_interval_ms
    if epoch < group_epoch:
        interval_ms = min(interval_ms, max(group.next_assignment_ms(now_ms) - now_ms, SOON_MS))
    if group.beginning:
        interval_ms = min(interval_ms, SOON_MS)
    elif now_ms < group.retry_at_ms:
        interval_ms = min(interval_ms, group.retry_at_ms - now_ms)
    return interval_ms


def _assignment(assigned: Target) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(assigned[topic_id]))
            for topic_id in sorted(assigned)
        ]
    )
