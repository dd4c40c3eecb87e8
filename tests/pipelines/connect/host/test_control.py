"""Frames between workers and hosts."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import msgspec
import pytest

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.control import (
    MOST_BYTES,
    Channel,
    FromHost,
    Gone,
    Hello,
    Keep,
    Reported,
)
from headrace.pipelines.connect.state.records import State

Ends = tuple[Channel[FromHost], Channel[FromHost], socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Two ends of a connection, and the socket of the first."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        with one, other:
            yield Channel(one, FromHost), Channel(other, FromHost), one


def test_frames_arrive_as_they_were(ends: Ends) -> None:
    here, there, _ = ends
    task = TaskId("in", 3)
    offsets: list[tuple[dict[str, object], dict[str, object]]] = [
        ({"file": "ü", "n": None}, {"at": 2**63 - 1, "of": 0.1, "in": ["a", True]})
    ]
    frames: list[FromHost] = [Reported(task, State.FAILED, "why"), Keep(7, task, offsets)]
    for frame in frames:
        here.send(frame)
    assert [there.receive(), there.receive()] == frames


def test_the_first_frame_must_be_small(ends: Ends) -> None:
    here, there, _ = ends
    here.send(Hello("x" * 2000))
    with pytest.raises(Gone, match="the most is 1024"):
        there.receive_hello(60)


def test_what_is_no_frame_ends_the_connection(ends: Ends) -> None:
    _, there, raw = ends
    data = msgspec.msgpack.encode({"type": "Nonsense"})
    raw.sendall(len(data).to_bytes(4, "big") + data)
    with pytest.raises(Gone, match="Invalid value"):
        there.receive()


def test_no_frame_is_larger_than_the_limit(ends: Ends) -> None:
    here, there, raw = ends
    with pytest.raises(ValueError, match="takes 16777216"):
        here.send(Reported(TaskId("in", 0), State.FAILED, "x" * MOST_BYTES))
    raw.sendall((MOST_BYTES + 1).to_bytes(4, "big"))
    with pytest.raises(Gone, match="the most is"):
        there.receive()


def test_the_end_of_one_side_is_seen_by_the_other(ends: Ends) -> None:
    here, there, _ = ends
    here.close()
    with pytest.raises(Gone):
        there.receive()
    with pytest.raises(Gone):
        here.send(Hello(""))
