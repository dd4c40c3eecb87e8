"""What a consumer group is beside what all modern groups are, and how its own records change it.

Everything that is no replay answers questions, some from tallies that are kept up to date because
every heartbeat asks them. What the group wants to happen next is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from headrace.coordinator.group.consumer.held import HeldHeartbeat
from headrace.coordinator.group.consumer.member import Member
from headrace.coordinator.group.consumer.persistence import (
    RECORDS,
    ResolvedRegex,
    with_assignment,
    with_metadata,
)
from headrace.coordinator.group.modern.member import Target
from headrace.coordinator.group.modern.roster import ModernRoster
from headrace.coordinator.group.modern.state import GroupState
from headrace.coordinator.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    GroupRecord,
)
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.timers import Timers
from headrace.coordinator.topics import Topics
from headrace.errors import ClientFault, CorruptData, Error


class Downgrade(NamedTuple):
    """What a consumer group leaves to the classic group that its last records make of it.

    The records are those of a stable generation. It must be followed by a rebalance if a reason is
    given, and the log has only the chosen one of the protocols that each member supports.
    """

    rebalance_reason: str | None
    protocols: Mapping[str, list[tuple[str, bytes]]]


class Roster(ModernRoster[Member]):
    """The state of one consumer group, and the outside world as its handlers need it."""

    __slots__ = (
        "_lagging",
        "_owners",
        "classic_member_count",
        "downgrade",
        "has_partition_metadata",
        "held",
        "new_uuid",
        "regex_subscribers",
        "regexes",
        "static_members",
        "topics_were_seen",
    )

    RECORDS = RECORDS
    # A group that was never assigned anything has nothing to do: a member that wants nothing yet,
    # or whose expression is not resolved yet, is in this epoch at once.
    INITIAL_EPOCH = 1

    def __init__(
        self,
        group_id: str,
        settings: GroupSettings,
        timers: Timers,
        topics: Topics,
        new_uuid: Callable[[], UUID],
    ) -> None:
        super().__init__(group_id, settings, timers, topics)
        self.new_uuid = new_uuid
        self.static_members: dict[str, str] = {}  # member ids by instance id
        self.regexes: dict[str, ResolvedRegex] = {}
        self.regex_subscribers: dict[str, int] = {}
        self.classic_member_count = 0
        self.has_partition_metadata = False
        # Whether the topics were compared with `metadata_hash` since they last changed.
        self.topics_were_seen = False
        # Beside the log, by member id: who is not answered yet.
        self.held: dict[str, HeldHeartbeat] = {}
        # Set by the handler whose records end this group and begin a classic one.
        self.downgrade: Downgrade | None = None
        self._owners: dict[tuple[UUID, int], str] = {}
        self._lagging: set[str] = set()  # members without their target assignment

    @property
    def max_size(self) -> int:
        return self.settings.group_consumer_max_size

    @property
    def assignment_interval_ms(self) -> int:
        return self.settings.group_consumer_assignment_interval_ms

    def _replay_own(self, record: GroupRecord) -> None:
        match record:
            case (
                ConsumerGroupMemberMetadataKey(member_id=member_id),
                ConsumerGroupMemberMetadataValue() | None as told,
            ):
                self._replay_member(member_id, told)
            case (
                ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id),
                ConsumerGroupCurrentMemberAssignmentValue() | None as current,
            ):
                self._replay_assignment(member_id, current)
            case (ConsumerGroupRegularExpressionKey(regular_expression=regex), None):
                self.regexes.pop(regex, None)
            case (
                ConsumerGroupRegularExpressionKey(regular_expression=regex),
                ConsumerGroupRegularExpressionValue() as resolved,
            ):
                self.regexes[regex] = ResolvedRegex(
                    frozenset(resolved.topics), resolved.version, resolved.timestamp
                )
            case (ConsumerGroupPartitionMetadataKey(), old):
                self.has_partition_metadata = old is not None
            case (key, _):
                raise CorruptData(f"{type(key).__name__} is not a record of a consumer group")

    def _on_assignment_epoch(self) -> None:
        epoch = self.assignment_epoch
        self._lagging = {
            each.member_id for each in self.members.values() if not each.is_reconciled_to(epoch)
        }

    def member(self, member_id: str) -> Member:
        """The member of this id; a ClientFault if there is none, or no such group at all."""
        if self.is_unknown:
            raise ClientFault(Error.GROUP_ID_NOT_FOUND, f"there is no group {self.group_id}")
        return super().member(member_id)

    @property
    def is_unknown(self) -> bool:
        """Whether nothing was ever written of this group: whoever leaves it begins an epoch."""
        return not self.members and self.group_epoch == self.INITIAL_EPOCH

    def static_member(self, instance_id: str | None) -> Member | None:
        """The member that this instance is now, if it is one."""
        if instance_id is None:
            return None
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def target_of(self, member: Member) -> Target:
        """What a member shall have; an instance that returns shall have what it had."""
        return super().target_of(self.static_member(member.instance_id) or member)

    def is_owned(self, topic_id: UUID, partition: int) -> bool:
        """Whether some member owns a partition or has not confirmed yet that it gave it up."""
        return (topic_id, partition) in self._owners

    def topics_of(self, member: Member) -> frozenset[str]:
        """The topics that a member wants, those of its regular expression as last resolved."""
        resolved = self.regexes.get(member.subscribed_topic_regex)
        if resolved is None:
            return member.subscribed_topic_names
        return member.subscribed_topic_names | resolved.topics

    def _replay_member(
        self, member_id: str, value: ConsumerGroupMemberMetadataValue | None
    ) -> None:
        if value is None:
            self._put(member_id, None)
            return
        member = self.members.get(member_id) or Member(member_id=member_id)
        self._put(member_id, with_metadata(member, value))

    def _replay_assignment(
        self, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue | None
    ) -> None:
        member = self.members.get(member_id)
        if value is None:
            if member is not None:
                gone = replace(
                    member, member_epoch=-1, previous_member_epoch=-1, assigned={}, revoking={}
                )
                self._put(member_id, gone)
            return
        member = member or Member(member_id=member_id)
        self._put(member_id, with_assignment(member, value))

    def _put(self, member_id: str, member: Member | None) -> None:
        """Let a member be what it is now, or be gone, in all that is derived from members."""
        before = self.members.get(member_id)
        self._lagging.discard(member_id)
        if before is not None:
            self._forget(before)
        if member is None:
            self.members.pop(member_id, None)
            return
        self.members[member_id] = member
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                for partition in partitions:
                    self._owners[topic_id, partition] = member_id
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member_id
        if member.subscribed_topic_regex:
            count = self.regex_subscribers.get(member.subscribed_topic_regex, 0)
            self.regex_subscribers[member.subscribed_topic_regex] = count + 1
        self.classic_member_count += member.uses_classic_protocol
        if not member.is_reconciled_to(self.assignment_epoch):
            self._lagging.add(member_id)

    def _forget(self, member: Member) -> None:
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                for partition in partitions:
                    # A log that was compacted may show the next owner before the last one's end.
                    if self._owners.get((topic_id, partition)) == member.member_id:
                        del self._owners[topic_id, partition]
        instance_id = member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]
        regex = member.subscribed_topic_regex
        if regex:
            self.regex_subscribers[regex] -= 1
            if not self.regex_subscribers[regex]:
                del self.regex_subscribers[regex]
        self.classic_member_count -= member.uses_classic_protocol

    def _current_state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        return GroupState.RECONCILING if self._lagging else GroupState.STABLE
