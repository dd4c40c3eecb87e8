"""How a member gets from what it has to what it shall have, without two members owning a partition.

A member first gives up what it must; only when it confirms that is it moved to the epoch of the
target assignment, and then it gets what is free. What others still own it gets later, when they
have released it. All is worked out from values; nothing here knows a group or writes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple, TypeAlias
from uuid import UUID

from headrace.coordinator.group.consumer.member import Member, Owned
from headrace.coordinator.group.modern.member import Target
from headrace.coordinator.group.modern.state import MemberState
from headrace.errors import ClientFault, Error

IsOwned: TypeAlias = Callable[[UUID, int], bool]
"""Whether any member owns this partition, or has not confirmed yet that it gave it up."""


class Goal(NamedTuple):
    """What one member shall reach, as far as the rest of the group lets it."""

    epoch: int
    target: Target
    subscribed: Set[UUID]  # a target may be older than the member's wishes
    is_owned: IsOwned


def reconcile(
    member: Member, goal: Goal, *, wishes_changed: bool, reported: Target | None
) -> Member:
    """The member after this heartbeat, in which it `reported` what it owns, or nothing new."""
    match member.state:
        case MemberState.STABLE:
            if member.member_epoch != goal.epoch:
                return _advance(member, goal, member.member_epoch, reported)
            return _drop_unwanted(member, goal, reported) if wishes_changed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if not _still_owns(member.revoking, reported):
                return _advance(member, goal, member.member_epoch, reported)
            return _drop_unwanted(member, goal, reported) if wishes_changed else member
        case MemberState.UNRELEASED_PARTITIONS:
            return _advance(member, goal, member.member_epoch, reported)
        case MemberState.UNKNOWN:
            if reported is None or reported:
                raise ClientFault(
                    Error.FENCED_MEMBER_EPOCH,
                    "the state of this member was written by a newer broker; "
                    "abandon all partitions and join again",
                )
            return _advance(member, goal, goal.epoch, reported)


def _still_owns(revoking: Owned, reported: Target | None) -> bool:
    """A member that reports nothing has not confirmed anything."""
    if reported is None:
        return True
    nothing: dict[int, int] = {}
    return any(
        not partitions.isdisjoint(revoking.get(topic_id, nothing))
        for topic_id, partitions in reported.items()
    )


def _drop_unwanted(member: Member, goal: Goal, reported: Target | None) -> Member:
    """Take away what the member no longer subscribes to, before there is a target without it."""
    unwanted = {each: member.assigned[each] for each in member.assigned.keys() - goal.subscribed}
    if not unwanted:
        return member
    assigned = {each: owned for each, owned in member.assigned.items() if each not in unwanted}
    revoking: dict[UUID, dict[int, int]] = {each: dict(p) for each, p in member.revoking.items()}
    for topic_id, owned in unwanted.items():
        revoking.setdefault(topic_id, {}).update(owned)
    if _still_owns(revoking, reported):
        state = MemberState.UNREVOKED_PARTITIONS
        return member.moved_to(state, member.member_epoch, assigned, revoking)
    return member.moved_to(member.state, member.member_epoch, assigned, member.revoking)


def _advance(member: Member, goal: Goal, epoch: int, reported: Target | None) -> Member:
    """The next step: give up, or get what is free; `epoch` is kept while something is given up."""
    assigned: dict[UUID, dict[int, int]] = {}
    revoking: dict[UUID, dict[int, int]] = {}
    waits = False
    nothing: dict[int, int] = {}
    for topic_id in goal.target.keys() | member.assigned.keys():
        wanted = goal.target.get(topic_id, frozenset())
        if topic_id not in goal.subscribed:
            wanted = frozenset()
        has = member.assigned.get(topic_id, nothing)
        kept = {partition: since for partition, since in has.items() if partition in wanted}
        if kept:
            assigned[topic_id] = kept
        if len(kept) < len(has):
            revoking[topic_id] = {each: has[each] for each in has.keys() - wanted}
    if revoking and _still_owns(revoking, reported):
        return member.moved_to(MemberState.UNREVOKED_PARTITIONS, epoch, assigned, revoking)
    for topic_id in goal.target.keys() & goal.subscribed:
        kept = assigned.get(topic_id, nothing)
        for partition in goal.target[topic_id] - kept.keys():
            own = partition in member.revoking.get(topic_id, nothing)
            if goal.is_owned(topic_id, partition) and not own:
                waits = True
            else:
                assigned.setdefault(topic_id, {})[partition] = goal.epoch
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    return member.moved_to(state, goal.epoch, assigned, {})
