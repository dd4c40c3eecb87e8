"""Stories of classic groups: text that says who sends what when, and what comes of it.

A story is run line by line; what is sent and how time passes is taken from it, everything else is
written down as it happens, and the whole must come out as it was written:

    A > join v5 session=10000       A sends; what is not said is as in the request before
    A < MEMBER_ID_REQUIRED A#1      A is answered; A#1 is the first member id that A was given
    group PreparingRebalance        the state has changed
    +3000                           three seconds pass, and every timer that comes due expires
    log generation 1 range A#1=x    a record was written
    restart                         the coordinator ends and loads the group from its log

Each client remembers what it was told, as a real one does. All requests and answers go through
their bytes, and so do the records; a ticket that is answered twice, or never, fails the story.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import ndiff
from typing import Any
from uuid import UUID

from headrace.coordinator.effects import AnyReply, Caller, Effects
from headrace.coordinator.group import classic
from headrace.coordinator.group.classic import ClassicGroup
from headrace.coordinator.group.records import GroupMetadataValue, decode_record, encode_record
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.timers import Timers
from headrace.errors import ClientFault, Error
from headrace.wire import decode, encode_bytes
from headrace.wire.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from headrace.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from headrace.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.coordinator.tickets import Ticket, opened
from tests.settings import group_settings

HANDLERS = {
    JoinGroupRequest: (classic.handle_join, 9),
    SyncGroupRequest: (classic.handle_sync, 5),
    HeartbeatRequest: (classic.handle_heartbeat, 4),
    LeaveGroupRequest: (classic.handle_leave, 5),
}

# Two members in a generation that its leader has not assigned work in yet, and one where it has.
PAIR = """
    A > join v3
    log generation 0 None
    group PreparingRebalance
    B > join v3
    +3000
    +3000
    group CompletingRebalance
    A < generation 1 range leader A#1 as A#1 of A#1 B#1
    B < generation 1 range leader A#1 as B#1
"""
STABLE_PAIR = (
    PAIR
    + """
    A > sync A#1=half B#1=rest
    log generation 1 range A#1=half B#1=rest
    group Stable
    A < assigned half
    B > sync
    B < assigned rest
