"""What a share group is: its members, its epochs, its assignments, its partitions with state.

`replay` is the only thing that changes any of it, live and at load. Beside it stand a few notes
that are not in the log: which initializations are on their way, and whether the group has looked at
its topics since they last changed. Whoever loads the group knows none of them and looks again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from headrace.coordinator.group.consumer.member import NOTHING, Target
from headrace.coordinator.group.consumer.state import GroupState
from headrace.coordinator.group.effects import SharePartition
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.group.share.member import ShareMember
from headrace.coordinator.group.share.partitions import StatePartitions, from_value
from headrace.coordinator.group.share.persistence import (
    from_lists,
    with_assignment,
    with_metadata,
)
from headrace.coordinator.group.share_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from headrace.coordinator.timers import Timers
from headrace.coordinator.topics import Topics
from headrace.errors import ClientFault, CorruptData, Error


class ShareRoster:
    """The state of one share group, and the outside world as its handlers need it."""

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp_ms",
        "beginning",
        "ending",
        "group_epoch",
        "group_id",
        "is_settled",
        "living_topics",
        "members",
        "metadata_hash",
        "partitions",
        "retry_at_ms",
        "settings",
        "state",
        "targets",
        "timers",
        "topics",
    )

    def __init__(
        self, group_id: str, settings: GroupSettings, timers: Timers, topics: Topics
    ) -> None:
        self.group_id = group_id
        self.settings = settings
        self.timers = timers
        self.topics = topics
        self.state = GroupState.EMPTY
        self.group_epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, Target] = {}
        self.partitions = StatePartitions()
        # What is not in the log. The state epoch with which each partition is being initialized:
        self.beginning: dict[SharePartition, int] = {}
        self.ending: set[UUID] = set()  # topics whose state is being deleted
        self.retry_at_ms = 0  # an initialization failed: not again before this
        self.living_topics: set[UUID] = set()  # topics of the group that existed when last seen
        # Whether topics, partitions and assignment were compared since any of them changed.
        self.is_settled = False

    def replay(self, record: GroupRecord) -> None:
        """Apply one record of this group."""
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
            case (ShareGroupTargetAssignmentMemberKey(member_id=member_id), None):
                self.targets.pop(member_id, None)
            case (
                ShareGroupTargetAssignmentMemberKey(member_id=member_id),
                ShareGroupTargetAssignmentMemberValue() as target,
            ):
                self.targets[member_id] = from_lists(target.topic_partitions)
            case (
                ShareGroupTargetAssignmentMetadataKey(),
                ShareGroupTargetAssignmentMetadataValue() | None as assigned,
            ):
                self.assignment_epoch = assigned.assignment_epoch if assigned else 0
                self.assignment_timestamp_ms = assigned.assignment_timestamp if assigned else 0
            case (ShareGroupMetadataKey(), None):
                self._replay_end()
                return
            case (ShareGroupMetadataKey(), ShareGroupMetadataValue() as value):
                self.group_epoch = value.epoch
                self.metadata_hash = value.metadata_hash
            case (
                ShareGroupStatePartitionMetadataKey(),
                ShareGroupStatePartitionMetadataValue() | None as states,
            ):
                self.partitions = StatePartitions() if states is None else from_value(states)
                self.is_settled = False
                self.note_living_topics()
            case (key, _):
                raise CorruptData(f"{type(key).__name__} is not a record of a share group")
        self.state = GroupState.STABLE if self.members else GroupState.EMPTY

    def _member_or_new(self, member_id: str) -> ShareMember:
        return self.members.get(member_id) or ShareMember(member_id=member_id)

    def _replay_end(self) -> None:
        if self.members:
            raise CorruptData(f"group {self.group_id} ends while it has members")
        self.state = GroupState.DEAD

    @property
    def is_empty(self) -> bool:
        return not self.members

    def member(self, member_id: str) -> ShareMember:
        """The member of this id; a ClientFault if there is none."""
        member = self.members.get(member_id)
        if member is None:
            raise ClientFault(
                Error.UNKNOWN_MEMBER_ID, f"{member_id} is not a member of group {self.group_id}"
            )
        return member

    def target_of(self, member_id: str) -> Target:
        """What a member shall have."""
        return self.targets.get(member_id, NOTHING)

    def topic_ids_of(self, member: ShareMember) -> frozenset[UUID]:
        """The ids of the topics that a member wants and that exist."""
        found = (self.topics.topic_id(name) for name in member.subscribed_topic_names)
        return frozenset(topic_id for topic_id in found if topic_id is not None)

    def note_living_topics(self) -> None:
        """Remember which topics exist: only what has existed can be missed."""
        known = self.partitions.topic_ids()
        self.living_topics = {each for each in known if self.topics.topic_name(each) is not None}


def topics_wanted_by(members: Iterable[ShareMember]) -> set[str]:
    """All topics that any of these members want."""
    wanted: set[str] = set()
    return wanted.union(*(member.subscribed_topic_names for member in members))
