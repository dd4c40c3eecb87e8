"""The simulated schedule, loop and network: time that passes by itself, in an order of its own."""

from __future__ import annotations

import asyncio
import doctest
import time
from types import ModuleType
from typing import Any

import pytest

from headrace.testing import (
    RandomStreams,
    Schedule,
    SimulatedLoop,
    SimulatedNetwork,
    Weather,
    random_streams,
    schedule,
    simulated_loop,
)
from headrace.testing.simulated_network import Served, ServerConnection
from headrace.wire.messages.api_versions import ApiVersionsRequest


@pytest.mark.parametrize("module", [random_streams, schedule, simulated_loop])
def test_examples(module: ModuleType) -> None:
    """What the docstrings show."""
    assert doctest.testmod(module) == (0, doctest.testmod(module).attempted)


def run(events: Schedule, until_ms: int = 10_000_000) -> None:
    while events.step(until_ms):
        pass


def test_a_seed_decides_everything() -> None:
    """Two runs of a seed have the same digest, another seed has another."""

    def digest(seed: int) -> str:
        events, streams = Schedule(seed), RandomStreams(seed)
        for number in range(20):
            events.after(streams.of("delay").randrange(100), f"event {number}", lambda: None)
        run(events)
        return events.digest

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_a_loop_can_be_stopped_and_go_on() -> None:
    """SIGSTOP: nothing happens until it goes on, and hours of it take no time."""
    events = Schedule(1)
    loop = SimulatedLoop("b1", events)
    told: list[float] = []

    async def story() -> None:
        while True:
            await asyncio.sleep(600)
            told.append(loop.time())

    began = time.monotonic()
    with loop.running():
        loop.create_task(story(), name="Task-1")
    run(events, 1_000_000)
    loop.stop()
    events.after(4_000_000, "time passes", lambda: None)
    run(events, 5_000_000)
    assert told == [600.0]
    loop.go_on()
    run(events, 7_000_000)
    assert told == [600.0, 4_600.0, 5_200.0, 5_800.0, 6_400.0, 7_000.0]
    loop.end()
    assert time.monotonic() - began < 10


class Node(Served):
    """Keeps what arrives."""

    def __init__(self) -> None:
        self.is_stopped = False
        self.has_died = False
        self.frames: list[bytes] = []
        self.on_frame = self._keep

    def _keep(self, _connection: ServerConnection, frame: bytes) -> None:
        self.frames.append(frame)


def test_a_cut_holds_what_is_sent_into_it() -> None:
    """As TCP does: it arrives when the cut is mended. A node that goes breaks its connections."""
    events = Schedule(1)
    network = SimulatedNetwork(events, RandomStreams(1), Weather())
    node = network.servers["b1"] = Node()
    answers: list[Any] = []
    link = network.connect("c/1", "b1")
    network.cut([("c/1", "b1")])
    network.send(link, ApiVersionsRequest(), 0, None, answers.append)
    run(events)
    assert node.frames == []
    network.heal([("c/1", "b1")])
    run(events)
    assert len(node.frames) == 1
    network.break_node("b1")
    run(events)
    assert answers == [None]
