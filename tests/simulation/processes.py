"""Clients as programs: a generator that sends requests and sleeps, and can be killed at any point.

    response = yield Ask("coordinator", request, version)     None if the connection was lost
    responses = yield [Ask(...), Ask(...)]                    all at once, over their own links
    yield Sleep(200)

Each link is one connection at a time. A request that is not answered in time is given up together
with its connection.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeAlias

from headrace.testing.schedule import Alarm, Schedule
from headrace.types import TopicPartition
from tests.simulation.network import Connection, Network


class Sleep(NamedTuple):
    ms: int


class Ask(NamedTuple):
    """A request; `context` is what the witness is told beside it, `leader_of` says who is asked
    where the request itself does not.
    """

    link: str
    request: Any
    version: int
    timeout_ms: int = 1_500
    context: Any = None
    late: bool = True
    leader_of: TopicPartition | None = None


Wait: TypeAlias = Sleep | Ask | list[Ask]
Life: TypeAlias = Generator[Wait, Any, None]
Steps: TypeAlias = Generator[Wait, Any, Any]
"""A part of a life that comes to a result."""


class Stopped(Exception):
    """The program has found a reason to end itself."""


class Process:
    """One running program."""

    def __init__(self, name: str, network: Network, schedule: Schedule) -> None:
        self.name = name
        self.is_running = True
        self.on_end: Callable[[], None] = lambda: None
        self._network = network
        self._schedule = schedule
        self._links: dict[str, Connection] = {}
        self._life: Life | None = None

    def run(self, life: Life) -> None:
        """Begin; the first step happens now."""
        self._life = life
        self._go_on(None)

    def kill(self) -> None:
        """The program ends without a word."""
        if not self.is_running:
            return
        self.is_running = False
        for connection in self._links.values():
            if connection.is_open:
                self._network.give_up(connection)
        self.on_end()

    def _go_on(self, value: Any) -> None:
        if not self.is_running:
            return
        assert self._life is not None
        try:
            wait = self._life.send(value)
        except (StopIteration, Stopped):
            self.kill()
            return
        if isinstance(wait, Sleep):
            self._schedule.after(wait.ms, f"{self.name} wakes up", lambda: self._go_on(None))
        elif isinstance(wait, Ask):
            self._ask(wait, self._go_on)
        else:
            self._ask_all(wait)

    def _ask_all(self, asks: list[Ask]) -> None:
        answers: list[Any] = [None] * len(asks)
        missing = len(asks)

        def put(index: int, answer: Any) -> None:
            nonlocal missing
            answers[index] = answer
            missing -= 1
            if not missing:
                self._go_on(answers)

        for index, ask in enumerate(asks):
            self._ask(ask, lambda answer, index=index: put(index, answer))  # type: ignore[misc]

    def _ask(self, ask: Ask, on_answer: Callable[[Any], None]) -> None:
        connection = self._links.get(ask.link)
        if connection is None or not connection.is_open:
            connection = self._network.connect(self.name, connection, late=ask.late)
            self._links[ask.link] = connection
        used = connection
        alarm: Alarm | None = None

        def replied(response: Any) -> None:
            if alarm is not None:
                alarm.cancel()
            on_answer(response)

        what = f"{self.name} gives up {type(ask.request).__name__.removesuffix('Request')}"
        alarm = self._schedule.after(ask.timeout_ms, what, lambda: self._network.give_up(used))
        self._network.send(connection, ask.request, ask.version, ask.context, replied)