"""
)


def check(story: str, settings: GroupSettings | None = None) -> Stage:
    """Run a story and compare."""
    stage = Stage(settings or group_settings())
    told = [re.sub(r" {2,}#.*$", "", line.strip()) for line in story.splitlines() if line.strip()]
    for line in told:
        if line == "restart" or line.startswith("+") or " > " in line:
            stage.perform(line)
    difference = "\n".join(ndiff(told, stage.transcript))
    assert stage.transcript == told, f"told (-) and happened (+):\n{difference}"
    return stage


@dataclass(slots=True)
class Client:
    """What one application knows of its membership."""

    name: str
    version: int = 9
    member_id: str = ""
    instance_id: str | None = None
    generation_id: int = -1
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 60_000
    protocol_type: str = "consumer"
    protocol_name: str | None = None
    protocols: list[tuple[str, bytes]] = field(default_factory=lambda: [("range", b"")])
    led: list[str] = field(default_factory=list)  # the members that it is to assign work to

    def learn(self, response: object) -> None:
        if isinstance(response, JoinGroupResponse):
            if response.error_code == Error.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
            elif response.error_code == Error.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            elif response.error_code == Error.NONE:
                self.member_id = response.member_id
                self.generation_id = response.generation_id
                self.protocol_name = response.protocol_name


class Stage:
    """A group, its clients, a clock, and the transcript of what happened."""

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.now_ms = 0
        self.transcript: list[str] = []
        self.clients: dict[str, Client] = {}
        self.log: list[tuple[bytes, bytes | None]] = []
        self.waiting: dict[int, tuple[Client, int]] = {}
        self._tickets = 0
        self._uuids = 0
        self._ids: dict[str, str] = {}
        self._begin()

    def _begin(self) -> None:
        self.timers = Timers()
        self.group = ClassicGroup("g", self.settings, self.timers, self._new_uuid)
        self._state = self.group.state

    def _new_uuid(self) -> UUID:
        self._uuids += 1
        return UUID(int=self._uuids)

    # -- what a line asks for --------------------------------------------------------------------

    def perform(self, line: str) -> None:
        self.transcript.append(line)
        if line == "restart":
            self._restart()
        elif line.startswith("+"):
            self.advance(int(line[1:]))
        else:
            name, _, action = line.partition(" > ")
            client = self.clients.setdefault(name, Client(name))
            verb, *words = action.split(" ")
            if verb == "commit":
                self._commit(client, words)
            else:
                self.send(client, verb, words)

    def advance(self, by_ms: int) -> None:
        end_ms = self.now_ms + by_ms
        while (wake_ms := self.timers.next_wake_ms()) is not None and wake_ms <= end_ms:
            self.now_ms = max(self.now_ms, wake_ms)
            for key in self.timers.due(self.now_ms):
                self._apply(self.group.on_timer(key, self.now_ms))
        self.now_ms = end_ms

    def send(self, client: Client, verb: str, words: list[str]) -> int:
        version, request = self._request(client, verb, words)
        handler, newest = HANDLERS[type(request)]
        version = min(version, newest)
        request = decode(type(request), version, encode_bytes(request, version))
        self._tickets += 1
        self.waiting[self._tickets] = (client, version)
        caller: Caller[Any] = Caller(Ticket(self._tickets), client.name, "/127.0.0.1", version)
        self._apply(handler(self.group, request, caller, self.now_ms))  # type: ignore[operator]
        return self._tickets

    def _commit(self, client: Client, words: list[str]) -> None:
        said = dict(word.split("=") for word in words)
        try:
            classic.check_offset_commit(
                self.group,
                self._id(said.get("as", client.member_id)),
                client.instance_id,
                int(said.get("generation", client.generation_id)),
                is_transactional="transactional" in said,
                now_ms=self.now_ms,
            )
        except ClientFault as fault:
            self.transcript.append(f"{client.name} < {fault.error.name}")
        else:
            self.transcript.append(f"{client.name} < committed")

    def _restart(self) -> None:
        for reply in self.group.abandon(Error.NOT_COORDINATOR):
            self.answer(reply)
        self._begin()
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            assert isinstance(record.value, GroupMetadataValue)
            self.group.replay_metadata(record.value, self.now_ms)
        self.group.on_loaded(self.now_ms)
        self._note_state()

    # -- requests ----------------------------------------------------------------------------

    def _request(self, client: Client, verb: str, words: list[str]) -> tuple[int, Any]:
        said: dict[str, str] = {}
        listed: list[str] = []
        version = client.version
        for word in words:
            if re.fullmatch(r"v\d", word):
                version = int(word[1:])
            elif "=" in word:
                key, _, value = word.partition("=")
                said[key] = value
            else:
                listed.append(word)
        member_id = self._id(said.pop("as", client.member_id))
        generation_id = int(said.pop("generation", client.generation_id))
        if verb == "join":
            client.version = version
            return version, _join(client, member_id, said)
        if verb == "sync":
            return version, _sync(
                client, member_id, generation_id, said, {self._id(key): key for key in said}
            )
        if verb == "heartbeat":
            return version, HeartbeatRequest(
                group_id="g",
                generation_id=generation_id,
                member_id=member_id,
                group_instance_id=client.instance_id if version >= 3 else None,
            )
        assert verb == "leave", verb
        if version < 3:
            return version, LeaveGroupRequest(group_id="g", member_id=member_id)
        identities = [MemberIdentity(member_id=self._id(word)) for word in listed]
        instances = filter(None, said.pop("instances", "").split(","))
        identities += [MemberIdentity(member_id="", group_instance_id=i) for i in instances]
        if not identities:
            identities = [MemberIdentity(member_id=member_id, group_instance_id=client.instance_id)]
        return version, LeaveGroupRequest(group_id="g", members=identities)

    def _id(self, word: str) -> str:
        """The member id behind `A#2`; anything else stands for itself, and `-` for no id."""
        if word == "-":
            return ""
        return next((id_ for id_, name in self._ids.items() if name == word), word)

    def shown(self, member_id: str) -> str:
        """A#2 for the second id that A got; ids are shown in the order in which they appear."""
        stem = member_id[:-37]
        if stem and member_id not in self._ids:
            count = sum(name.startswith(f"{stem}#") for name in self._ids.values())
            self._ids[member_id] = f"{stem}#{count + 1}"
        return self._ids.get(member_id, "?")

    # -- what comes of it ------------------------------------------------------------------------

    def _apply(self, effects: Effects[Any, Any]) -> None:
        assert not effects.sends
        assert effects.transaction is None
        for member_id in (*self.group.members, *self.group.pending_members):
            self.shown(member_id)
        for record in effects.records:
            self.log.append(encode_record(record))
            assert decode_record(*self.log[-1]) == record
            assert isinstance(record.value, GroupMetadataValue)
            self.transcript.append(self._show_record(record.value))
            self.group.replay_metadata(record.value, self.now_ms)
        self._note_state()
        for reply in effects.replies:
            self.answer(reply)
        parked: set[object] = {
            caller.ticket
            for member in self.group.members.values()
            for caller in (member.parked_join, member.parked_sync)
            if caller is not None
        }
        assert parked == set(self.waiting), "a request is lost, or waits for ever"

    def _note_state(self) -> None:
        if self.group.state is not self._state:
            self._state = self.group.state
            self.transcript.append(f"group {self._state.value}")

    def answer(self, reply: AnyReply) -> None:
        ticket, told = opened(reply)
        client, version = self.waiting.pop(ticket)
        response = decode(type(told), version, encode_bytes(told, version))
        client.learn(response)
        self.transcript.append(f"{client.name} < {self._show(response)}")

    def _show(self, response: object) -> str:
        match response:
            case JoinGroupResponse(error_code=Error.NONE):
                text = f"generation {response.generation_id} {response.protocol_name}"
                text += f" leader {self.shown(response.leader)} as {self.shown(response.member_id)}"
                if response.members:
                    text += " of " + " ".join(self.shown(m.member_id) for m in response.members)
                return text + (" without assigning" if response.skip_assignment else "")
            case JoinGroupResponse():
                id_ = f" {self.shown(response.member_id)}" if response.member_id else ""
                return Error(response.error_code).name + id_
            case SyncGroupResponse(error_code=Error.NONE):
                return f"assigned {response.assignment.decode() or 'nothing'}"
            case LeaveGroupResponse(error_code=Error.NONE):
                return "left" + ",".join(map(self._show_leaver, response.members))
            case SyncGroupResponse() | HeartbeatResponse() | LeaveGroupResponse():
                return "alive" if not response.error_code else Error(response.error_code).name
        raise AssertionError(response)

    def _show_leaver(self, leaver: MemberResponse) -> str:
        error = f" {Error(leaver.error_code).name}" if leaver.error_code else ""
        return f" {leaver.group_instance_id or self.shown(leaver.member_id)}{error}"

    def _show_record(self, value: GroupMetadataValue) -> str:
        members = "".join(
            f" {self.shown(member.member_id)}={member.assignment.decode()}"
            for member in value.members
        )
        return f"log generation {value.generation} {value.protocol}{members}"


