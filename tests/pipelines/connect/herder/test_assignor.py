"""Rebalances of a cluster: what must be true of each, and the same rounds as Connect's assignor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.group.protocol import TaskId, Work, work_of
from headrace.pipelines.connect.herder.assignor import Memory, Piece, Round, assign, backoff_ms
from tests.pipelines.connect.real import TIMEOUT_SECONDS, Real, cases

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

SOURCE = Path(__file__).with_name("Assignor.java")
WORKERS = ["w1", "w2", "w3", "w4"]
NAMES = ["a", "b", "c", "d", "e"]
MAX_DELAY_MS = 300_000


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Connect's assignor."""
    with Real(SOURCE, tmp_path_factory.mktemp("real") / "log") as program:
        yield program


@dataclass
class Group:
    """A leader, its members with what they run, and the connectors of the cluster."""

    max_delay_ms: int = MAX_DELAY_MS
    memory: Memory = field(default_factory=Memory)
    members: dict[str, list[Piece]] = field(default_factory=dict)
    connectors: dict[str, int] = field(default_factory=dict)
    generation: int = 0
    completed: int = -1
    now_ms: int = 1_000

    def rebalance(self) -> Round:
        """One round, in which every member does as it is told."""
        self.generation += 1
        self.memory, made = assign(
            self.memory,
            self.configured(),
            {name: work(pieces) for name, pieces in self.members.items()},
            last_generation=self.completed,
            generation=self.generation,
            now_ms=self.now_ms,
            max_delay_ms=self.max_delay_ms,
        )
        return made

    def follow(self, made: Round) -> None:
        """The members do as they are told."""
        self.completed = self.generation
        for name, held in self.members.items():
            gone = every(made.revoked.get(name, Work()))
            self.members[name] = [piece for piece in held if piece not in gone]
            self.members[name] += every(made.given[name])

    def configured(self) -> Work:
        """Every connector and task that shall run."""
        names = sorted(self.connectors)
        tasks = [TaskId(name, each) for name in names for each in range(self.connectors[name])]
        return Work(tuple(names), tuple(tasks))

    def running(self) -> Counter[Piece]:
        """How many members run each piece."""
        return Counter(piece for held in self.members.values() for piece in held)

    def settle(self) -> None:
        """Rebalance, waiting as long as the rounds say, until nothing more is to be done."""
        for _ in range(20):
            made = self.rebalance()
            self.follow(made)
            if not made.delay_ms and not any(made.revoked.values()):
                return
            self.now_ms += made.delay_ms
        raise AssertionError("twenty rounds, and it is not balanced")


def work(pieces: list[Piece]) -> Work:
    """Pieces as a member says what it runs."""
    return Work(
        tuple(piece for piece in pieces if isinstance(piece, str)),
        tuple(piece for piece in pieces if isinstance(piece, TaskId)),
    )


def every(some: Work) -> list[Piece]:
    """Connectors and tasks in one list."""
    return [*some.connectors, *some.tasks]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("join"), st.sampled_from(WORKERS)),
        st.tuples(st.just("leave"), st.sampled_from(WORKERS)),
        st.tuples(st.just("create"), st.sampled_from(NAMES), st.integers(0, 7)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES)),
        st.tuples(st.just("wait"), st.sampled_from([1, 40, 1_000, 200_000, 400_000])),
        st.tuples(st.just("miss"), st.sampled_from(WORKERS)),
        st.tuples(st.just("fail"), st.just("")),
    ),
    min_size=1,
    max_size=30,
)
delays = st.sampled_from([0, 1, 1_000, MAX_DELAY_MS])


def happen(group: Group, step: tuple[str, ...] | tuple[str, str, int]) -> None:
    """Something happens to a group between two rounds."""
    kind, what = step[0], step[1]
    if kind == "join":
        group.members.setdefault(str(what), [])
    elif kind == "leave" and len(group.members) > 1:
        group.members.pop(str(what), None)
    elif kind == "create":
        group.connectors[str(what)] = int(step[2])
    elif kind == "delete":
        group.connectors.pop(str(what), None)
    elif kind == "wait":
        group.now_ms += int(what)


