"""What a share group is beside what all modern groups are: its partitions with state.

Beside it stand a few notes that are not in the log: which initializations are on their way, and
whether the group has looked at its topics since they last changed. Whoever loads the group knows
none of them and looks again.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from headrace.coordinator.group.modern.roster import ModernRoster
from headrace.coordinator.group.modern.state import GroupState
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.group.share.member import ShareMember
from headrace.coordinator.group.share.partitions import StatePartitions, from_value
from headrace.coordinator.group.share.persistence import RECORDS, with_assignment, with_metadata
from headrace.coordinator.group.share_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
)
from headrace.coordinator.timers import Timers
from headrace.coordinator.topics import Topics
from headrace.errors import CorruptData
from headrace.types import SharePartitionKey


class ShareRoster(ModernRoster[ShareMember]):
    """The state of one share group, and the outside world as its handlers need it."""

    __slots__ = ("beginning", "ending", "is_settled", "living_topics", "partitions", "retry_at_ms")

    RECORDS = RECORDS
    INITIAL_EPOCH = 0

    def __init__(
        self, group_id: str, settings: GroupSettings, timers: Timers, topics: Topics
    ) -> None:
        super().__init__(group_id, settings, timers, topics)
        self.partitions = StatePartitions()
        # What is not in the log. The state epoch with which each partition is being initialized:
        self.beginning: dict[SharePartitionKey, int] = {}
        self.ending: set[UUID] = set()  # topics whose state is being deleted
        self.retry_at_ms = 0  # an initialization failed: not again before this
        self.living_topics: set[UUID] = set()  # topics of the group that existed when last seen
        # Whether topics, partitions and assignment were compared since any of them changed.
        self.is_settled = False

    @property
    def max_size(self) -> int:
        return self.settings.group_share_max_size

    @property
    def assignment_interval_ms(self) -> int:
        return self.settings.group_share_assignment_interval_ms

    def _replay_own(self, record: GroupRecord) -> None:
        match record:
            case (ShareGroupMemberMetadataKey(member_id=member_id), None):
                self.members.pop(member_id, None)
            case (
                ShareGroupMemberMetadataKey(member_id=member_id),
                ShareGroupMemberMetadataValue() as told,
            ):
                self.members[member_id] = with_metadata(self._member_or_new(member_id), told)
            case (ShareGroupCurrentMemberAssignmentKey(member_id=member_id), None):
                known = self.members.get(member_id)
                if known is not None:
                    self.members[member_id] = replace(known, member_epoch=-1, assigned={})
            case (
                ShareGroupCurrentMemberAssignmentKey(member_id=member_id),
                ShareGroupCurrentMemberAssignmentValue() as current,
            ):
                self.members[member_id] = with_assignment(self._member_or_new(member_id), current)
            case (
                ShareGroupStatePartitionMetadataKey(),
                ShareGroupStatePartitionMetadataValue() | None as states,
            ):
                self.partitions = StatePartitions() if states is None else from_value(states)
                self.is_settled = False
                self.note_living_topics()
            case (key, _):
                raise CorruptData(f"{type(key).__name__} is not a record of a share group")

    def _current_state(self) -> GroupState:
        return GroupState.STABLE if self.members else GroupState.EMPTY

    def _member_or_new(self, member_id: str) -> ShareMember:
        return self.members.get(member_id) or ShareMember(member_id=member_id)

    def note_living_topics(self) -> None:
        """Remember which topics exist: only what has existed can be missed."""
        known = self.partitions.topic_ids()
        self.living_topics = {each for each in known if self.topics.topic_name(each) is not None}
