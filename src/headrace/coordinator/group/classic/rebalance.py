"""From one generation of a classic group to the next: when it begins, who is still in it.

A rebalance is prepared when somebody joins, leaves or fails. It is completed as soon as everybody
has joined again, and at the latest when the most patient member's rebalance timeout is over; who is
missing then is out, except for static members, whom only the end of their session removes. A group
that was empty waits a little for more members instead (KIP-134). Afterwards the members of the new
generation have the same time once more to ask for their assignment.
"""

from __future__ import annotations

from headrace.coordinator.group.classic.membership import InitialDelay, Membership
from headrace.coordinator.group.classic.persistence import metadata_record
from headrace.coordinator.group.classic.state import ClassicState
from headrace.coordinator.group.effects import GroupEffects
from headrace.errors import Error
from headrace.wire.consumer_protocol import PROTOCOL_TYPE, subscribed_topics

# Members may name the tiniest rebalance timeout, which must not keep the coordinator busy.
SHORTEST_WAIT_MS = 1_000


def rebalance(group: Membership, now_ms: int, effects: GroupEffects, reason: str) -> None:
    """Something changed: prepare a rebalance, or complete the one that is being prepared."""
    if group.can_rebalance:
        prepare_rebalance(group, now_ms, effects, reason)
    else:
        complete_join_if_ready(group, now_ms, effects)


def prepare_rebalance(group: Membership, now_ms: int, effects: GroupEffects, reason: str) -> None:
    """Ask all members to join again; they learn of it by their heartbeats."""
    effects.notes.append(
        f"Group {group.group_id} rebalances in state {group.state.value} after generation "
        f"{group.generation_id}: {reason}"
    )
    if group.state is ClassicState.COMPLETING_REBALANCE:
        for member in group.members.values():
            member.assignment = b""
            if member.parked_sync is not None:
                group.refuse_sync(member, Error.REBALANCE_IN_PROGRESS, effects)
                group.touch(member, now_ms)
    group.pending_sync.clear()
    group.timers.cancel(group.sync_timer)
    if group.is_empty:
        delay_ms = group.settings.group_initial_rebalance_delay_ms
        group.new_member_added = False
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.initial_delay = InitialDelay(delay_ms, remaining_ms)
        group.timers.set(group.join_timer, now_ms + delay_ms)
        group.become(ClassicState.PREPARING_REBALANCE, now_ms)
        return
    group.become(ClassicState.PREPARING_REBALANCE, now_ms)
    if group.all_joined:
        complete_join(group, now_ms, effects)
    else:
        group.timers.set(group.join_timer, now_ms + group.rebalance_timeout_ms)


def complete_join_if_ready(group: Membership, now_ms: int, effects: GroupEffects) -> None:
    """Begin the next generation if nobody is missing and no initial delay is running."""
    is_preparing = group.state is ClassicState.PREPARING_REBALANCE
    if is_preparing and group.initial_delay is None and group.all_joined:
        complete_join(group, now_ms, effects)


def complete_join(group: Membership, now_ms: int, effects: GroupEffects) -> None:
    """Begin the next generation with those who have joined."""
    group.timers.cancel(group.join_timer)
    group.initial_delay = None
    missing = [member for member in group.members.values() if member.parked_join is None]
    for member in missing:
        if not member.is_static:
            group.remove(member.member_id, effects)
    if not group.members:
        _begin_empty_generation(group, now_ms, effects)
    elif group.elect_joined_leader():
        _begin_generation(group, now_ms, effects)
    else:
        # Only silent static members are left: wait until they come back or their sessions end.
        wait_ms = max(group.rebalance_timeout_ms, SHORTEST_WAIT_MS)
        group.timers.set(group.join_timer, now_ms + wait_ms)


def _begin_empty_generation(group: Membership, now_ms: int, effects: GroupEffects) -> None:
    group.generation_id += 1
    group.protocol_name = None
    group.topics = topics_of(group)
    group.become(ClassicState.EMPTY, now_ms)
    effects.records.append(metadata_record(group))


def _begin_generation(group: Membership, now_ms: int, effects: GroupEffects) -> None:
    group.generation_id += 1
    group.protocol_name = group.select_protocol()
    group.topics = topics_of(group)
    group.become(ClassicState.COMPLETING_REBALANCE, now_ms)
    for member in group.members.values():
        caller = group.take_join(member)
        if caller is not None:
            effects.replies.append(group.welcome(member, caller))
        group.touch(member, now_ms)
        member.is_new = False
    group.pending_sync = set(group.members)
    group.timers.set(group.sync_timer, now_ms + group.rebalance_timeout_ms)


def topics_of(group: Membership) -> set[str] | None:
    """The topics that the members subscribe to; None if these are no consumers, or unreadable."""
    if group.protocol_type != PROTOCOL_TYPE:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        assert group.protocol_name is not None, "members have agreed on a protocol"
        subscribed = subscribed_topics(member.metadata(group.protocol_name))
        if subscribed is None:
            return None
        topics |= subscribed
    return topics


def on_join_timer(group: Membership, now_ms: int, effects: GroupEffects) -> None:
    """The time to join is over, or that of an initial delay, which new members prolong."""
    if group.state is not ClassicState.PREPARING_REBALANCE:
        return
    initial = group.initial_delay
    if initial is not None and group.new_member_added and initial.remaining_ms:
        group.new_member_added = False
        delay_ms = min(group.settings.group_initial_rebalance_delay_ms, initial.remaining_ms)
        remaining_ms = max(initial.remaining_ms - initial.delay_ms, 0)
        group.initial_delay = InitialDelay(delay_ms, remaining_ms)
        group.timers.set(group.join_timer, now_ms + delay_ms)
    else:
        complete_join(group, now_ms, effects)


def on_sync_timer(group: Membership, now_ms: int, effects: GroupEffects) -> None:
    """The time to fetch an assignment is over: who did not ask for it is out."""
    late = sorted(group.pending_sync)
    if late:
        for member_id in late:
            group.remove(member_id, effects)
        prepare_rebalance(group, now_ms, effects, f"no SyncGroup from {', '.join(late)}")


def on_session_timer(group: Membership, member_id: str, now_ms: int, effects: GroupEffects) -> None:
    """No sign of life from a member, unless it is waiting for an answer of ours."""
    member = group.members.get(member_id)
    if member is not None and not member.is_surely_alive:
        group.remove(member_id, effects)
        _on_removed(group, now_ms, effects, f"session of {member_id} expired")


def on_pending_timer(group: Membership, member_id: str, now_ms: int, effects: GroupEffects) -> None:
    """A member was given an id and never joined with it."""
    if member_id not in group.pending_members:
        return
    group.remove(member_id, effects)
    if group.state is ClassicState.PREPARING_REBALANCE and group.all_joined:
        complete_join(group, now_ms, effects)


def _on_removed(group: Membership, now_ms: int, effects: GroupEffects, reason: str) -> None:
    if group.can_rebalance:
        prepare_rebalance(group, now_ms, effects, reason)
    elif group.state is ClassicState.PREPARING_REBALANCE and group.all_joined:
        complete_join(group, now_ms, effects)
