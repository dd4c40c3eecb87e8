"""How dirty a log is, what of it must not be touched, and which log is compacted first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.log import LogConfig, Origin, PartitionLog
from headrace.log.compaction import Cleanable, dirtiest, make_plan, measure
from tests.log.compaction.compacting import COMPACT, compact, keyed, settle, write
from tests.log.logs import NOW_MS, append, marker, new_disk, new_log


def log_of(*sizes: int, config: LogConfig = COMPACT) -> PartitionLog:
    """A log with a segment for each size, in records, and an empty active one."""
    log = new_log(new_disk(), config)
    for size in sizes:
        write(log, *[(b"%d" % i, b"v") for i in range(size)])
        log.roll()
    settle(log)
    return log


def ratio(log: PartitionLog, now_ms: int = NOW_MS) -> float:
    return measure(log, now_ms).dirty_ratio


@pytest.mark.spec("admin:CR-06", "slides:F09")
def test_the_active_segment_is_neither_clean_nor_dirty() -> None:
    """Only completed segments count; the active one is never compacted."""
    log = log_of(3)
    write(log, (b"new", b"v"))
    settle(log)
    found = measure(log, NOW_MS)
    assert found.first_uncleanable_offset == 3
    assert found.dirty_bytes == log.segments[0].size
    assert [source.base_offset for source in make_plan(found, NOW_MS).sources] == [0]


@pytest.mark.spec("admin:CR-07", "slides:F26")
@pytest.mark.parametrize(("clean", "dirty", "due"), [(3, 2, False), (3, 3, False), (3, 4, True)])
def test_a_log_is_due_when_more_of_it_is_dirty_than_allowed(
    clean: int, dirty: int, due: bool
) -> None:
    """`min.cleanable.dirty.ratio` is 0.5; as in Kafka the ratio must be exceeded."""
    log = log_of(clean, dirty)
    log.clean_offset = clean
    assert ratio(log) == dirty / (clean + dirty)
    assert measure(log, NOW_MS).is_due is due
    log.config = replace(COMPACT, min_cleanable_dirty_ratio=0.3)
    assert measure(log, NOW_MS).is_due


def test_nothing_dirty_is_never_due() -> None:
    """Not even with a ratio of 0, nor for an old log: there would be nothing to gain."""
    log = log_of(3, config=replace(COMPACT, min_cleanable_dirty_ratio=0.0, max_compaction_lag_ms=1))
    compact(log)
    assert not measure(log, NOW_MS + 10**9).is_due
    assert not measure(new_log(new_disk(), COMPACT), NOW_MS).is_due


@pytest.mark.spec("slides:F14", "slides:F27")
def test_young_records_are_left_alone() -> None:
    """`min.compaction.lag.ms`: a segment whose newest record is younger ends what is cleanable."""
    log = new_log(new_disk(), replace(COMPACT, min_compaction_lag_ms=1000))
    for age_ms in (5000, 500, 5000):
        write(log, (b"k", b"v"), now_ms=NOW_MS - age_ms)
        log.roll()
    settle(log)
    assert measure(log, NOW_MS).first_uncleanable_offset == 1
    assert measure(log, NOW_MS + 500).first_uncleanable_offset == 3


def test_the_lag_is_not_asked_of_what_is_clean() -> None:
    """As in Kafka: a young segment that was compacted under another setting stays clean."""
    log = log_of(2, 2)
    log.clean_offset = 2
    log.config = replace(COMPACT, min_compaction_lag_ms=1000)
    assert measure(log, NOW_MS).first_uncleanable_offset == 2
    assert measure(log, NOW_MS).clean_bytes == log.segments[0].size


def test_max_compaction_lag_forces_compaction() -> None:
    """KIP-354: with a dirty record older than the lag a log is due, however small the ratio."""
    log = log_of(9, 1, config=replace(COMPACT, max_compaction_lag_ms=1000))
    log.clean_offset = 9
    assert not measure(log, NOW_MS + 1000).is_due
    assert measure(log, NOW_MS + 1001).is_due


@pytest.mark.parametrize("decided", [False, True])
def test_an_open_transaction_ends_what_is_cleanable(decided: bool) -> None:
    """Nothing at or beyond the last stable offset is compacted."""
    log = log_of(2)
    append(
        log,
        keyed((b"k", b"v"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True),
    )
    log.roll()
    write(log, (b"k", b"w"))
    log.roll()
    if decided:
        append(log, marker(commit=True, producer_id=7), origin=Origin.COORDINATOR)
    settle(log)
    assert measure(log, NOW_MS).first_uncleanable_offset == (4 if decided else 2)


def test_what_is_not_replicated_is_not_compacted() -> None:
    """Nothing at or beyond the high watermark: it may have to be cut off."""
    log = log_of()
    for _ in range(3):
        write(log, (b"k", b"v"))
        log.roll()
    log.flush()
    log.high_watermark = 2
    assert measure(log, NOW_MS).first_uncleanable_offset == 2


def test_what_is_not_flushed_is_not_compacted() -> None:
    """A flushed record must not go in favour of one that a power cut may take."""
    log = new_log(new_disk(), COMPACT)
    write(log, (b"k", b"flushed"))
    log.roll()
    log.flush()
    write(log, (b"k", b"not yet"))
    log.roll()
    log.high_watermark = log.log_end_offset
    assert measure(log, NOW_MS).first_uncleanable_offset == 1


@pytest.mark.parametrize(("clean_offset", "log_start"), [(1, 2), (99, 0)])
def test_a_clean_offset_outside_the_log_means_nothing(clean_offset: int, log_start: int) -> None:
    """As in Kafka: after a deletion or a loss the log is dirty from its start on."""
    log = log_of(3, 3)
    log.delete_records_before(log_start)
    log.clean_offset = clean_offset
    assert measure(log, NOW_MS).first_dirty_offset == log_start


@pytest.mark.spec("slides:F18")
def test_the_dirtiest_log_is_first() -> None:
    """Of those that are due, the one with the highest ratio of dirty bytes."""

    def cleanable(dirty: int) -> Cleanable:
        log = log_of(4, dirty)
        log.clean_offset = 4
        return measure(log, NOW_MS)

    little, more, most = cleanable(3), cleanable(5), cleanable(9)
    assert dirtiest([little, more, most]) is most
    assert dirtiest([more, little]) is more
    assert dirtiest([little]) is None


def test_a_segment_that_is_partly_clean_counts_as_dirty() -> None:
    """When the map was full in the middle of a segment, the rest of it is still to be done."""
    log = log_of(4, 4)
    log.clean_offset = 6
    found = measure(log, NOW_MS)
    assert (found.clean_bytes, found.dirty_bytes) == (log.segments[0].size, log.segments[1].size)
