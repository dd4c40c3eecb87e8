"""Who is in a classic group: members, their places, their protocols and their timers.

This is the state that all requests share, and the few steps that change it. When a rebalance begins
and ends is decided elsewhere; here is only what must be true in between: each instance id has one
member, the leader is a member, and whoever is removed is answered first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from headrace.coordinator.effects import Caller, Reply
from headrace.coordinator.group.answers import UNKNOWN_MEMBER, join_refused, sync_refused
from headrace.coordinator.group.classic.member import ClassicMember
from headrace.coordinator.group.classic.state import TRANSITIONS, ClassicState
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.timers import Timers
from headrace.errors import Error
from headrace.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from headrace.wire.messages.sync_group import SyncGroupResponse


class InitialDelay(NamedTuple):
    """How long an empty group waits for more members before its first generation."""

    delay_ms: int
    remaining_ms: int


class Membership:
    """The members of one group and the generation that they are in or on their way to."""

    __slots__ = (
        "_support",
        "awaiting_join",
        "generation_id",
        "group_id",
        "initial_delay",
        "is_live",
        "is_recorded",
        "leader_id",
        "members",
        "new_member_added",
        "new_uuid",
        "pending_members",
        "pending_sync",
        "protocol_name",
        "protocol_type",
        "settings",
        "state",
        "state_since_ms",
        "static_members",
        "timers",
        "topics",
    )

    def __init__(
        self,
        group_id: str,
        settings: GroupSettings,
        timers: Timers,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self.group_id = group_id
        self.settings = settings
        self.timers = timers
        self.new_uuid = new_uuid
        self.state = ClassicState.EMPTY
        self.state_since_ms = -1
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        self.pending_members: set[str] = set()  # have an id, are to join with it (KIP-394)
        self.pending_sync: set[str] = set()  # of this generation, have not fetched their assignment
        self.awaiting_join = 0  # how many members have a parked JoinGroup
        self.initial_delay: InitialDelay | None = None
        self.new_member_added = False  # since the initial delay was last looked at
        self.topics: set[str] | None = None  # that this generation is subscribed to, if known
        self.is_recorded = False  # the log knows this group
        self.is_live = False  # members are served here: its records say nothing new to it
        self._support: dict[str, int] = {}  # how many members speak each protocol

    # -- state ---------------------------------------------------------------------------------

    def become(self, state: ClassicState, now_ms: int) -> None:
        """Change the state; the only place where that happens to a living group."""
        assert state in TRANSITIONS[self.state], f"{self.group_id}: {self.state} to {state}"
        self.state = state
        self.state_since_ms = now_ms

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members and expects none."""
        return self.state is ClassicState.EMPTY

    @property
    def can_rebalance(self) -> bool:
        return ClassicState.PREPARING_REBALANCE in TRANSITIONS[self.state]

    @property
    def all_joined(self) -> bool:
        """Whether nobody is missing for the next generation."""
        return self.awaiting_join == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """The patience of the most patient member."""
        return max([0, *(member.rebalance_timeout_ms for member in self.members.values())])

    # -- members -------------------------------------------------------------------------------

    def new_member_id(self, client_id: str, group_instance_id: str | None) -> str:
        stem = client_id if group_instance_id is None else group_instance_id
        return f"{stem}-{self.new_uuid()}"

    def check_member(self, member_id: str, group_instance_id: str | None) -> Error:
        """Whether this member may speak: NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."""
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                return Error.UNKNOWN_MEMBER_ID
            if current != member_id:
                return Error.FENCED_INSTANCE_ID
        return Error.NONE if member_id in self.members else Error.UNKNOWN_MEMBER_ID

    def add(self, member: ClassicMember) -> None:
        """Let a member in; the first one decides what kind of group this is, and leads it."""
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members, "replace it instead"
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, +1)
        self._forget_pending(member.member_id)

    def remove(self, member_id: str, effects: GroupEffects) -> None:
        """Take a member out, known or pending; if it waits, it learns that it is unknown now."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            self.refuse_join(member, Error.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER, effects)
            self.refuse_sync(member, Error.UNKNOWN_MEMBER_ID, effects)
            if member.group_instance_id is not None:
                del self.static_members[member.group_instance_id]
            self.timers.cancel(self.session_timer(member_id))
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self._forget_pending(member_id)
        self.pending_sync.discard(member_id)

    def replace_static(self, old_id: str, new_id: str, effects: GroupEffects) -> ClassicMember:
        """Give the place of a static member to its next incarnation and fence the old one."""
        member = self.members.pop(old_id)
        assert member.group_instance_id is not None, "only static members are replaced"
        self.refuse_join(member, Error.FENCED_INSTANCE_ID, old_id, effects)
        self.refuse_sync(member, Error.FENCED_INSTANCE_ID, effects)
        self.timers.cancel(self.session_timer(old_id))
        member.member_id = new_id
        member.is_new = False
        self.members[new_id] = member
        self.static_members[member.group_instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        if old_id in self.pending_sync:
            self.pending_sync.remove(old_id)
            self.pending_sync.add(new_id)
        return member

    def _forget_pending(self, member_id: str) -> None:
        if member_id in self.pending_members:
            self.pending_members.remove(member_id)
            self.timers.cancel(self.pending_timer(member_id))

    # -- parked requests -----------------------------------------------------------------------

    def park_join(
        self, member: ClassicMember, caller: Caller[JoinGroupResponse], effects: GroupEffects
    ) -> None:
        """Keep a JoinGroup until the generation begins.

        One that the same member sent before was given up by its sender; its answer only tells
        that the matter is not settled.
        """
        self.refuse_join(member, Error.REBALANCE_IN_PROGRESS, member.member_id, effects)
        member.parked_join = caller
        self.awaiting_join += 1

    def park_sync(
        self, member: ClassicMember, caller: Caller[SyncGroupResponse], effects: GroupEffects
    ) -> None:
        """Keep a SyncGroup until the leader has assigned; an earlier one was given up."""
        self.refuse_sync(member, Error.REBALANCE_IN_PROGRESS, effects)
        member.parked_sync = caller

    def take_join(self, member: ClassicMember) -> Caller[JoinGroupResponse] | None:
        """The parked JoinGroup, which the caller must answer."""
        caller, member.parked_join = member.parked_join, None
        if caller is not None:
            self.awaiting_join -= 1
        return caller

    def refuse_join(
        self, member: ClassicMember, error: Error, member_id: str, effects: GroupEffects
    ) -> None:
        """Answer the parked JoinGroup, if there is one, with an error."""
        caller = self.take_join(member)
        if caller is not None:
            effects.replies.append(caller.reply(join_refused(error, member_id)))

    def refuse_sync(self, member: ClassicMember, error: Error, effects: GroupEffects) -> None:
        """Answer the parked SyncGroup, if there is one, with an error."""
        caller, member.parked_sync = member.parked_sync, None
        if caller is not None:
            effects.replies.append(caller.reply(sync_refused(error)))

    def welcome(
        self, member: ClassicMember, caller: Caller[JoinGroupResponse]
    ) -> Reply[JoinGroupResponse]:
        """The answer to a JoinGroup: the current generation, to its leader with all members."""
        protocol_name = self.protocol_name
        assert protocol_name is not None, "a generation has a protocol"
        shown = self.members.values() if member.member_id == self.leader_id else ()
        response = JoinGroupResponse(
            error_code=Error.NONE,
            generation_id=self.generation_id,
            protocol_type=self.protocol_type,
            protocol_name=protocol_name,
            leader=self.leader_id or "",
            member_id=member.member_id,
            members=[
                JoinGroupResponseMember(
                    member_id=each.member_id,
                    group_instance_id=each.group_instance_id,
                    metadata=each.metadata(protocol_name),
                )
                for each in shown
            ],
        )
        return caller.reply(response)

    def assignment(
        self, member: ClassicMember, caller: Caller[SyncGroupResponse]
    ) -> Reply[SyncGroupResponse]:
        """The answer to a SyncGroup: what this member shall do."""
        response = SyncGroupResponse(
            error_code=Error.NONE,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            assignment=member.assignment,
        )
        return caller.reply(response)

    # -- protocols -----------------------------------------------------------------------------

    def supports(self, protocol_type: str, names: set[str]) -> bool:
        """Whether somebody who speaks these protocols could be a member beside the others."""
        if self.is_empty:
            return bool(protocol_type and names)
        if protocol_type != self.protocol_type:
            return False
        return any(self._support.get(name, 0) == len(self.members) for name in names)

    def set_protocols(self, member: ClassicMember, protocols: list[tuple[str, bytes]]) -> None:
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, +1)

    def select_protocol(self) -> str:
        """The protocol that most members prefer among those that all of them speak."""
        everybody = len(self.members)
        candidates = {name for name, count in self._support.items() if count == everybody}
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        for name in member.protocol_names():
            count = self._support.get(name, 0) + change
            if count:
                self._support[name] = count
            else:
                del self._support[name]

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is one who has joined; False if nobody has."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].parked_join is None:
            joined = (id_ for id_, member in self.members.items() if member.parked_join is not None)
            successor = next(joined, None)
            if successor is None:
                return False
            self.leader_id = successor
        return True

    # -- timers --------------------------------------------------------------------------------

    def touch(self, member: ClassicMember, now_ms: int) -> None:
        """The member gave a sign of life: its session starts anew."""
        deadline_ms = now_ms + member.session_timeout_ms
        self.timers.set(self.session_timer(member.member_id), deadline_ms)

    def session_timer(self, member_id: str) -> tuple[str, str, str]:
        return ("classic-session", self.group_id, member_id)

    def pending_timer(self, member_id: str) -> tuple[str, str, str]:
        return ("classic-pending", self.group_id, member_id)

    @property
    def join_timer(self) -> tuple[str, str]:
        return ("classic-join", self.group_id)

    @property
    def sync_timer(self) -> tuple[str, str]:
        return ("classic-sync", self.group_id)
