"""Cutting the end off: batches, segments, indexes, epochs, producers and offsets go together."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.errors import ClientFault, Error
from headrace.log import Origin, PartitionLog
from tests.log.logs import (
    EVERYTHING,
    NOW_MS,
    append,
    file_bytes,
    files,
    marker,
    new_disk,
    new_log,
    offsets,
    reopened,
)
from tests.settings import log_config

SMALL = log_config(segment_bytes=500, index_interval_bytes=100)


def long_log(batches: int = 20) -> PartitionLog:
    log = new_log(new_disk(), SMALL)
    for number in range(batches):
        append(log, count=2, timestamp=NOW_MS + number, leader_epoch=number // 5)
    return log


def test_everything_from_the_offset_on_is_gone() -> None:
    """A follower drops what its leader never had; the next append takes the freed offset."""
    log = long_log()
    log.truncate_to(13)
    assert offsets(log) == list(range(12))  # the batch of 12 and 13 goes as a whole
    assert log.log_end_offset == 12
    assert append(log).base_offset == 12


@pytest.mark.parametrize("offset", [40, 41, 1000])
def test_at_or_beyond_the_end_nothing_happens(offset: int) -> None:
    """There is nothing to drop."""
    log = long_log()
    log.truncate_to(offset)
    assert log.log_end_offset == 40


def test_whole_segments_go_with_their_files() -> None:
    """Segments behind the cut disappear at once, not by retention."""
    disk = new_disk()
    log = new_log(disk, SMALL)
    for _ in range(20):
        append(log, count=2)
    second = log.segments[1].base_offset
    log.truncate_to(second)
    assert files(disk, ".log") == ["00000000000000000000.log", f"{second:020d}.log"]
    assert log.log_end_offset == second
    assert len(log.segments) == 2
    assert offsets(log) == list(range(second))


@pytest.mark.parametrize("cut", [0, 4])
def test_a_reader_does_not_go_on_over_a_cut(cut: int) -> None:
    """Other records take the place of those that are cut: a slice from before is over."""
    log = long_log(3)
    piece = log.read(0, EVERYTHING, up_to=log.log_end_offset)
    assert piece.data()
    log.truncate_to(cut)
    append(log, count=2)
    with pytest.raises(FileNotFoundError):
        piece.data()


def test_epochs_behind_the_cut_are_forgotten() -> None:
    """The epoch cache never names an offset that the log does not have."""
    log = long_log()
    log.truncate_to(20)
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(0, 0), (1, 10)]


def test_the_watermark_and_the_recovery_point_come_back() -> None:
    """Neither may lie behind the log's end."""
    log = long_log()
    log.flush()
    log.high_watermark = 40
    log.truncate_to(12)
    assert (log.high_watermark, log.recovery_point, log.log_end_offset) == (12, 12, 12)


def test_the_cut_is_durable() -> None:
    """A crash right after a truncation does not bring the dropped records back."""
    disk = new_disk()
    log = new_log(disk, SMALL)
    for _ in range(20):
        append(log, count=2)
    log.flush()
    log.truncate_to(12)
    log = reopened(disk.crash(), SMALL, clean=False, recovery_point=12)
    assert offsets(log) == list(range(12))


def test_producers_forget_what_was_cut() -> None:
    """After the cut a producer's next batch follows the last one that is left."""
    log = new_log(new_disk(), SMALL)
    for sequence in range(10):
        append(log, producer_id=7, producer_epoch=0, base_sequence=sequence)
    log.truncate_to(4)
    with pytest.raises(ClientFault) as fault:
        append(log, producer_id=7, producer_epoch=0, base_sequence=10)
    assert fault.value.error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(log, producer_id=7, producer_epoch=0, base_sequence=4).base_offset == 4


def test_an_aborted_transaction_can_be_open_again() -> None:
    """If the marker is cut off, the transaction is open and holds its readers back."""
    log = new_log(new_disk())
    append(log, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, marker(commit=False, producer_id=7), origin=Origin.COORDINATOR)
    log.high_watermark = 2
    assert len(log.aborted_transactions(0, 2)) == 1
    log.truncate_to(1)
    assert log.aborted_transactions(0, 2) == []
    log.high_watermark = 1
    assert log.last_stable_offset == 0


def test_starting_over_at_an_offset() -> None:
    """A follower too far behind drops everything and begins where its leader does."""
    disk = new_disk()
    log = new_log(disk, SMALL)
    for _ in range(20):
        append(log, count=2)
    log.truncate_fully_and_start_at(1000)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (1000, 1000, 1000)
    assert files(disk, ".log") == ["00000000000000001000.log"]
    assert log.leader_epochs.entries == []
    assert append(log).base_offset == 1000
    assert offsets(log) == [1000]


def test_starting_over_at_the_first_offset() -> None:
    """Dropping everything may keep the name of the first segment."""
    log = long_log()
    log.truncate_fully_and_start_at(0)
    assert (log.log_end_offset, log.size_bytes, len(log.segments)) == (0, 0, 1)
    assert append(log).base_offset == 0
    assert offsets(log) == [0]


def test_starting_over_where_a_later_segment_begins() -> None:
    """The files of that segment are emptied, not lost."""
    disk = new_disk()
    log = new_log(disk, SMALL)
    for _ in range(20):
        append(log, count=2)
    third = log.segments[2].base_offset
    log.truncate_fully_and_start_at(third)
    assert append(log).base_offset == third
    assert files(disk, ".log") == [f"{third:020d}.log"]
    log.close()
    assert offsets(reopened(disk, SMALL)) == [third]


def test_below_the_first_segment_the_log_starts_over() -> None:
    """If the leader diverged before our first record, nothing of ours is worth keeping."""
    log = new_log(new_disk(), SMALL)
    log.truncate_fully_and_start_at(100)
    append(log, count=5)
    log.truncate_to(50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_a_flush_that_was_under_way_does_not_vouch_for_new_records() -> None:
    """A flush begun before a cut must not move the recovery point past what came after it."""
    log = long_log()
    flush = log.begin_flush()
    assert flush is not None
    log.truncate_to(10)
    for _ in range(30):
        append(log, count=2)
    flush.run()
    log.complete_flush(flush)
    assert log.recovery_point <= 10


@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=30),
    cut=st.integers(0, 130),
    more=st.lists(st.integers(1, 4), max_size=10),
)
def test_after_a_cut_the_files_are_as_if_it_had_never_been_written(
    counts: list[int], cut: int, more: list[int]
) -> None:
    """Log and indexes equal those of a log that got only the batches which are left."""
    disk, plain_disk = new_disk(), new_disk()
    log, plain = new_log(disk, SMALL), new_log(plain_disk, SMALL)
    for number, count in enumerate(counts):
        append(log, count=count, timestamp=NOW_MS + number)
    log.truncate_to(cut)
    for number, count in enumerate(counts):
        if plain.log_end_offset < log.log_end_offset:
            append(plain, count=count, timestamp=NOW_MS + number)
    assert plain.log_end_offset == log.log_end_offset
    # A cut at the very beginning of a segment leaves that segment, empty; the plain log has none.
    assume([s.base_offset for s in log.segments] == [s.base_offset for s in plain.segments])
    for number, count in enumerate(more):
        for each in (log, plain):
            append(each, count=count, timestamp=NOW_MS + 100 + number)
    log.close()
    plain.close()
    kept = [name for name in files(plain_disk) if name.endswith(("log", "index"))]
    for name in kept:
        assert file_bytes(disk, name) == file_bytes(plain_disk, name), name
