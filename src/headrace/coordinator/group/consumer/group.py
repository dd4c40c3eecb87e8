"""A consumer group: the requests, timers and events that concern it (KIP-848).

All of them read the group and return what must happen; `replay` alone changes it. A request that
is refused is answered with its error and leaves nothing behind.
"""

from __future__ import annotations

from typing import Final, Protocol

from headrace.coordinator.effects import AnyReply, Caller, Effects
from headrace.coordinator.group.answers import join_refused, sync_refused
from headrace.coordinator.group.consumer import classic_members, heartbeat
from headrace.coordinator.group.consumer.fencing import remove_members
from headrace.coordinator.group.consumer.migration import (
    ClassicGroupView,
    build_group_tombstones,
    build_upgrade_records,
    check_upgrade,
)
from headrace.coordinator.group.consumer.regex import resolve_regexes
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.consumer.timers import (
    HOLD,
    JOIN,
    REBALANCE,
    REGEX,
    SESSION,
    SYNC,
    cancel,
    cancel_all,
    set_for_assignment,
    set_session,
)
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.modern.timers import TimerKey
from headrace.coordinator.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    GroupRecord,
)
from headrace.errors import ClientFault, Error
from headrace.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headrace.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_LATE: Final = {
    SESSION: "it was not heard of for its session timeout",
    REBALANCE: "it did not give its partitions up in time",
    JOIN: "it did not join again in time",
    SYNC: "it did not fetch its assignment in time",
}


class ConvertibleGroup(ClassicGroupView, Protocol):
    """A classic group that may be ended to be a consumer group from then on."""

    def abandon(self, error: Error) -> list[AnyReply]:
        """Answer all who wait, and expect nothing of the members any more."""