def limits(sample: int) -> settings:
    """How many lives of a group to try."""
    return settings(
        max_examples=cases(sample),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


LATE_CANDIDATES = [
    ("join", "w3"),
    ("join", "w2"),
    ("create", "a", 0),
    ("leave", "w1"),
    ("wait", 1),
]
SHORT_DELAY = [
    ("create", "a", 3),
    ("join", "w2"),
    ("join", "w3"),
    ("join", "w1"),
    ("miss", "w1"),
    ("join", "w1"),
]


@limits(60)
@given(happening=steps, max_delay_ms=delays)
@example(happening=LATE_CANDIDATES, max_delay_ms=1)
@example(happening=SHORT_DELAY, max_delay_ms=1_000)
def test_rounds_are_those_of_connect(
    real: Real, happening: list[tuple[str, ...]], max_delay_ms: int
) -> None:
    """A life of a group: each round gives, takes and waits as Connect's leader does.

    A member may miss a round (it does not do as it is told), and a round may fail as a whole.
    """
    group = Group(max_delay_ms, members={"w1": []})
    real.ask({"new": max_delay_ms})
    for step in happening:
        happen(group, step)
        asked = {
            "now": group.now_ms,
            "last": group.completed,
            "generation": group.generation + 1,
            "connectors": group.connectors,
            "members": [[name, paired(held)] for name, held in group.members.items()],
        }
        theirs = real.ask(asked)
        made = group.rebalance()
        assert {
            "given": shown(made.given),
            "revoked": shown(made.revoked),
            "delay": made.delay_ms,
        } == in_order(theirs)
        if step[0] == "fail":
            continue
        before = list(group.members.get(step[1], ()))
        group.follow(made)
        if step[0] == "miss" and step[1] in group.members:
            group.members[step[1]] = before


def paired(pieces: list[Piece]) -> list[list[object]]:
    """Pieces as the program takes them."""
    return [
        [piece, -1] if isinstance(piece, str) else [piece.connector, piece.task] for piece in pieces
    ]


def in_order(answer: object) -> object:
    """An answer of the program, with its work in order."""
    if isinstance(answer, dict):
        return {key: in_order(value) for key, value in answer.items()}
    if not isinstance(answer, list):
        return answer
    return sorted(answer, key=lambda pair: (pair[1] >= 0, *pair))


def shown(parts: object) -> dict[str, list[list[object]]]:
    """Work of each worker that has any, as the program tells it."""
    assert isinstance(parts, dict)
    return {name: paired(every(part)) for name, part in sorted(parts.items()) if part}


@limits(60)
@given(happening=steps, max_delay_ms=delays)
def test_whatever_happens_all_work_is_done_once_and_evenly(
    happening: list[tuple[str, ...]], max_delay_ms: int
) -> None:
    """Nothing is given while another runs it; in the end all runs once, loads differ by one."""
    group = Group(max_delay_ms, members={"w1": []})
    for step in happening:
        happen(group, step)
        made = group.rebalance()
        running = group.running()
        for name, part in made.given.items():
            for piece in every(part):
                assert running[piece] == 0, f"{piece} is given to {name} and runs elsewhere"
        group.follow(made)
        assert max(group.running().values(), default=0) <= 1
    group.settle()
    configured = group.configured()
    assert sorted(map(str, group.running())) == sorted(map(str, every(configured)))
    for kind in (str, TaskId):
        sizes = [sum(isinstance(piece, kind) for piece in held) for held in group.members.values()]
        assert max(sizes) - min(sizes) <= 1, group.members


@pytest.mark.spec("admin:CN-03", "admin:CN-04")
def test_work_of_a_lost_worker_waits_for_it() -> None:
    """A worker that comes back in time keeps its work; else it goes to those that are there."""
    group = Group(members={"w1": [], "w2": []}, connectors={"a": 4})
    group.settle()
    lost = group.members.pop("w2")
    first = group.rebalance()
    group.follow(first)
    assert first.delay_ms == MAX_DELAY_MS
    assert not any(first.given.values())
    group.now_ms += 1_000
    group.members["w2"] = []
    back = group.rebalance()
    group.follow(back)
    assert back.delay_ms == MAX_DELAY_MS - 1_000
    group.now_ms += back.delay_ms
    group.settle()
    assert sorted(map(str, group.members["w2"])) == sorted(map(str, lost))


def test_work_of_a_worker_that_stays_away_is_given_to_the_others() -> None:
    """After the delay, and at once where the delay is zero."""
    for max_delay_ms in (0, MAX_DELAY_MS):
        group = Group(max_delay_ms, members={"w1": [], "w2": []}, connectors={"a": 4, "b": 2})
        group.settle()
        del group.members["w2"]
        group.settle()
        assert len(group.members["w1"]) == 8
        assert group.now_ms == 1_000 + max_delay_ms


@pytest.mark.spec("admin:CN-04")
def test_a_worker_that_joins_gets_its_share() -> None:
    """It is taken from the others first and given in the next round, at once."""
    group = Group(members={"w1": []}, connectors={"a": 3})
    group.settle()
    group.members["w2"] = []
    taking = group.rebalance()
    group.follow(taking)
    assert taking.revoked == {"w1": work_of([("a", 0)])}
    assert not any(taking.given.values())
    giving = group.rebalance()
    group.follow(giving)
    assert giving.given["w2"] == work_of([("a", 0)])
    assert giving.delay_ms == 0


def test_rounds_that_take_work_are_spread_out() -> None:
    """Forty milliseconds, then sixteen hundred, and no more than the maximum."""
    assert [backoff_ms(rounds, MAX_DELAY_MS) for rounds in (1, 2, 3, 4, 999)] == [
        40,
        1_600,
        64_000,
        MAX_DELAY_MS,
        MAX_DELAY_MS,
    ]
    assert backoff_ms(3, 0) == 0
