"""What a modern group is: its members, its epoch, its target assignment; and how records change it.

`replay` is the only thing that changes any of it, live and at load. Each kind of group adds what
its members have, and the records that it alone writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Final, Generic, TypeVar
from uuid import UUID

from headrace.coordinator.group.modern.member import NOTHING, ModernMember, Target
from headrace.coordinator.group.modern.persistence import ModernRecords, from_lists
from headrace.coordinator.group.modern.records import (
    TargetAssignmentMemberValue,
    TargetAssignmentMetadataValue,
)
from headrace.coordinator.group.modern.state import GROUP_TRANSITIONS, GroupState
from headrace.coordinator.group.records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    GroupRecord,
)
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.group.share_records import (
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)
from headrace.coordinator.timers import Timers
from headrace.coordinator.topics import Topics
from headrace.errors import ClientFault, CorruptData, Error

NO_ASSIGNMENT_EPOCH: Final = -1

M = TypeVar("M", bound=ModernMember)


class ModernRoster(ABC, Generic[M]):
    """The state of one group, and the outside world as its handlers need it."""

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp_ms",
        "group_epoch",
        "group_id",
        "members",
        "metadata_hash",
        "settings",
        "state",
        "targets",
        "timers",
        "topics",
    )

    RECORDS: ClassVar[ModernRecords]
    INITIAL_EPOCH: ClassVar[int]

    def __init__(
        self, group_id: str, settings: GroupSettings, timers: Timers, topics: Topics
    ) -> None:
        self.group_id = group_id
        self.settings = settings
        self.timers = timers
        self.topics = topics
        self.state = GroupState.EMPTY
        self.group_epoch = self.INITIAL_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = self.INITIAL_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, M] = {}
        self.targets: dict[str, Target] = {}

    @property
    @abstractmethod
    def max_size(self) -> int:
        """How many members there may be."""

    @property
    @abstractmethod
    def assignment_interval_ms(self) -> int:
        """How old a target assignment must be before the next one (KIP-1263)."""

    def replay(self, record: GroupRecord) -> None:
        """Apply one record of this group."""
        match record:
            case (
                ConsumerGroupTargetAssignmentMemberKey(member_id=member_id)
                | ShareGroupTargetAssignmentMemberKey(member_id=member_id),
                TargetAssignmentMemberValue() | None as target,
            ):
                if target is None:
                    self.targets.pop(member_id, None)
                else:
                    self.targets[member_id] = from_lists(target.topic_partitions)
            case (
                ConsumerGroupTargetAssignmentMetadataKey()
                | ShareGroupTargetAssignmentMetadataKey(),
                TargetAssignmentMetadataValue() | None as made,
            ):
                self.assignment_epoch = made.assignment_epoch if made else NO_ASSIGNMENT_EPOCH
                self.assignment_timestamp_ms = made.assignment_timestamp if made else 0
                self._on_assignment_epoch()
            case (ConsumerGroupMetadataKey() | ShareGroupMetadataKey(), None):
                if self.members:
                    raise CorruptData(f"group {self.group_id} ends while it has members")
                self._become(GroupState.DEAD)
                return
            case (_, ConsumerGroupMetadataValue() | ShareGroupMetadataValue() as value):
                self.group_epoch = value.epoch
                self.metadata_hash = value.metadata_hash
            case _:
                self._replay_own(record)
        self._become(self._current_state())

    @abstractmethod
    def _replay_own(self, record: GroupRecord) -> None:
        """Apply a record that only this kind of group has; CorruptData if it is another's."""

    def _on_assignment_epoch(self) -> None:
        """There is another target assignment."""

    @abstractmethod
    def _current_state(self) -> GroupState:
        """The state of a group that is alive."""

    def _become(self, state: GroupState) -> None:
        assert state in GROUP_TRANSITIONS[self.state], f"{self.state.name} -> {state.name}"
        self.state = state

    @property
    def is_empty(self) -> bool:
        return not self.members

    def member(self, member_id: str) -> M:
        """The member of this id; a ClientFault if there is none."""
        member = self.members.get(member_id)
        if member is None:
            raise ClientFault(
                Error.UNKNOWN_MEMBER_ID, f"{member_id} is not a member of group {self.group_id}"
            )
        return member

    def check_room(self, member_id: str) -> None:
        """Refuse one more member than there may be."""
        if len(self.members) >= self.max_size and member_id not in self.members:
            raise ClientFault(
                Error.GROUP_MAX_SIZE_REACHED,
                f"group {self.group_id} has reached its maximum of {self.max_size} members",
            )

    def target_of(self, member: M) -> Target:
        """The target assignment of a member."""
        return self.targets.get(member.member_id, NOTHING)

    def topics_of(self, member: M) -> frozenset[str]:
        """The names of the topics that a member wants."""
        return member.subscribed_topic_names

    def topic_ids_of(self, member: M) -> frozenset[UUID]:
        """The ids of the topics that a member wants and that exist."""
        found = (self.topics.topic_id(name) for name in self.topics_of(member))
        return frozenset(topic_id for topic_id in found if topic_id is not None)

    def topics_wanted_by(self, members: Iterable[M]) -> set[str]:
        """All topics that any of these members want."""
        wanted: set[str] = set()
        return wanted.union(*(self.topics_of(member) for member in members))

    def next_assignment_ms(self, now_ms: int) -> int:
        """When the target assignment is old enough for another one; now, or earlier, if it is."""
        last_ms = self.assignment_timestamp_ms
        # One from the future was written by a coordinator whose clock is ahead of ours.
        if last_ms == 0 or last_ms > now_ms:
            return now_ms
        return last_ms + self.assignment_interval_ms

    def target_records(
        self, targets: dict[str, Target], epoch: int, assigned_at_ms: int
    ) -> list[GroupRecord]:
        """What must be written so that these targets are those of the group in this epoch."""
        changed = [
            self.RECORDS.target(self.group_id, member_id, targets[member_id])
            for member_id in sorted(targets)
            if self.targets.get(member_id) != targets[member_id]
        ]
        return [*changed, self.RECORDS.target_epoch(self.group_id, epoch, assigned_at_ms)]
