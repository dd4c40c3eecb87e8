"""Many members of many groups on bare sockets. Run as a process of its own.

Groups are formed a few at a time, because a broker handles the requests of one connection one after
the other and a JoinGroup waits for the other members. Afterwards every member sends heartbeats, all
connections at once, as fast as they are answered. Prints READY when the groups stand, starts at a
line on standard input and prints the seconds of the heartbeats as JSON.

    API           VERSION   USED FOR
    JoinGroup     1         the first member is the leader
    SyncGroup     0         the leader brings empty assignments
    Heartbeat     0         over and over
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks import wire

_JOIN_GROUP, _HEARTBEAT, _SYNC_GROUP = 11, 12, 14
_SESSION_TIMEOUT_MS = 300_000


@dataclass(frozen=True, slots=True)
class GroupLoad:
    """How many groups of how many members, and how often each member sends a heartbeat."""

    host: str
    port: int
    groups: int
    members: int
    at_once: int
    rounds: int
    warmup: int
    prefix: str

    def to_argument(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Member:
    group: str
    member_id: str
    generation: int


class Line:
    """One connection and the members that use it."""

    def __init__(self, load: GroupLoad) -> None:
        self.sock = wire.connect((load.host, load.port))
        self.members: list[Member] = []

    def send(self, api_key: int, version: int, body: bytes) -> None:
        self.sock.sendall(wire.request(api_key, version, body))


def main() -> None:
    load = GroupLoad(**json.loads(sys.argv[1]))
    lines = [[Line(load) for _ in range(load.members)] for _ in range(load.at_once)]
    for first in range(0, load.groups, load.at_once):
        names = [f"{load.prefix}-{number}" for number in range(first, first + load.at_once)]
        _form(names, lines)
    flat = [line for group in lines for line in group]
    _heartbeats(flat, load.warmup)
    print("READY", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    _heartbeats(flat, load.rounds)
    print(json.dumps({"seconds": time.monotonic() - began}), flush=True)


def _form(names: Sequence[str], lines: Sequence[Sequence[Line]]) -> None:
    """Let as many groups come into being at once as there are rows of connections."""
    for name, row in zip(names, lines, strict=True):
        for line in row:
            line.send(_JOIN_GROUP, 1, _join(name))
    for name, row in zip(names, lines, strict=True):
        for line in row:
            line.members.append(_joined(name, wire.read_frame(line.sock)))
    for row in lines:
        for number, line in enumerate(row):
            line.send(_SYNC_GROUP, 0, _sync(line.members[-1], row if number == 0 else ()))
    for row in lines:
        for line in row:
            error = wire.Reader(wire.read_frame(line.sock)).take("h")
            if error:
                sys.exit(f"SyncGroup answered error {error}")


def _join(group: str) -> bytes:
    head = wire.string(group) + struct.pack(">ii", _SESSION_TIMEOUT_MS, _SESSION_TIMEOUT_MS)
    protocols = struct.pack(">i", 1) + wire.string("range") + struct.pack(">i", 0)
    return head + wire.string("") + wire.string("consumer") + protocols


def _joined(group: str, answer: bytes) -> Member:
    reader = wire.Reader(answer)
    error, generation = reader.take("h"), reader.take("i")
    if error:
        sys.exit(f"JoinGroup answered error {error}")
    reader.string(), reader.string()  # protocol, leader
    return Member(group, reader.string(), generation)


def _sync(member: Member, row: Sequence[Line]) -> bytes:
    """The first one to sync brings an assignment for everybody, whoever the leader is."""
    assigned = [wire.string(line.members[-1].member_id) + struct.pack(">i", 0) for line in row]
    head = wire.string(member.group) + struct.pack(">i", member.generation)
    return head + wire.string(member.member_id) + struct.pack(">i", len(row)) + b"".join(assigned)


def _heartbeats(lines: Sequence[Line], rounds: int) -> None:
    """Every connection sends the heartbeats of its members, one under way at a time."""
    with selectors.DefaultSelector() as selector:
        for line in lines:
            frames = [_heartbeat(member) for member in line.members] * rounds
            selector.register(line.sock, selectors.EVENT_READ, iter(frames))
            line.sock.sendall(frames[0])
            next(selector.get_key(line.sock).data)
        while selector.get_map():
            for key, _ in selector.select(30):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if any(wire.read_frame(sock)[4:6]):
                    sys.exit("a heartbeat was answered with an error")
                frame = next(key.data, None)
                if frame is None:
                    selector.unregister(sock)
                else:
                    sock.sendall(frame)


def _heartbeat(member: Member) -> bytes:
    body = wire.string(member.group) + struct.pack(">i", member.generation)
    return wire.request(_HEARTBEAT, 0, body + wire.string(member.member_id))


if __name__ == "__main__":
    main()
