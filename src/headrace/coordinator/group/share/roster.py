"""What a share group is: its members, its epochs, its assignments, its partitions with state.

`replay` is the only thing that changes any of it, live and at load. Beside it stand a few notes
that are not in the log: which initializations are on their way, and whether the group has looked at
its topics since they last changed. Whoever loads the group knows none of them and looks again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

from headrace.coordinator.effects import SharePartition, StateRecord
from headrace.coordinator.group.consumer.member import NOTHING, Target
from headrace.coordinator.group.consumer.state import GroupState
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
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
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

    def replay(self, record: StateRecord) -> None:
        """Apply one record of this group."""
        key = record.key
        value: Any = record.value
        match key:
            case ShareGroupMemberMetadataKey() if value is None:
                self.members.pop(key.member_id, None)
            case ShareGroupMemberMetadataKey():
                member = self._member_or_new(key.member_id)
                self.members[key.member_id] = with_metadata(member, value)
            case ShareGroupCurrentMemberAssignmentKey() if value is None:
                known = self.members.get(key.member_id)
                if known is not None:
                    self.members[key.member_id] = replace(known, member_epoch=-1, assigned={})
            case ShareGroupCurrentMemberAssignmentKey():
                member = self._member_or_new(key.member_id)
                self.members[key.member_id] = with_assignment(member, value)
            case ShareGroupTargetAssignmentMemberKey() if value is None:
                self.targets.pop(key.member_id, None)
            case ShareGroupTargetAssignmentMemberKey():
                self.targets[key.member_id] = from_lists(value.topic_partitions)
            case ShareGroupTargetAssignmentMetadataKey():
                self.assignment_epoch = value.assignment_epoch if value else 0
                self.assignment_timestamp_ms = value.assignment_timestamp if value else 0
            case ShareGroupMetadataKey() if value is None:
                self._replay_end()
                return
            case ShareGroupMetadataKey():
                self.group_epoch = value.epoch
                self.metadata_hash = value.metadata_hash
            case ShareGroupStatePartitionMetadataKey():
                self.partitions = StatePartitions() if value is None else from_value(value)
                self.is_settled = False
                self.note_living_topics()
            case _:
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
