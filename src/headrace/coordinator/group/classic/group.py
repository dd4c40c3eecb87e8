"""A classic consumer group: its members decide who does what, the coordinator keeps them in step.

    JoinGroup   everybody who wants to be in the next generation; one of them leads it
    SyncGroup   the leader hands in the work of all, each member receives its own
    Heartbeat   within the generation; its answer tells when the next one is due
    LeaveGroup  out, without waiting for the session to end

Each request has a module of its own, whose function takes the group first. Here is what comes from
the other side: timers, the log, and the end of the coordinator's reign. Groups that do not exist,
and groups of the consumer protocol, are the shard's business.
"""

from __future__ import annotations

from collections.abc import Hashable

from headrace.coordinator.effects import AnyReply, Effects
from headrace.coordinator.group.classic import rebalance
from headrace.coordinator.group.classic.membership import Membership
from headrace.coordinator.group.classic.persistence import load_generation
from headrace.coordinator.group.classic.state import ClassicState
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.records import GroupMetadataValue
from headrace.errors import Error, InvariantViolated
from headrace.wire.messages.describe_groups import DescribedGroup


class ClassicGroup(Membership):
    """One classic group of a shard."""

    __slots__ = ()

    def on_timer(self, key: Hashable, now_ms: int) -> GroupEffects:
        """A timer of this group is due.

        What other timers did at the same moment may have set it anew or made it pointless.
        """
        effects: GroupEffects = Effects()
        if key in self.timers or self.state is ClassicState.DEAD:
            return effects
        match key:
            case ("classic-session", _, str(member_id)):
                rebalance.on_session_timer(self, member_id, now_ms, effects)
            case ("classic-pending", _, str(member_id)):
                rebalance.on_pending_timer(self, member_id, now_ms, effects)
            case ("classic-join", _):
                rebalance.on_join_timer(self, now_ms, effects)
            case ("classic-sync", _):
                rebalance.on_sync_timer(self, now_ms, effects)
            case _:
                raise InvariantViolated(f"group {self.group_id} has no timer {key}")
        return effects

    def replay_metadata(self, value: GroupMetadataValue | None, now_ms: int) -> None:
        """A record of this group: what it was before a restart, or its end.

        While the group serves members, the record is its own and says nothing new.
        """
        if value is None:
            self._cancel_timers()
            self.become(ClassicState.DEAD, now_ms)
            return
        self.is_recorded = True
        if not self.is_live:
            load_generation(self, value)

    def on_loaded(self, now_ms: int) -> None:
        """All records are read: from now on members must show that they are alive."""
        self.is_live = True
        self.topics = rebalance.topics_of(self)
        for member in self.members.values():
            self.touch(member, now_ms)
        if len(self.members) > self.settings.group_max_size:
            reason = "the group has become too large; members may commit before they leave"
            rebalance.prepare_rebalance(self, now_ms, Effects(), reason)

    def abandon(self, error: Error) -> list[AnyReply]:
        """End here, because the group goes on elsewhere or in another form; tell all who wait."""
        effects: GroupEffects = Effects()
        for member in self.members.values():
            self.refuse_join(member, error, member.member_id, effects)
            self.refuse_sync(member, error, effects)
        self._cancel_timers()
        self.become(ClassicState.DEAD, self.state_since_ms)
        return effects.replies

    def _cancel_timers(self) -> None:
        for member_id in self.members:
            self.timers.cancel(self.session_timer(member_id))
        for member_id in self.pending_members:
            self.timers.cancel(self.pending_timer(member_id))
        self.timers.cancel(self.join_timer)
        self.timers.cancel(self.sync_timer)

    def subscribed_topics(self) -> set[str] | None:
        """The topics of this generation; None if its members are no consumers, or unreadable."""
        return self.topics

    def describe(self) -> DescribedGroup:
        """The group as DescribeGroups shows it; while it is stable, with its protocol."""
        protocol_name = self.protocol_name if self.state is ClassicState.STABLE else None
        return DescribedGroup(
            error_code=Error.NONE,
            group_id=self.group_id,
            group_state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol_data=protocol_name or "",
            members=[member.describe(protocol_name) for member in self.members.values()],
        )