def _join(client: Client, member_id: str, said: dict[str, str]) -> JoinGroupRequest:
    client.instance_id = said.get("instance", client.instance_id)
    client.session_timeout_ms = int(said.get("session", client.session_timeout_ms))
    client.rebalance_timeout_ms = int(said.get("rebalance", client.rebalance_timeout_ms))
    client.protocol_type = said.get("type", client.protocol_type)
    if "protocols" in said:
        pairs = [item.partition(":") for item in filter(None, said["protocols"].split(","))]
        client.protocols = [(name, metadata.encode()) for name, _, metadata in pairs]
    if "topics" in said:
        metadata = encode_subscription(
            ConsumerProtocolSubscription(topics=said["topics"].split(",")), 1
        )
        client.protocols = [(name, metadata) for name, _ in client.protocols]
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=client.session_timeout_ms,
        rebalance_timeout_ms=client.rebalance_timeout_ms,
        member_id=member_id,
        group_instance_id=client.instance_id,
        protocol_type=client.protocol_type,
        protocols=[JoinGroupRequestProtocol(name=n, metadata=m) for n, m in client.protocols],
    )


def _sync(
    client: Client,
    member_id: str,
    generation_id: int,
    said: dict[str, str],
    work: dict[str, str],
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id="g",
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=client.instance_id,
        protocol_type=said.get("type", client.protocol_type),
        protocol_name=said.get("protocol", client.protocol_name),
        assignments=[
            SyncGroupRequestAssignment(member_id=id_, assignment=said[key].encode())
            for id_, key in work.items()
            if key not in ("type", "protocol")
        ],
    )
