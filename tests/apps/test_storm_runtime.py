"""The record-at-a-time runtime without a broker: what is acknowledged, and what comes again."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from examples.storm.acker import Acker
from examples.storm.cluster import StormConfig, Worker
from examples.storm.kafka_spout import SpoutConfig
from examples.storm.topology import Bolt, Message, Topology, Tuple
from examples.storm_word_count import build_topology


@dataclass
class ListSpout:
    """Reads a list; what fails comes again."""

    texts: list[str]
    reliable: bool = True
    fields: tuple[str, ...] = ("str",)
    acked: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    waiting: deque[int] = field(default_factory=deque)
    open_now: int = 0
    most_open: int = 0

    def open(self) -> None:
        self.waiting.extend(range(len(self.texts)))

    def next_message(self) -> Message | None:
        if not self.waiting:
            return None
        number = self.waiting.popleft()
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        return Message((self.texts[number],), number if self.reliable else None)

    def ack(self, message_id: int) -> None:
        self.open_now -= 1
        self.acked.append(message_id)

    def fail(self, message_id: int) -> None:
        self.open_now -= 1
        self.failed.append(message_id)
        self.waiting.append(message_id)

    def deactivate(self) -> None:
        pass

    def close(self) -> None:
        pass


class Collect(Bolt):
    """Keeps what it gets; fails the first attempt at some texts; never answers for others."""

    def __init__(self, fail_once: set[str] | None = None, silent: set[str] | None = None) -> None:
        self.seen: list[str] = []
        self._fail_once = fail_once or set()
        self._silent = silent or set()

    def execute(self, taken: Tuple) -> None:
        text = taken.values[0]
        self.seen.append(text)
        if text in self._silent:
            return
        if text in self._fail_once:
            self._fail_once.discard(text)
            self.collector.fail(taken)
        else:
            self.collector.ack(taken)


class Later(Bolt):
    """Answers for one tuple each time that there is nothing else to do."""

    def __init__(self) -> None:
        self._open: deque[Tuple] = deque()

    def execute(self, taken: Tuple) -> None:
        self._open.append(taken)

    def tick(self) -> None:
        if self._open:
            self.collector.ack(self._open.popleft())


def run(topology: Topology, steps: int = 50, **config: Any) -> None:
    turns = iter(range(steps))
    Worker(topology, StormConfig(**config)).run(lambda: next(turns, None) is None)


def _same(bolt: Bolt) -> Bolt:
    return bolt


def linked(spout: ListSpout, *bolts: Bolt) -> Topology:
    """Every bolt is fed by the spout."""
    topology = Topology()
    topology.set_spout("spout", lambda: spout)
    for number, bolt in enumerate(bolts):
        topology.set_bolt(f"bolt-{number}", partial(_same, bolt)).shuffle_grouping("spout")
    return topology


@pytest.mark.spec("book1:T-06", "book1:T-10")
def test_a_record_is_done_when_every_bolt_has_answered() -> None:
    """One of two bolts fails a record: it comes again, to both."""
    spout, left, right = ListSpout(["a", "b"]), Collect(), Collect(fail_once={"b"})
    run(linked(spout, left, right))
    assert sorted(spout.acked) == [0, 1]
    assert spout.failed == [1]
    assert left.seen == ["a", "b", "b"]
    assert right.seen == ["a", "b", "b"]


@pytest.mark.spec("book1:T-07")
def test_an_unreliable_spout_is_told_nothing() -> None:
    """Without an id a failed record is gone."""
    spout, bolt = ListSpout(["a", "b"], reliable=False), Collect(fail_once={"b"})
    run(linked(spout, bolt))
    assert (spout.acked, spout.failed, bolt.seen) == ([], [], ["a", "b"])


@pytest.mark.spec("book2:A1-29")
def test_a_record_that_nobody_answers_for_comes_again() -> None:
    """After the time-out; this is what a bolt causes that acknowledges only what it passes on."""
    spout, bolt = ListSpout(["a", "b"]), Collect(silent={"b"})
    now = iter(range(1_000))
    run(linked(spout, bolt), monotonic=lambda: float(next(now)), message_timeout_s=5)
    assert spout.acked == [0]
    assert len(spout.failed) > 3
    assert bolt.seen.count("b") > 3


@pytest.mark.spec("book1:T-16")
def test_a_slow_bolt_slows_the_spout() -> None:
    """No more records are taken than may be open, and all of them get through."""
    spout = ListSpout([str(number) for number in range(20)])
    run(linked(spout, Later()), steps=200, max_pending=3)
    assert spout.most_open == 3
    assert sorted(spout.acked) == list(range(20))


def test_answers_for_a_record_that_has_failed_count_for_nothing() -> None:
    """A late acknowledgement must not close the second attempt."""
    acker = Acker(timeout_s=5)
    root = acker.track("message", now=0)
    acker.emitted(root)
    assert acker.failed(root) == "message"
    assert acker.acked(root) is None
    assert acker.failed(root) is None
    assert len(acker) == 0


@pytest.mark.spec("book1:A-14", "book1:TK-07", "book1:TK-08", "book1:TK-09")
def test_words_are_counted_without_regard_to_case() -> None:
    """Mixed case, empty words and two counters: one cumulative count per word, told at the end."""
    told: list[str] = []
    spout = ListSpout(["The mill  the", " THE Mill", "race the race"])
    topology = build_topology(SpoutConfig("", "words", "wordcountID"), told.append)
    topology.set_spout("kafkaspout", lambda: spout)
    assert topology.bolts["counter"].parallelism == 2
    run(topology)
    assert Counter(told) == Counter(["the : 4", "mill : 2", "race : 2"])
    assert sorted(spout.acked) == [0, 1, 2]


@pytest.mark.spec("book1:TK-12")
def test_shuffle_grouping_deals_evenly() -> None:
    """Each of three tasks gets a third."""
    tasks: list[Collect] = []

    def task() -> Collect:
        tasks.append(Collect())
        return tasks[-1]

    topology = Topology()
    topology.set_spout("spout", lambda: ListSpout([str(number) for number in range(9)]))
    topology.set_bolt("bolt", task, parallelism=3).shuffle_grouping("spout")
    run(topology)
    assert [len(bolt.seen) for bolt in tasks] == [3, 3, 3]


@pytest.mark.spec("book2:A1-25", "book1:N-22")
def test_a_local_run_has_three_tasks_at_most() -> None:
    """A component that asks for more is cut down."""
    made: list[Collect] = []

    def collect() -> Collect:
        made.append(Collect())
        return made[-1]

    topology = Topology()
    topology.set_spout("spout", lambda: ListSpout([]))
    topology.set_bolt("bolt", collect, parallelism=10)
    run(topology, steps=1)
    assert len(made) == 3
