"""Which open transactions hang: the decision, from plain data."""

from __future__ import annotations

from headrace.admin.hanging import open_for, orphans_among
from headrace.admin.transactions import Described, ProducerState
from tests.cli.conftest import Headrace

NOW_MS = 1_000_000


def producer(producer_id: int, start_offset: int | None, age_ms: int | None = 0) -> ProducerState:
    last_ms = None if age_ms is None else NOW_MS - age_ms
    return ProducerState("orders", 0, producer_id, 0, None, 0, last_ms, start_offset)


def known(producer_id: int, *partitions: tuple[str, int]) -> dict[int, Described]:
    state = "Ongoing" if partitions else "Empty"
    described = Described(f"id-{producer_id}", 1, producer_id, 0, state, 60_000, None, partitions)
    return {producer_id: described}


def test_only_old_and_open_ones_are_candidates() -> None:
    """Nothing open is no transaction; a young one may end yet; one without a time is old."""
    given = [producer(1, None, 99), producer(2, 7, 9), producer(3, 7, 10), producer(4, 7, None)]
    found = open_for(given, older_than_ms=10, now_ms=NOW_MS)
    assert [each.producer_id for each in found] == [3, 4]


def test_an_orphan_is_one_that_no_coordinator_will_end() -> None:
    """An unknown producer, or one whose transaction does not reach this partition."""
    mine = producer(1, 7)
    assert orphans_among([mine], {}) == [mine]
    assert orphans_among([mine], known(2, ("orders", 0))) == [mine]
    assert orphans_among([mine], known(1)) == [mine]
    assert orphans_among([mine], known(1, ("orders", 1), ("bills", 0))) == [mine]
    assert orphans_among([mine], known(1, ("orders", 0))) == []


def test_the_help_says_what_the_age_is_counted_from(headrace: Headrace) -> None:
    """The last write of a transaction, not its beginning."""
    told = " ".join(headrace("transaction", "find-hanging", "--help").out.replace("│", " ").split())
    assert "Only transactions without a write for this long" in told
