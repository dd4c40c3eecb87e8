"""The history checker finds each of Jepsen's Kafka anomalies when it is planted, and only it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.chaos.history.check import check, summary
from tests.chaos.history.cycles import strongly_connected
from tests.chaos.history.finding import Anomaly
from tests.chaos.history.index import Index
from tests.chaos.history.journal import Journal, load
from tests.chaos.history.operation import Kind, Operation, Outcome, Record
from tests.chaos.history.progress import Healed
from tests.chaos.legal_histories import LegalHistory

LAG_LIMIT_MS = 1000


def a(offset: int | None, value: str) -> Record:
    return Record("t/0", offset, value)


def b(offset: int | None, value: str) -> Record:
    return Record("t/1", offset, value)


def operation(
    process: str,
    kind: Kind,
    at_ms: int,
    *,
    outcome: Outcome = Outcome.OK,
    sent: tuple[Record, ...] = (),
    polled: tuple[Record, ...] = (),
    keys: tuple[str, ...] = (),
    looked: tuple[Record, ...] = (),
) -> Operation:
    return Operation(process, kind, outcome, at_ms, at_ms + 1, sent, polled, keys, looked=looked)


KEYS = ("t/0", "t/1")

# Two transactions whose writes interleave (G0, and records between two sends of one: both
# legal), an aborted one, one whose answer was lost, and two consumers that read it all.
# Offsets 3, 5, 6 and 8 of t/0 and 2 of t/1 are markers or aborted.
CLEAN = [
    operation("feeder", Kind.SEND, 0, sent=(a(0, "a0"), b(0, "b0"))),
    operation("reader", Kind.ASSIGN, 10, keys=KEYS),
    operation("other", Kind.ASSIGN, 10, keys=KEYS),
    operation("t1", Kind.TXN, 20, sent=(a(1, "a1"), a(4, "a4")), polled=(b(0, "b0"),)),
    operation("t2", Kind.TXN, 21, sent=(a(2, "a2"), b(1, "b1")), polled=(a(0, "a0"),)),
    operation("t3", Kind.TXN, 30, sent=(a(5, "gone"),), outcome=Outcome.FAIL),
    operation("t4", Kind.TXN, 40, sent=(a(None, "a7"), b(None, "b3")), outcome=Outcome.INFO),
    operation("lost", Kind.SEND, 41, sent=(a(None, "never"),), outcome=Outcome.INFO),
    operation("reader", Kind.POLL, 50, polled=(a(0, "a0"), a(1, "a1"), b(0, "b0"))),
    operation("reader", Kind.POLL, 60, polled=(a(2, "a2"), a(4, "a4"), a(7, "a7"), b(1, "b1"))),
    operation("feeder", Kind.SEND, 61, sent=(a(9, "a9"),)),
    operation("reader", Kind.POLL, 70, polled=(a(9, "a9"), b(3, "b3"))),
    operation(
        "other",
        Kind.POLL,
        80,
        polled=(
            *(a(0, "a0"), a(1, "a1"), a(2, "a2"), a(4, "a4"), a(7, "a7"), a(9, "a9")),
            *(b(0, "b0"), b(1, "b1"), b(3, "b3")),
        ),
    ),
]


# Everything was whole again at 55 ms; these two have lived ever since.
HEALED = Healed(55, ("reader", "other"))


def found(history: list[Operation]) -> list[Anomaly]:
    findings = check(history, lag_limit_ms=LAG_LIMIT_MS, healed=HEALED)
    return [finding.anomaly for finding in findings]


def without(history: list[Operation], *values: str, process: str | None = None) -> list[Operation]:
    """The same history, where these values were not polled (by one process, or by anyone)."""
    return [
        replace(each, polled=tuple(record for record in each.polled if record.value not in values))
        if process in (None, each.process)
        else each
        for each in history
    ]


def changed(history: list[Operation], at: int, **fields: object) -> list[Operation]:
    return [*history[:at], replace(history[at], **fields), *history[at + 1 :]]  # type: ignore[arg-type]


def test_a_clean_history_shows_nothing() -> None:
    """G0, int-send-skip, gaps for markers, lost answers and aborted records are all legal."""
    assert found(CLEAN) == []
    assert summary(check(CLEAN)) == "no anomaly"


PLANTED: dict[Anomaly, list[Operation]] = {
    # "never" had no known place; one reader sees it where everyone else saw a9.
    Anomaly.INCONSISTENT_OFFSETS: changed(CLEAN, 11, polled=(a(9, "never"), b(3, "b3"))),
    # The log holds a9 twice and both readers see that.
    Anomaly.DUPLICATE: changed(
        changed(CLEAN, 11, polled=(a(9, "a9"), a(10, "a9"), b(3, "b3"))),
        12,
        polled=(*CLEAN[12].polled, a(10, "a9")),
    ),
    Anomaly.UNWRITTEN: [*CLEAN, operation("other", Kind.POLL, 90, polled=(a(10, "whence"),))],
    # A transaction whose answer was lost, but one of whose records was seen, is committed whole.
    Anomaly.LOST_WRITE: without(changed(CLEAN, 6, sent=(a(7, "a7"), b(None, "b3"))), "a7"),
    Anomaly.UNSEEN: without(CLEAN, "b3"),
    Anomaly.ABORTED_READ: changed(CLEAN, 10, outcome=Outcome.FAIL),
    Anomaly.PRECOMMITTED_READ: changed(CLEAN, 4, polled=(b(1, "b1"),)),
    # t2 polls what t1 sent and t1 what t2 sent.
    Anomaly.CIRCULAR_FLOW: changed(
        changed(CLEAN, 3, polled=(b(0, "b0"), b(1, "b1"))), 4, polled=(a(1, "a1"),)
    ),
    # a2 is missing between a1 in one poll and a4 in the next; the other consumer has it.
    Anomaly.POLL_SKIP: without(CLEAN, "a2", process="reader"),
    Anomaly.NONMONOTONIC_POLL: [
        *CLEAN,
        operation("other", Kind.POLL, 90, polled=(a(9, "a9"),)),
    ],
    Anomaly.INT_POLL_SKIP: without(CLEAN, "a4", process="reader"),
    Anomaly.INT_NONMONOTONIC_POLL: changed(CLEAN, 11, polled=(a(9, "a9"), a(9, "a9"), b(3, "b3"))),
    # One producer sent a4, then a2.
    Anomaly.NONMONOTONIC_SEND: changed(CLEAN, 4, process="t1"),
    Anomaly.INT_NONMONOTONIC_SEND: changed(CLEAN, 3, sent=(a(4, "a4"), a(1, "a1"))),
    # a9 is there since 62 ms; this consumer polls for two seconds and does not get it.
    Anomaly.REALTIME_LAG: [
        operation("slow", Kind.ASSIGN, 0, keys=KEYS),
        *CLEAN,
        operation("slow", Kind.POLL, 90, polled=CLEAN[12].polled[:5] + CLEAN[12].polled[6:]),
        operation("slow", Kind.POLL, 2090),
    ],
    Anomaly.OFFSET_BACK: [
        *CLEAN,
        operation("watcher", Kind.LOOK, 90, looked=(a(10, "high watermark"), b(4, "committed"))),
        operation("watcher", Kind.LOOK, 95, looked=(a(9, "high watermark"), b(4, "committed"))),
    ],
    # One consumer polled once after healing, and that failed.
    Anomaly.STUCK: changed(CLEAN, 12, outcome=Outcome.INFO),
}


@pytest.mark.parametrize("anomaly", Anomaly)
def test_each_planted_anomaly_is_found_and_nothing_else(anomaly: Anomaly) -> None:
    """One contradiction planted in a clean history gives one finding, under its name."""
    assert found(PLANTED[anomaly]) == [anomaly], summary(check(PLANTED[anomaly]))


def test_a_group_may_move_a_consumer() -> None:
    """With subscribe, skips and returns are legal, but only across a rebalance."""
    back = operation("other", Kind.POLL, 95, polled=(a(7, "a7"), a(9, "a9")))
    moved = operation("other", Kind.REBALANCE, 90, keys=("t/0",))
    assert found([*CLEAN, moved, back]) == []
    assert found([*CLEAN, back]) == [Anomaly.NONMONOTONIC_POLL]


def test_an_aborted_transaction_polls_again() -> None:
    """After an abort the application reads the same records once more; that is no return."""
    first = operation("t5", Kind.TXN, 90, polled=(a(7, "a7"),), outcome=Outcome.FAIL)
    again = operation("t5", Kind.TXN, 91, polled=(a(7, "a7"),))
    assert found([*CLEAN, first, again]) == []


def test_an_aborted_transaction_goes_back_everywhere() -> None:
    """Also in partitions of which it polled nothing: others may have read on there meanwhile,
    before the consumer heard that they are not its own any more.
    """
    before = operation("t5", Kind.TXN, 89, polled=(a(1, "a1"),))
    aborted = operation("t5", Kind.TXN, 90, polled=(b(1, "b1"),), outcome=Outcome.FAIL)
    ahead = operation("t5", Kind.TXN, 91, polled=(a(7, "a7"),))
    assert found([*CLEAN, before, aborted, ahead]) == []
    assert found([*CLEAN, before, ahead]) == [Anomaly.POLL_SKIP]


@given(st.integers(0, 1 << 32), st.integers(0, 120))
def test_legal_histories_show_nothing(seed: int, steps: int) -> None:
    """Whatever a faultless log does under crashes, aborts and lost answers passes the checker."""
    history = LegalHistory(random.Random(seed)).draw(steps)
    assert check(history) == []


@given(st.integers(0, 1 << 32))
def test_any_lost_write_is_found(seed: int) -> None:
    """An acknowledged record that nobody polled, below one that somebody polled, is reported."""
    rng = random.Random(seed)
    history = LegalHistory(rng).draw(80)
    index = Index(history)
    candidates = [
        record
        for each in history
        if each.outcome is Outcome.OK
        for record in each.sent
        if record.offset is not None and record.offset < index.last_seen.get(record.key, -1)
    ]
    assume(candidates)
    victim = rng.choice(candidates)
    findings = check(without(history, victim.value))
    assert [(each.anomaly, each.key) for each in findings] == [(Anomaly.LOST_WRITE, victim.key)]
    assert victim.value in findings[0].detail


@given(st.integers(0, 1 << 32))
def test_any_aborted_read_is_found(seed: int) -> None:
    """Every record of an aborted transaction that was polled is reported."""
    rng = random.Random(seed)
    history = LegalHistory(rng).draw(80)
    index = Index(history)
    candidates = [
        at
        for at, each in enumerate(history)
        if each.kind is Kind.TXN and each.outcome is Outcome.OK and each.sent
    ]
    assume(candidates)
    at = rng.choice(candidates)
    seen = [record for record in history[at].sent if (record.key, record.value) in index.readers]
    findings = check(changed(history, at, outcome=Outcome.FAIL))
    aborted = [each for each in findings if each.anomaly is Anomaly.ABORTED_READ]
    assert len(aborted) == len(seen)
    # Its consumer went on from there, as after a commit: that is a second contradiction.
    assert {each.anomaly for each in findings} <= {Anomaly.ABORTED_READ, Anomaly.POLL_SKIP}


def test_journals_survive_a_kill(tmp_path: Path) -> None:
    """A transaction that never asked to commit has failed; one that did is unknown; a torn line
    is left out.
    """
    path = tmp_path / "worker.jsonl"
    with Journal(path, "worker") as journal:
        journal.note(Kind.ASSIGN, 0, 1, keys=("t/0",))
        done = journal.begin(Kind.TXN, 2, sent=(a(None, "x"),), polled=(b(3, "p"),))
        journal.commit(done)
        journal.end(done, Outcome.OK, 5, sent=(a(7, "x"),))
        journal.begin(Kind.TXN, 6, sent=(a(None, "y"),))
        asked = journal.begin(Kind.TXN, 7, sent=(a(None, "z"),))
        journal.commit(asked)
    with path.open("ab") as file:
        file.write(b'{"line":"end","id":3,"outc')
    history = load([path])
    assert [(each.kind, each.outcome, each.sent) for each in history] == [
        (Kind.ASSIGN, Outcome.OK, ()),
        (Kind.TXN, Outcome.OK, (a(7, "x"),)),
        (Kind.TXN, Outcome.FAIL, (a(None, "y"),)),
        (Kind.TXN, Outcome.INFO, (a(None, "z"),)),
    ]
    assert history[1].polled == (b(3, "p"),)


def test_operations_survive_json() -> None:
    """What is written as JSON is what is read back."""
    assert [Operation.from_json(each.to_json()) for each in CLEAN] == CLEAN


@given(st.dictionaries(st.integers(0, 9), st.sets(st.integers(0, 9)), max_size=10))
def test_strongly_connected_groups(graph: dict[int, set[int]]) -> None:
    """The groups are exactly the sets of nodes that reach each other."""
    reach = {node: set(graph.get(node, ())) for node in range(10)}
    for via in range(10):
        for node in range(10):
            if via in reach[node]:
                reach[node] |= reach[via]
    expected = {
        frozenset(other for other in range(10) if other in reach[node] and node in reach[other])
        for node in range(10)
    }
    groups = {frozenset(group) for group in strongly_connected(graph)}
    assert groups == {group for group in expected if len(group) > 1}
