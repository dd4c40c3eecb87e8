"""Several sessions on one memory store: ephemeral nodes, expiry and late watches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.coordination.memory import MemoryStore
from headrace.coordination.tree import (
    Event,
    NodeChange,
    NodeEvent,
    NodeExists,
    SessionEvent,
    SessionLost,
)


def test_sessions_see_each_others_writes() -> None:
    """One store, many sessions: a write of one is read and heard by the others."""
    store = MemoryStore()
    one, two = store.session(), store.session()
    heard: list[Event] = []
    two.watch("/a", heard.append)
    one.create("/a", b"1")
    assert two.get("/a").data == b"1"
    assert heard == [NodeEvent(NodeChange.CREATED, "/a")]


@pytest.mark.spec("book2:J-02", "admin:RC-27")
def test_expiry_removes_ephemeral_nodes_and_tells_the_others() -> None:
    """A dead broker's registration disappears with its session, and watchers hear of it."""
    store = MemoryStore()
    one, two = store.session(), store.session()
    one.create("/brokers", b"")
    one.create("/brokers/1", b"", ephemeral=True)
    two.create("/brokers/2", b"", ephemeral=True)
    heard_by_one: list[Event] = []
    heard_by_two: list[Event] = []
    one.watch("/", heard_by_one.append)
    two.watch("/brokers", heard_by_two.append)
    store.expire_session(one)
    assert two.children("/brokers") == ["2"]
    assert heard_by_two == [
        NodeEvent(NodeChange.DELETED, "/brokers/1"),
        NodeEvent(NodeChange.CHILDREN_CHANGED, "/brokers"),
    ]
    assert heard_by_one[-1] is SessionEvent.LOST
    with pytest.raises(SessionLost):
        one.get("/brokers")
    store.expire_session(one)
    assert len(heard_by_one) == 3


def test_the_first_to_create_wins_and_the_next_takes_over() -> None:
    """Election by an ephemeral node: the loser is refused, and may try again after the death."""
    store = MemoryStore()
    one, two = store.session(), store.session()
    one.create("/controller", b"1", ephemeral=True)
    with pytest.raises(NodeExists):
        two.create("/controller", b"2", ephemeral=True)
    one.close()
    two.create("/controller", b"2", ephemeral=True)
    assert two.get("/controller").data == b"2"


def test_a_simulation_decides_when_watches_fire() -> None:
    """With a schedule of its own, a commit is visible before anybody is told."""
    late: list[Callable[[], None]] = []
    store = MemoryStore(schedule=late.append)
    tree = store.session()
    heard: list[Event] = []
    tree.watch("/", heard.append)
    tree.create("/a", b"")
    assert tree.exists("/a")
    assert heard == []
    for deliver in late:
        deliver()
    assert heard[0] == NodeEvent(NodeChange.CREATED, "/a")
