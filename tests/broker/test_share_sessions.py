"""Share sessions: who may open one, in which order it is used, and what its end means."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from headrace.broker.sharing.sessions import SessionName, ShareSession, ShareSessions
from headrace.errors import ClientFault, Error
from headrace.types import SharePartitionKey

ORDERS = UUID(int=1)


class Line:
    """A connection, as far as sessions know it."""

    on_closed: Any = None


class World:
    def __init__(self, capacity: int = 10) -> None:
        self.left: list[tuple[SessionName, bool]] = []
        self.sessions = ShareSessions(
            capacity, lambda name, is_last: self.left.append((name, is_last))
        )

    def open(self, member: str, line: Line | None = None, group: str = "g") -> ShareSession:
        return self.sessions.open(SessionName(group, member), line or Line())  # type: ignore[arg-type]


def test_epochs_are_counted() -> None:
    """Each request must carry the next one; after the largest comes 1."""
    world = World()
    session = world.open("a")
    world.sessions.resume(session.name, 1)
    with pytest.raises(ClientFault) as caught:
        world.sessions.resume(session.name, 1)
    assert caught.value.error is Error.INVALID_SHARE_SESSION_EPOCH
    session.epoch = 0x7FFFFFFF
    world.sessions.resume(session.name, 0x7FFFFFFF)
    assert session.epoch == 1


def test_there_is_room_for_so_many() -> None:
    """`group.share.max.share.sessions`; a member that opens its own anew needs no room."""
    world = World(capacity=2)
    first = world.open("a")
    world.open("b")
    with pytest.raises(ClientFault) as caught:
        world.open("c")
    assert caught.value.error is Error.SHARE_SESSION_LIMIT_REACHED
    assert world.open("a") is not first
    assert len(world.sessions) == 2
    assert world.left == []


def test_a_connection_takes_its_sessions_along() -> None:
    """Members of several groups on one connection; the last of a group is told to be that."""
    world = World()
    line = Line()
    world.open("a", line)
    world.open("b", Line())
    world.open("a", line, group="h")
    line.on_closed()
    assert world.left == [(SessionName("g", "a"), False), (SessionName("h", "a"), True)]
    with pytest.raises(ClientFault) as caught:
        world.sessions.resume(SessionName("g", "a"), 1)
    assert caught.value.error is Error.SHARE_SESSION_NOT_FOUND


def test_an_old_connection_does_not_close_a_new_session() -> None:
    """A member that came back on another connection keeps what it has there."""
    world = World()
    old, new = Line(), Line()
    world.open("a", old)
    session = world.open("a", new)
    if old.on_closed:
        old.on_closed()
    assert world.left == []
    world.sessions.resume(session.name, 1)


def key(index: int) -> SharePartitionKey:
    return SharePartitionKey("g", ORDERS, index)


def test_partitions_take_turns() -> None:
    """Each request begins with another one."""
    session = ShareSession(SessionName("g", "a"), Line())  # type: ignore[arg-type]
    session.update([key(index) for index in range(3)], [])
    firsts = set()
    for epoch in range(1, 4):
        session.epoch = epoch
        firsts.add(session.in_turn()[0])
    assert len(firsts) == 3
    session.update([], [key(0), key(1)])
    assert session.in_turn() == [key(2)]
