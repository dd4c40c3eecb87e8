"""The timers of the members of a consumer group, by name; the shard hands them back when due."""

from __future__ import annotations

from typing import Final

from headrace.coordinator.group.consumer.member import LEAVE_STATIC_EPOCH, Member
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.modern.state import MemberState
from headrace.coordinator.group.modern.timers import TimerKey

SESSION: Final = "consumer-session"  # no sign of life
REBALANCE: Final = "consumer-rebalance"  # partitions were not given up
JOIN: Final = "consumer-join"  # a classic member was asked to join again
SYNC: Final = "consumer-sync"  # a classic member joined and must fetch its assignment
HOLD: Final = "consumer-hold"  # a heartbeat whose answer waits is to be looked at again
REGEX: Final = "consumer-regex"  # regular expressions are to be resolved
_OF_MEMBERS: Final = (SESSION, REBALANCE, JOIN, SYNC, HOLD)


def set_session(group: Roster, member: Member, now_ms: int) -> None:
    """The member is alive: it has another session timeout before it is given up."""
    timeout_ms = group.settings.group_consumer_session_timeout_ms
    if member.classic is not None:
        timeout_ms = member.classic.session_timeout_ms
    group.timers.set(TimerKey(SESSION, group.group_id, member.member_id), now_ms + timeout_ms)


def set_for_assignment(group: Roster, member: Member, now_ms: int) -> None:
    """A member that must give partitions up has its rebalance timeout to do it.

    Members of the classic protocol do that by joining again, which has a timer of its own. One that
    is away has nothing left to give up.
    """
    key = TimerKey(REBALANCE, group.group_id, member.member_id)
    if (
        member.state is MemberState.UNREVOKED_PARTITIONS
        and member.member_epoch != LEAVE_STATIC_EPOCH
        and not member.uses_classic_protocol
    ):
        group.timers.set(key, now_ms + member.rebalance_timeout_ms)
    else:
        group.timers.cancel(key)


def expect_join(group: Roster, member: Member, now_ms: int) -> None:
    """A classic member was told to join again; telling it twice gives it no more time."""
    key = TimerKey(JOIN, group.group_id, member.member_id)
    if key not in group.timers:
        group.timers.set(key, now_ms + member.rebalance_timeout_ms)


def expect_sync(group: Roster, member: Member, now_ms: int) -> None:
    """A classic member has joined, and must come for its assignment."""
    group.timers.cancel(TimerKey(JOIN, group.group_id, member.member_id))
    key = TimerKey(SYNC, group.group_id, member.member_id)
    group.timers.set(key, now_ms + member.rebalance_timeout_ms)


def cancel(group: Roster, kind: str, member_id: str = "") -> None:
    group.timers.cancel(TimerKey(kind, group.group_id, member_id))


def cancel_all(group: Roster, member_id: str) -> None:
    """Nothing is expected of this member any more."""
    for kind in _OF_MEMBERS:
        cancel(group, kind, member_id)
