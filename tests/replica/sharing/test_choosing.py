"""What a member is given of the batches of a log."""

from __future__ import annotations

import pytest

from headrace.replica.sharing.choosing import LogBatch
from headrace.replica.sharing.partition import SharePartition
from headrace.replica.sharing.states import Acquired, ShareLimits
from tests.replica.sharing.log_batches import LIMITS, acquire, log, look, say


def test_whole_batches_are_given() -> None:
    """`max_records` is passed to reach the end of a batch, and no further batch is begun."""
    share = SharePartition(0)
    assert acquire(share, "a", log(10, 10, 10), records=12) == [Acquired(0, 19, 1)]
    assert acquire(share, "b", log(10, 10, 10), records=12) == [Acquired(20, 29, 1)]


def test_a_member_may_want_no_more_than_it_asked_for() -> None:
    """In record-limit mode a batch is cut, and the next member gets the rest of it."""
    share = SharePartition(0)
    assert acquire(share, "a", log(10, 10), records=12, strict=True) == [Acquired(0, 11, 1)]
    choice = look(share, log(10, 10))
    assert choice.acquired == [Acquired(12, 19, 1)]
    assert (choice.position, choice.base_offset) == (1000, 10), "the whole batch is sent"


def test_entries_have_about_the_size_that_was_asked_for() -> None:
    """Entries of the answer end with batches, when they have `batch_size` records."""
    share = SharePartition(0)
    got = acquire(share, "a", log(4, 4, 4, 4), batch_size=6)
    assert got == [Acquired(0, 7, 1), Acquired(8, 15, 1)]


def test_only_so_many_records_are_in_flight() -> None:
    """Behind `share.partition.max.record.locks` nothing is given until the window moves on."""
    share = SharePartition(0)
    few = ShareLimits(max_record_locks=10)
    assert acquire(share, "a", log(8, 8, 8), limits=few) == [Acquired(0, 15, 1)]
    assert acquire(share, "b", log(8, 8, 8), limits=few) == []
    share.acknowledge("a", say(0, 7, 1), "t", 0, few)
    share.begin_write()
    share.end_write(0)  # type: ignore[arg-type]
    assert acquire(share, "b", log(8, 8, 8), limits=few) == [Acquired(16, 23, 1)]


def test_what_is_in_flight_is_cut_exactly_in_record_limit_mode() -> None:
    """The window then ends where the limit is, inside of a batch."""
    share = SharePartition(0)
    few = ShareLimits(max_record_locks=10)
    assert acquire(share, "a", log(8, 8), limits=few, strict=True) == [Acquired(0, 9, 1)]


def test_holes_and_markers_are_nobodys() -> None:
    """Offsets that compaction took, and batches that no reader may see, are passed for good."""
    share = SharePartition(0)
    got = acquire(share, "a", log(5, -5, 5, 1, 5, hidden=(3,)))
    assert got == [Acquired(0, 4, 1), Acquired(10, 14, 1), Acquired(16, 20, 1)]
    share.acknowledge("a", say(0, 4, 1), "t", 0, LIMITS)
    write = share.begin_write()
    assert write is not None
    assert write.start_offset == 10


def test_a_log_of_markers_alone_moves_the_start() -> None:
    """What lies behind them can be reached, and what is kept says so."""
    share = SharePartition(0)
    assert acquire(share, "a", log(1, 1, hidden=(0, 1))) == []
    write = share.begin_write()
    assert write is not None
    assert (write.start_offset, write.batches) == (2, [])


def test_released_records_are_given_first_and_with_the_rest() -> None:
    """A member gets what was released, then what is new, and never what another one holds."""
    share = SharePartition(0)
    acquire(share, "a", log(10), records=1)
    share.acknowledge("a", [*say(2, 3, 2), *say(7, 7, 2)], "t", 0, LIMITS)
    share.begin_write()
    share.end_write(0)  # type: ignore[arg-type]
    got = acquire(share, "b", log(10, 10), records=500)
    assert got == [Acquired(2, 3, 2), Acquired(7, 7, 2), Acquired(10, 19, 1)]


def test_what_nobody_may_have_is_not_sent_along_for_a_few_records() -> None:
    """Where the next free record lies far behind, the answer ends."""
    share = SharePartition(0)
    batches = [LogBatch(n * 10, n * 10 + 9, n * 9000, 9000, False) for n in range(10)]
    acquire(share, "a", batches)
    share.acknowledge("a", [*say(0, 9, 2), *say(90, 99, 2)], "t", 0, LIMITS)
    share.begin_write()
    share.end_write(0)  # type: ignore[arg-type]
    choice = look(share, batches)
    assert choice.acquired == [Acquired(0, 9, 2)]
    assert choice.size == 9000


@pytest.mark.parametrize(
    ("count", "expected"),
    [(2, 100), (3, 50), (4, 1)],
)
def test_records_that_failed_often_travel_with_few_others(count: int, expected: int) -> None:
    """From half of the limit on fewer records go together, and the last attempt goes alone."""
    share = SharePartition(0)
    everything = log(100)
    for _ in range(count):
        while got := acquire(share, "a", everything):
            for each in got:
                share.acknowledge("a", say(*each[:2], 2), "t", 0, LIMITS)
            if got[-1].last_offset == 99:
                break
        share.begin_write()
        share.end_write(0)  # type: ignore[arg-type]
    got = acquire(share, "b", everything, records=100)
    assert sum(each.last_offset - each.first_offset + 1 for each in got) == expected
    assert got[0].delivery_count == count + 1
