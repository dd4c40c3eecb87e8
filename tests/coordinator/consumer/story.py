"""Stories of consumer groups: text that says who sends what when, and what comes of it.

A story is run line by line; what is sent and how time passes is taken from it, everything else is
written down as it happens, and the whole must come out as it was written:

    topic orders 3                  there is a topic now, or it has grown; `no topic orders` ends it
    A > join topics=orders          A joins; its member id is its name
    A > heartbeat                   A tells only that it is alive
    A > heartbeat owned             A tells as well that it owns what it was last given
    A < epoch 1 orders:0,1,2        A is answered, with an assignment
    A < epoch 1                     A is answered, and nothing changed
    C > classic-join topics=orders  C speaks the classic protocol
    group Reconciling               the state has changed
    +1000                           a second passes, and every timer that comes due expires
    restart                         the coordinator ends and loads the group from its log

Records are shown if the story is run with `logged`. All requests and answers go through their
bytes, and so do the records. After every step the group is compared with one that is loaded from
the log, and no partition may have two owners.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import ndiff
from enum import Enum
from typing import Any
from uuid import UUID

from headrace.coordinator.effects import AnyReply, Caller, Effects, StateRecord
from headrace.coordinator.group import classic
from headrace.coordinator.group.classic import ClassicGroup, rebalance
from headrace.coordinator.group.consumer import ConsumerGroup, upgrade
from headrace.coordinator.group.consumer.timers import REGEX
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    decode_record,
    encode_record,
)
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.timers import Timers
from headrace.errors import Error
from headrace.wire import decode, encode_bytes
from headrace.wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from headrace.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from headrace.wire.messages.consumer_group_heartbeat import TopicPartitions as Owned
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from headrace.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from headrace.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.coordinator.consumer.shown import Shown, snapshot
from tests.coordinator.known_topics import KnownTopics
from tests.coordinator.tickets import Ticket, opened
from tests.settings import group_settings

START_MS = 1_000_000


class ChangingTopics(KnownTopics):
    """Topics that may grow."""

    def set(self, name: str, partition_count: int) -> None:
        topic_id = self.topic_id(name)
        if topic_id is None:
            self.create(name, partition_count)
        else:
            self.epoch += 1
            self._topics[name] = (topic_id, partition_count)


def check(story: str, *, logged: bool = False, **settings: Any) -> Stage:
    """Run a story and compare."""
    stage = Stage(group_settings(**settings), logged=logged)
    told = [re.sub(r" {2,}#.*$", "", line.strip()) for line in story.splitlines() if line.strip()]
    for line in told:
        if re.match(r"restart$|\+|(no )?topic |\S+ > ", line):
            stage.perform(line)
    difference = "\n".join(ndiff(told, stage.transcript))
    assert stage.transcript == told, f"told (-) and happened (+):\n{difference}"
    return stage


@dataclass(slots=True)
class Client:
    """What one application knows of its membership."""

    name: str
    member_id: str
    epoch: int = 0
    instance_id: str | None = None
    topics: list[str] = field(default_factory=list)
    protocols: list[str] = field(default_factory=lambda: ["range"])
    # What it was last given; it gives up at once what it is not given any more.
    owned: dict[UUID, list[int]] = field(default_factory=dict)


class Stage:
    """A group, its clients, its topics, a clock, and the transcript of what happened."""

    def __init__(self, settings: GroupSettings, *, logged: bool = False) -> None:
        self.settings = settings
        self.logged = logged
        self.now_ms = START_MS
        self.topics = ChangingTopics()
        self.transcript: list[str] = []
        self.clients: dict[str, Client] = {}
        self.log: list[tuple[bytes, bytes | None]] = []
        self.waiting: dict[int, tuple[Client, int]] = {}
        self.shown = Shown(self.topics)
        self._tickets = 0
        self._uuids = 0
        self.timers = Timers()
        self.group: ConsumerGroup | ClassicGroup = self._new_consumer_group(self.timers)
        self._state: Enum = self.group.state

    @property
    def consumer_group(self) -> ConsumerGroup:
        assert isinstance(self.group, ConsumerGroup)
        return self.group

    def _new_consumer_group(self, timers: Timers) -> ConsumerGroup:
        return ConsumerGroup("g", self.settings, timers, self.topics, self._new_uuid)

    def _new_classic_group(self, timers: Timers) -> ClassicGroup:
        return ClassicGroup("g", self.settings, timers, self._new_uuid)

    def _new_uuid(self) -> UUID:
        self._uuids += 1
        return UUID(int=self._uuids)

    # -- what a line asks for --------------------------------------------------------------------

    def perform(self, line: str) -> None:
        self.transcript.append(line)
        words = line.split(" ")
        if line == "restart":
            self.restart()
        elif line.startswith("+"):
            self.advance(int(line[1:]))
        elif words[0] == "topic":
            self.set_topic(words[1], int(words[2]))
        elif words[0] == "no":
            self.topics.delete(words[2])
            self._tell_topics()
        else:
            name, _, verb, *rest = words
            client = self.clients.setdefault(name, Client(name, name))
            self.send(client, verb, rest)

    def set_topic(self, name: str, partition_count: int) -> None:
        self.topics.set(name, partition_count)
        self._tell_topics()

    def _tell_topics(self) -> None:
        if isinstance(self.group, ConsumerGroup):
            self.apply(self.group.on_topics_changed(self.now_ms))

    def advance(self, by_ms: int) -> None:
        end_ms = self.now_ms + by_ms
        while (wake_ms := self.timers.next_wake_ms()) is not None and wake_ms <= end_ms:
            self.now_ms = max(self.now_ms, wake_ms)
            self._run_timers()
        self.now_ms = end_ms

    def _run_timers(self) -> None:
        for key in self.timers.due(self.now_ms):
            self.apply(self.group.on_timer(key, self.now_ms))  # type: ignore[arg-type]

    def restart(self) -> None:
        """Another coordinator takes over with nothing but the log."""
        self.timers = Timers()
        self.group = self._loaded(self.timers)
        self.group.on_loaded(self.now_ms)
        self._note_state()

    def send(self, client: Client, verb: str, words: list[str]) -> None:
        said = dict(word.split("=", 1) for word in words if "=" in word)
        bare = {word for word in words if "=" not in word}
        for part in filter(None, said.pop("assign", "").split(";")):
            name, _, partitions = part.partition("/")
            said[f"for {self.clients[name].member_id}"] = partitions
        request, version = REQUESTS[verb](client, said, bare)
        request = decode(type(request), version, encode_bytes(request, version))
        self._tickets += 1
        self.waiting[self._tickets] = (client, version)
        caller: Caller[Any] = Caller(Ticket(self._tickets), client.name, "/127.0.0.1", version)
        self.apply(self._handle(request, caller))
        self._run_timers()

    def _handle(self, request: Any, caller: Caller[Any]) -> Effects[Any, Any]:
        group, now_ms = self.group, self.now_ms
        if (
            isinstance(request, JoinGroupRequest)
            and isinstance(group, ConsumerGroup)
            and group.is_empty  # nobody minds of which kind it is
        ):
            tombstones = [] if group.is_unknown else group.build_tombstones()
            self.apply(Effects(records=tombstones))
            self.group = group = self._new_classic_group(self.timers)
        if isinstance(group, ClassicGroup):
            match request:
                case ConsumerGroupHeartbeatRequest():
                    upgraded = self._new_consumer_group(self.timers)
                    effects = upgrade(group, upgraded, request, caller, now_ms)
                    self.group = upgraded if effects.records else group
                    return effects
                case JoinGroupRequest():
                    return classic.handle_join(group, request, caller, now_ms)
                case SyncGroupRequest():
                    return classic.handle_sync(group, request, caller, now_ms)
                case HeartbeatRequest():
                    return classic.handle_heartbeat(group, request, caller, now_ms)
                case _:
                    return classic.handle_leave(group, request, caller, now_ms)
        match request:
            case ConsumerGroupHeartbeatRequest():
                return group.handle_heartbeat(request, caller, now_ms)
            case JoinGroupRequest():
                return group.handle_join(request, caller, now_ms)
            case SyncGroupRequest():
                return group.handle_sync(request, caller, now_ms)
            case HeartbeatRequest():
                return group.handle_classic_heartbeat(request, caller, now_ms)
            case _:
                return group.handle_leave(request, caller, now_ms)

    # -- what comes of it ------------------------------------------------------------------------

    def apply(self, effects: Effects[Any, Any]) -> None:
        assert not effects.sends
        assert effects.transaction is None
        for record in effects.records:
            self.log.append(encode_record(record))
            assert decode_record(*self.log[-1]) == record
            if self.logged:
                self.transcript.append(f"log {self.shown.record(record)}")
            self._replay(record)
        self._note_state()
        for reply in effects.replies:
            self._answer(reply)
        self._check()

    def write(self, records: list[StateRecord[Any, Any]]) -> None:
        """Let records be in the log, whoever wrote them."""
        self.apply(Effects(records=records))

    def _replay(self, record: StateRecord[Any, Any]) -> None:
        ended = self.group
        if not isinstance(record.key, GroupMetadataKey):
            self.consumer_group.replay(record)
        elif isinstance(ended, ClassicGroup):
            ended.replay_metadata(record.value, self.now_ms)
        elif record.value is not None:
            assert ended.downgrade is not None
            successor = self._new_classic_group(self.timers)
            successor.replay_metadata(record.value, self.now_ms)
            for member_id, protocols in ended.downgrade.protocols.items():
                successor.set_protocols(successor.members[member_id], protocols)
            successor.on_loaded(self.now_ms)
            self.group = successor
            if ended.downgrade.rebalance_reason is not None:
                effects: GroupEffects = Effects()
                reason = ended.downgrade.rebalance_reason
                rebalance.prepare_rebalance(successor, self.now_ms, effects, reason)
                assert effects == Effects(notes=effects.notes), effects

    def _loaded(self, timers: Timers) -> ConsumerGroup | ClassicGroup:
        group: ConsumerGroup | ClassicGroup = self._new_consumer_group(timers)
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            if not isinstance(record.key, GroupMetadataKey):
                if isinstance(group, ClassicGroup):
                    group = self._new_consumer_group(timers)
                group.replay(record)
            elif record.value is None:
                group = self._new_consumer_group(timers)
            else:
                assert isinstance(record.value, GroupMetadataValue)
                group = self._new_classic_group(timers)
                group.replay_metadata(record.value, self.now_ms)
        return group

    def _check(self) -> None:
        """What must be true after every step."""
        if isinstance(self.group, ClassicGroup):
            return
        loaded = self._loaded(Timers())
        assert isinstance(loaded, ConsumerGroup)
        assert snapshot(self.group) == snapshot(loaded), "the log is not the state"
        for key in self.timers._deadlines:
            assert isinstance(key, tuple)
            assert key[0] == REGEX or key[2] in self.group.members, f"{key} is for nobody"
        owners: dict[tuple[UUID, int], str] = {}
        for member in self.group.members.values():
            for owned in (member.assigned, member.revoking):
                for topic_id, partitions in owned.items():
                    for partition in partitions:
                        other = owners.setdefault((topic_id, partition), member.member_id)
                        assert other == member.member_id, "a partition has two owners"

    def _note_state(self) -> None:
        if self.group.state is not self._state:
            self._state = self.group.state
            kind = "classic group" if isinstance(self.group, ClassicGroup) else "group"
            self.transcript.append(f"{kind} {self._state.value}")

    def _answer(self, reply: AnyReply) -> None:
        ticket, told = opened(reply)
        client, version = self.waiting.pop(ticket)
        response = decode(type(told), version, encode_bytes(told, version))
        self.learn(client, response)
        self.transcript.append(f"{client.name} < {self.shown.response(response)}")

    def learn(self, client: Client, response: object) -> None:
        match response:
            case ConsumerGroupHeartbeatResponse(error_code=Error.NONE):
                client.member_id = response.member_id or ""
                client.epoch = response.member_epoch
                if response.assignment is not None:
                    parts = response.assignment.topic_partitions
                    client.owned = {part.topic_id: part.partitions for part in parts}
            case JoinGroupResponse(error_code=Error.NONE):
                client.member_id = response.member_id
                client.epoch = response.generation_id
            case JoinGroupResponse(error_code=Error.MEMBER_ID_REQUIRED):
                client.member_id = response.member_id
                self.shown.names[response.member_id] = client.name
            case SyncGroupResponse(error_code=Error.NONE):
                assignment = decode_assignment(response.assignment)
                client.owned = {
                    topic_id: each.partitions
                    for each in assignment.assigned_partitions
                    if (topic_id := self.topics.topic_id(each.topic)) is not None
                }
            case LeaveGroupResponse() | HeartbeatResponse():
                pass


# -- requests --------------------------------------------------------------------------------


def _consumer(client: Client, said: dict[str, str], bare: set[str]) -> tuple[Any, int]:
    version = next((int(word[1:]) for word in bare if re.fullmatch(r"v\d", word)), 1)
    client.instance_id = said.get("instance", client.instance_id)
    if "topics" in said:
        client.topics = list(filter(None, said["topics"].split(",")))
    owned = None
    if "owned" in bare:
        owned = [Owned(topic_id=each, partitions=of) for each, of in client.owned.items()]
    return (
        ConsumerGroupHeartbeatRequest(
            group_id=said.get("group", "g"),
            member_id=said.get("as", client.member_id),
            member_epoch=int(said.get("epoch", client.epoch)),
            instance_id=client.instance_id,
            rack_id=said.get("rack"),
            rebalance_timeout_ms=int(said.get("rebalance", "-1")),
            subscribed_topic_names=client.topics if "topics" in said else None,
            subscribed_topic_regex=said.get("regex"),
            server_assignor=said.get("assignor"),
            topic_partitions=owned,
        ),
        version,
    )


def _join(client: Client, said: dict[str, str], bare: set[str]) -> tuple[Any, int]:
    client.owned = {}
    return _consumer(client, {"epoch": "0", "rebalance": "60000", **said}, bare | {"owned"})


def _leave(client: Client, said: dict[str, str], bare: set[str]) -> tuple[Any, int]:
    epoch = "-2" if "static" in bare else "-1"
    return _consumer(client, {"epoch": epoch, **said}, bare)


def _classic_join(client: Client, said: dict[str, str], bare: set[str]) -> tuple[Any, int]:
    client.instance_id = said.get("instance", client.instance_id)
    if "topics" in said:
        client.topics = list(filter(None, said["topics"].split(",")))
    if "protocols" in said:
        client.protocols = said["protocols"].split(",")
    metadata = encode_subscription(
        ConsumerProtocolSubscription(
            topics=client.topics, owned_partitions=_partitions(said.get("owns", ""))
        ),
        1,
    )
    if "garbage" in bare:
        metadata = b"\0"
    return (
        JoinGroupRequest(
            group_id="g",
            session_timeout_ms=int(said.get("session", "10000")),
            rebalance_timeout_ms=int(said.get("rebalance", "60000")),
            member_id="" if "new" in bare else said.get("as", client.member_id),
            group_instance_id=client.instance_id,
            protocol_type=said.get("type", "consumer"),
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=metadata) for name in client.protocols
            ],
        ),
        9,
    )


def _classic_sync(client: Client, said: dict[str, str], bare: set[str]) -> tuple[Any, int]:
    assignments = [
        SyncGroupRequestAssignment(
            member_id=key.removeprefix("for "),
            assignment=encode_assignment(
                ConsumerProtocolAssignment(assigned_partitions=_partitions(partitions)), 1
            ),
        )
        for key, partitions in said.items()
        if key.startswith("for ")
    ]
    return (
        SyncGroupRequest(
            group_id="g",
            generation_id=int(said.get("epoch", client.epoch)),
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            protocol_type=said.get("type", "consumer"),
            protocol_name=said.get("protocol", client.protocols[0]),
            assignments=assignments,
        ),
        5,
    )


def _partitions(text: str) -> list[TopicPartitions]:
    """`orders:0,1+logs:2`, or nothing."""
    parts = (part.partition(":") for part in filter(None, text.split("+")))
    return [
        TopicPartitions(topic=topic, partitions=[int(each) for each in numbers.split(",")])
        for topic, _, numbers in parts
    ]


def _classic_heartbeat(client: Client, said: dict[str, str], bare: set[str]) -> tuple[Any, int]:
    return (
        HeartbeatRequest(
            group_id="g",
            generation_id=int(said.get("epoch", client.epoch)),
            member_id=client.member_id,
            group_instance_id=client.instance_id,
        ),
        4,
    )


def _classic_leave(client: Client, said: dict[str, str], bare: set[str]) -> tuple[Any, int]:
    if "v2" in bare:
        return LeaveGroupRequest(group_id="g", member_id=client.member_id), 2
    identity = MemberIdentity(
        member_id=said.get("as", client.member_id),
        group_instance_id=said.get("instance", client.instance_id),
    )
    return LeaveGroupRequest(group_id="g", members=[identity]), 5


REQUESTS = {
    "join": _join,
    "heartbeat": _consumer,
    "leave": _leave,
    "classic-join": _classic_join,
    "classic-sync": _classic_sync,
    "classic-heartbeat": _classic_heartbeat,
    "classic-leave": _classic_leave,
}
