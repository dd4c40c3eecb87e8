"""Members of groups, as clients: the classic protocol with eager assignment, and KIP-848.

A member knows what it was told, as a real consumer does: its id, its generation or epoch, and what
it owns. `owned` is what the program would consume right now; the witness compares that between
members. `maintain` does whatever is due to stay in the group.
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from typing import Final, Protocol
from uuid import UUID

from headrace.errors import Error
from headrace.testing.schedule import Schedule
from headrace.types import TopicPartition, uuid_to_text
from headrace.wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from headrace.wire.messages import consumer_group_heartbeat as modern
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.simulation.catalogue import Catalogue
from tests.simulation.processes import Ask, Sleep, Steps, Stopped

COORDINATOR: Final = "coordinator"
SESSION_TIMEOUT_MS: Final = 2_500
REBALANCE_TIMEOUT_MS: Final = 2_000
HEARTBEAT_MS: Final = 600
_PAUSE_MS: Final = 120
_PATIENCE_MS: Final = REBALANCE_TIMEOUT_MS + 2_000
_JOIN_VERSIONS: Final = (3, 5, 7, 9)


class Member(Protocol):
    """What an application needs of its membership."""

    group_id: str
    member_id: str
    instance_id: str | None
    number: int
    owned: set[TopicPartition]
    positions: dict[TopicPartition, int]

    @property
    def is_modern(self) -> bool: ...

    @property
    def claims(self) -> Set[Hashable]:
        """What it owns, under names that mean the same to all members."""

    def maintain(self) -> Steps: ...

    def on_error(self, error: int) -> None: ...

    def leave(self) -> Steps: ...


class ClassicMember:
    """A member of the classic protocol: joins, syncs, heartbeats; whoever leads assigns.

    In a group that may become one of the consumer protocol it does not bear late repeats either.
    """

    is_modern = False

    def __init__(
        self,
        group_id: str,
        topics: list[str],
        instance_id: str | None,
        catalogue: Catalogue,
        schedule: Schedule,
        *,
        late: bool,
    ) -> None:
        self.group_id = group_id
        self.member_id = ""
        self.instance_id = instance_id
        self.number = -1
        self.owned: set[TopicPartition] = set()
        self.positions: dict[TopicPartition, int] = {}  # where to read on in what it owns
        self._held: set[tuple[UUID | None, int]] = set()  # `owned` by topic id
        self._late = late
        self._topics = topics
        self._catalogue = catalogue
        self._schedule = schedule
        self._version = schedule.rng.choice(_JOIN_VERSIONS)
        if instance_id is not None:
            self._version = max(self._version, 5)
        self._is_in = False
        self._led_sizes: list[int] | None = None  # of the topics, when it last led the group
        self._next_heartbeat_ms = 0

    @property
    def claims(self) -> Set[Hashable]:
        return self._held

    def maintain(self) -> Steps:
        """Join if it is not in the group, otherwise send a heartbeat if one is due."""
        if self._led_sizes is not None and self._led_sizes != self._sizes():
            self._give_up()  # the leader looks after topics that change
        if not self._is_in:
            yield from self._join()
            return
        if self._schedule.now_ms < self._next_heartbeat_ms:
            return
        self._next_heartbeat_ms = self._schedule.now_ms + HEARTBEAT_MS
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.number,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        response = yield Ask(COORDINATOR, request, 4, late=self._late)
        if response is not None:
            self.on_error(response.error_code)

    def on_error(self, error: int) -> None:
        """Learn from the error of a heartbeat or a commit whether this is still a member."""
        if error == Error.FENCED_INSTANCE_ID:
            self._give_up()
            raise Stopped
        if error == Error.UNKNOWN_MEMBER_ID:
            self.member_id = ""
            self._give_up()
        elif error in (Error.REBALANCE_IN_PROGRESS, Error.ILLEGAL_GENERATION):
            self._give_up()

    def _give_up(self) -> None:
        self.owned = set()
        self._held = set()
        self.positions.clear()
        self._is_in = False

    def _join(self) -> Steps:
        response = yield from self._ask_to_join()
        if response is None:
            yield Sleep(_PAUSE_MS)
            return
        self.number = response.generation_id
        assignments: list[SyncGroupRequestAssignment] = []
        self._led_sizes = None
        if response.leader == response.member_id:
            self._led_sizes = self._sizes()
            if not response.skip_assignment:
                assignments = self._assign(response.members)
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.number,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=response.protocol_type,
            protocol_name=response.protocol_name,
            assignments=assignments,
        )
        version = 5 if self._version >= 7 else 3
        synced = yield Ask(COORDINATOR, request, version, _PATIENCE_MS, late=self._late)
        if synced is None or synced.error_code:
            if synced is not None:
                self.on_error(synced.error_code)
            yield Sleep(_PAUSE_MS)
            return
        self._on_synced(synced)

    def _ask_to_join(self) -> Steps:
        """The answer that lets it into a generation; None if it must try again."""
        self._give_up()
        metadata = encode_subscription(
            ConsumerProtocolSubscription(topics=self._topics, generation_id=self.number), 3
        )
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        response: JoinGroupResponse | None
        response = yield Ask(COORDINATOR, request, self._version, _PATIENCE_MS, late=self._late)
        if response is None:
            return None
        error = response.error_code
        if error == Error.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
        elif error == Error.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        elif error == Error.FENCED_INSTANCE_ID:
            raise Stopped
        elif error == Error.NONE:
            self.member_id = response.member_id
            return response
        return None

    def _sizes(self) -> list[int]:
        return [self._catalogue.partition_count(topic) for topic in self._topics]

    def _assign(self, members: list[JoinGroupResponseMember]) -> list[SyncGroupRequestAssignment]:
        """Deal out the partitions of all topics, each among those who want it."""
        wanted = {
            each.member_id: decode_subscription(each.metadata).topics
            for each in sorted(members, key=lambda member: member.member_id)
        }
        dealt: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in wanted}
        for topic in sorted({topic for topics in wanted.values() for topic in topics}):
            takers = [member_id for member_id, topics in wanted.items() if topic in topics]
            for _, index in self._catalogue.partitions(topic):
                taker = takers[index % len(takers)]
                dealt[taker].setdefault(topic, []).append(index)
        return [
            SyncGroupRequestAssignment(member_id=member_id, assignment=_encoded(topics))
            for member_id, topics in dealt.items()
        ]

    def _on_synced(self, response: SyncGroupResponse) -> None:
        self._is_in = True
        self._next_heartbeat_ms = self._schedule.now_ms + HEARTBEAT_MS
        if response.assignment:
            assignment = decode_assignment(response.assignment)
            self.owned = {
                TopicPartition(each.topic, index)
                for each in assignment.assigned_partitions
                for index in each.partitions
            }
            self._held = {(self._catalogue.topic_id(topic), index) for topic, index in self.owned}

    def leave(self) -> Steps:
        """Tell the group; a static member keeps its place instead."""
        if self.instance_id is not None or not self.member_id:
            return
        self._give_up()
        identity = MemberIdentity(member_id=self.member_id)
        request = LeaveGroupRequest(group_id=self.group_id, members=[identity])
        yield Ask(COORDINATOR, request, 5, late=self._late)


def _encoded(topics: dict[str, list[int]]) -> bytes:
    assigned = [
        TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in topics.items()
    ]
    return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=assigned), 3)


class ModernMember:
    """A member of the consumer protocol (KIP-848): heartbeats only; the broker assigns."""

    is_modern = True

    def __init__(
        self,
        group_id: str,
        topics: list[str],
        instance_id: str | None,
        catalogue: Catalogue,
        schedule: Schedule,
    ) -> None:
        self.group_id = group_id
        self.member_id = uuid_to_text(UUID(int=schedule.rng.getrandbits(128), version=4))
        self.instance_id = instance_id
        self.number = 0
        self.owned: set[TopicPartition] = set()
        self.positions: dict[TopicPartition, int] = {}  # where to read on in what it owns
        self._held: set[tuple[UUID, int]] = set()  # `owned` by topic id
        self._topics = topics
        self._catalogue = catalogue
        self._schedule = schedule
        # Some say what they want with a regular expression.
        self._regex = "|".join(topics) if schedule.rng.random() < 0.2 else None
        self._must_tell_all = True
        self._must_tell_owned = False
        self._next_heartbeat_ms = 0

    @property
    def claims(self) -> Set[Hashable]:
        return self._held

    def maintain(self) -> Steps:
        """Send a heartbeat if one is due: at once if there is something to tell."""
        now_ms = self._schedule.now_ms
        if now_ms < self._next_heartbeat_ms and not self._must_tell_owned:
            return
        self._next_heartbeat_ms = now_ms + HEARTBEAT_MS
        tells_all = self._must_tell_all or self.number == 0
        tells_owned = tells_all or self._must_tell_owned
        request = modern.ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.number,
            instance_id=self.instance_id,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if tells_all else -1,
            subscribed_topic_names=self._topics if tells_all and self._regex is None else None,
            subscribed_topic_regex=self._regex if tells_all else None,
            topic_partitions=self._owned_by_id() if tells_owned else None,
        )
        self._must_tell_all = self._must_tell_owned = False
        response = yield Ask(COORDINATOR, request, 1, late=False)
        if response is None:
            self._must_tell_all = True
        elif response.error_code:
            yield from self._on_refused(response.error_code)
        else:
            self._on_answered(response)

    def _owned_by_id(self) -> list[modern.TopicPartitions]:
        by_id: dict[UUID, list[int]] = {}
        for topic_id, index in sorted(self._held):
            by_id.setdefault(topic_id, []).append(index)
        return [
            modern.TopicPartitions(topic_id=topic_id, partitions=indexes)
            for topic_id, indexes in by_id.items()
        ]

    def _on_answered(self, response: modern.ConsumerGroupHeartbeatResponse) -> None:
        self.number = response.member_epoch
        if response.assignment is None:
            return
        target = {
            (each.topic_id, index)
            for each in response.assignment.topic_partitions
            for index in each.partitions
        }
        if target != self._held:
            self._hold(target)
            self._must_tell_owned = True

    def _hold(self, target: set[tuple[UUID, int]]) -> None:
        self._held = target
        names = ((self._catalogue.topic_name(topic_id), index) for topic_id, index in target)
        self.owned = {TopicPartition(name, index) for name, index in names if name is not None}
        self.positions = {
            where: offset for where, offset in self.positions.items() if where in self.owned
        }

    def _on_refused(self, error: int) -> Steps:
        if error == Error.FENCED_INSTANCE_ID:
            self._hold(set())
            raise Stopped
        if error in (
            Error.FENCED_MEMBER_EPOCH,
            Error.UNKNOWN_MEMBER_ID,
            Error.GROUP_ID_NOT_FOUND,
        ):
            self._hold(set())
            self.number = 0
            self._next_heartbeat_ms = 0
        self._must_tell_all = True
        yield Sleep(_PAUSE_MS)

    def on_error(self, error: int) -> None:
        """A commit was refused; the next heartbeat finds out why."""
        if error == Error.FENCED_INSTANCE_ID:
            self._hold(set())
            raise Stopped
        if error in (Error.UNKNOWN_MEMBER_ID, Error.STALE_MEMBER_EPOCH, Error.ILLEGAL_GENERATION):
            self._next_heartbeat_ms = 0

    def leave(self) -> Steps:
        """Tell the group; a static member says that it will be back."""
        self._hold(set())
        request = modern.ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=-1 if self.instance_id is None else -2,
            instance_id=self.instance_id,
        )
        yield Ask(COORDINATOR, request, 1, late=False)