class ConsumerGroup(Roster):
    """One consumer group."""

    __slots__ = ()

    def replay(self, record: GroupRecord) -> None:
        """Apply one record; who waits for the partitions of others looks again after it."""
        super().replay(record)
        if self.held and isinstance(record.key, ConsumerGroupCurrentMemberAssignmentKey):
            for member_id in self.held:
                if member_id != record.key.member_id:
                    self.timers.set(TimerKey(HOLD, self.group_id, member_id), 0)

    def handle_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        caller: Caller[ConsumerGroupHeartbeatResponse],
        now_ms: int,
    ) -> GroupEffects:
        """ConsumerGroupHeartbeat."""
        try:
            return self._dismissing(heartbeat.handle_heartbeat(self, request, caller, now_ms))
        except ClientFault as fault:
            return Effects(replies=[caller.reply(heartbeat_error(fault))])

    def handle_join(
        self, request: JoinGroupRequest, caller: Caller[JoinGroupResponse], now_ms: int
    ) -> GroupEffects:
        """JoinGroup of a member of the classic protocol."""
        try:
            return self._dismissing(classic_members.handle_join(self, request, caller, now_ms))
        except ClientFault as fault:
            return Effects(replies=[caller.reply(join_refused(fault.error, request.member_id))])

    def handle_sync(
        self, request: SyncGroupRequest, caller: Caller[SyncGroupResponse], now_ms: int
    ) -> GroupEffects:
        """SyncGroup of a member of the classic protocol."""
        try:
            return classic_members.handle_sync(self, request, caller, now_ms)
        except ClientFault as fault:
            return Effects(replies=[caller.reply(sync_refused(fault.error))])

    def handle_classic_heartbeat(
        self, request: HeartbeatRequest, caller: Caller[HeartbeatResponse], now_ms: int
    ) -> GroupEffects:
        """Heartbeat of a member of the classic protocol."""
        try:
            return classic_members.handle_heartbeat(self, request, caller, now_ms)
        except ClientFault as fault:
            response = HeartbeatResponse(error_code=fault.error)
            return Effects(replies=[caller.reply(response)])

    def handle_leave(
        self, request: LeaveGroupRequest, caller: Caller[LeaveGroupResponse], now_ms: int
    ) -> GroupEffects:
        """LeaveGroup, of members of either protocol."""
        return self._dismissing(classic_members.handle_leave(self, request, caller, now_ms))

    def on_timer(self, key: tuple[str, str, str], now_ms: int) -> GroupEffects:
        """Give up a member that let a deadline pass; or do what was put off."""
        kind, _, member_id = key
        if kind == REGEX:
            return Effects(records=resolve_regexes(self, now_ms))
        if kind == HOLD:
            return self._look_again(member_id, now_ms)
        member = self.members.get(member_id)
        if member is None:
            return Effects()
        return self._dismissing(
            Effects(
                records=remove_members(self, {member_id}, now_ms),
                notes=[f"Member {member_id} of group {self.group_id} is removed: {_LATE[kind]}"],
            )
        )

    def _look_again(self, member_id: str, now_ms: int) -> GroupEffects:
        """Another member has moved, or the answer has waited long enough."""
        held = self.held.get(member_id)
        if held is None:
            return Effects()
        effects = self.handle_heartbeat(held.request, held.caller, now_ms)
        if effects.replies:
            self.held.pop(member_id, None)
        return effects

    def _dismissing(self, effects: GroupEffects) -> GroupEffects:
        """Who is removed while its answer is held is told so."""
        for record in effects.records if self.held else ():
            if isinstance(record.key, ConsumerGroupMemberMetadataKey) and record.value is None:
                held = self.held.pop(record.key.member_id, None)
                if held is not None:
                    why = (
                        f"{record.key.member_id} is not a member of group {self.group_id} any more"
                    )
                    fault = ClientFault(Error.UNKNOWN_MEMBER_ID, why)
                    effects.replies.append(held.caller.reply(heartbeat_error(fault)))
        return effects

    def on_loaded(self, now_ms: int) -> None:
        """The log has been replayed: members have a session timeout to find their coordinator."""
        for member in self.members.values():
            set_session(self, member, now_ms)
            set_for_assignment(self, member, now_ms)

    def on_topics_changed(self, now_ms: int) -> GroupEffects:
        """Let the next heartbeat look whether the topics of the group are still the same."""
        self.topics_were_seen = False
        return Effects()

    def subscribed_topics(self) -> set[str]:
        """The topics whose offsets are in use."""
        return self.topics_wanted_by(self.members.values())

    def build_tombstones(self) -> list[GroupRecord]:
        """What deletes this group."""
        return build_group_tombstones(self, self.members.keys())

    def abandon(self, error: Error) -> list[AnyReply]:
        """Expect nothing of the members any more, and answer those who wait."""
        for member_id in self.members:
            cancel_all(self, member_id)
        cancel(self, REGEX)
        held, self.held = self.held, {}
        response = heartbeat_error(ClientFault(error))
        return [each.caller.reply(response) for each in held.values()]


def heartbeat_error(fault: ClientFault) -> ConsumerGroupHeartbeatResponse:
    """The answer to a heartbeat that is refused."""
    return ConsumerGroupHeartbeatResponse(
        error_code=fault.error,
        error_message=fault.message or None,
        member_epoch=0,
        heartbeat_interval_ms=0,
    )


def upgrade(
    classic: ConvertibleGroup,
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller[ConsumerGroupHeartbeatResponse],
    now_ms: int,
) -> GroupEffects:
    """Let the first member of the consumer protocol join a classic group, empty or not.

    If it gets in, there are records, and `group`, which is new, is the group that it is in from
    then on; all who wait in the classic group are told to join again. If not, that one goes on.
    """
    try:
        if classic.members:
            check_upgrade(classic, group.settings)
        records = build_upgrade_records(classic, group.topics)
    except ClientFault as fault:
        return Effects(replies=[caller.reply(heartbeat_error(fault))])
    # The handler must see the group that these records make; they are replayed again with its own.
    for record in records[1:]:
        group.replay(record)
    for member in group.members.values():
        set_session(group, member, now_ms)
    effects = group.handle_heartbeat(request, caller, now_ms)
    if not effects.records:
        group.abandon(Error.NONE)
        return effects
    effects.records[:0] = records
    effects.replies[:0] = classic.abandon(Error.REBALANCE_IN_PROGRESS)
    effects.notes.append(f"Classic group {classic.group_id} has become a consumer group")
    return effects
