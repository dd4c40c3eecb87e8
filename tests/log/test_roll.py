"""When a segment ends: size, age in the records' time, full indexes, offsets that do not fit."""

from __future__ import annotations

import pytest

from tests.log.logs import (
    NOW_MS,
    append,
    batch,
    file_bytes,
    files,
    new_disk,
    new_log,
    offsets,
    reopened,
    replicated,
)
from tests.settings import log_config

DAY_MS = 24 * 3_600_000


def bases(log: object) -> list[int]:
    return [segment.base_offset for segment in log.segments]  # type: ignore[attr-defined]


@pytest.mark.spec("slides:A04", "slides:A49", "admin:LS-17", "admin:LS-18", "admin:LS-19")
def test_the_batch_that_would_not_fit_begins_a_segment() -> None:
    """`segment.bytes` is never exceeded, and the new file is named after its first offset."""
    assert log_config().segment_bytes == 1_073_741_824
    disk = new_disk()
    size = len(batch(3))
    log = new_log(disk, log_config(segment_bytes=2 * size))
    rolled = [append(log, count=3).rolled for _ in range(5)]
    assert rolled == [False, False, True, False, True]
    assert bases(log) == [0, 6, 12]
    assert files(disk, ".log") == [
        "00000000000000000000.log",
        "00000000000000000006.log",
        "00000000000000000012.log",
    ]
    assert [segment.size for segment in log.segments] == [2 * size, 2 * size, size]


@pytest.mark.spec("admin:LS-18")
def test_only_the_active_segment_is_written() -> None:
    """Completed segments never change: the next appends go to the last file."""
    disk = new_disk()
    log = new_log(disk, log_config(segment_bytes=300))
    for _ in range(10):
        append(log)
    completed = [segment for segment in log.segments if segment is not log.segments.active]
    before = [file_bytes(disk, f"{segment.base_offset:020d}.log") for segment in completed]
    for _ in range(10):
        append(log)
    after = [file_bytes(disk, f"{segment.base_offset:020d}.log") for segment in completed]
    assert after == before


@pytest.mark.spec("slides:A48", "admin:LS-19")
def test_age_is_measured_in_the_records_time() -> None:
    """KIP-33: a batch more than `segment.ms` behind the segment's first one begins a new one."""
    log = new_log(new_disk(), log_config(segment_ms=DAY_MS))
    append(log, timestamp=NOW_MS, now_ms=NOW_MS)
    append(log, timestamp=NOW_MS + DAY_MS, now_ms=NOW_MS + DAY_MS)
    assert bases(log) == [0]
    append(log, timestamp=NOW_MS + DAY_MS + 1, now_ms=NOW_MS + DAY_MS + 1)
    assert bases(log) == [0, 2]


@pytest.mark.spec("admin:LS-19")
def test_an_idle_log_keeps_its_old_segment() -> None:
    """Age is looked at when something is appended: time alone changes nothing."""
    log = new_log(new_disk(), log_config(segment_ms=DAY_MS))
    append(log, timestamp=NOW_MS)
    append(log, timestamp=NOW_MS, now_ms=NOW_MS + 10 * DAY_MS)
    assert bases(log) == [0]


def test_without_times_the_files_age_counts() -> None:
    """Records without a timestamp roll by the broker's clock."""
    log = new_log(new_disk(), log_config(segment_ms=DAY_MS))
    append(log, timestamp=-1, now_ms=NOW_MS)
    append(log, timestamp=-1, now_ms=NOW_MS + DAY_MS)
    append(log, timestamp=-1, now_ms=NOW_MS + DAY_MS + 1)
    assert bases(log) == [0, 2]


def test_the_age_of_a_segment_survives_a_restart() -> None:
    """The time of the first batch is read from the log, not remembered."""
    disk = new_disk()
    config = log_config(segment_ms=DAY_MS)
    log = new_log(disk, config)
    append(log, timestamp=NOW_MS)
    log.close()
    log = reopened(disk, config)
    append(log, timestamp=NOW_MS + DAY_MS + 1, now_ms=NOW_MS + DAY_MS + 1)
    assert bases(log) == [0, 1]


def test_a_roll_can_be_asked_for() -> None:
    """`roll_if_due` looks at the clock, for those who need completed segments of an idle log."""
    log = new_log(new_disk(), log_config(segment_ms=DAY_MS))
    assert not log.roll_if_due(NOW_MS + 10 * DAY_MS)
    append(log, timestamp=NOW_MS)
    assert not log.roll_if_due(NOW_MS + DAY_MS)
    assert log.roll_if_due(NOW_MS + DAY_MS + 1)
    assert bases(log) == [0, 1]


def test_jitter_shortens_the_age_by_a_fixed_part() -> None:
    """`segment.jitter.ms` spreads rolls over partitions, but each segment has one limit."""
    limits = set()
    for _ in range(3):
        log = new_log(new_disk(), log_config(segment_ms=DAY_MS, segment_jitter_ms=DAY_MS))
        append(log, timestamp=NOW_MS)
        limit = next(
            hour for hour in range(25) if log.roll_if_due(NOW_MS + hour * 3_600_000) or hour == 24
        )
        limits.add(limit)
    assert len(limits) == 1


@pytest.mark.spec("admin:LS-19")
def test_a_full_offset_index_ends_the_segment() -> None:
    """`segment.index.bytes` counts whole entries of eight bytes."""
    config = log_config(segment_index_bytes=40, index_interval_bytes=1)
    log = new_log(new_disk(), config)
    for _ in range(20):
        append(log, timestamp=NOW_MS)
    assert bases(log)[1] == 6  # the first batch has no entry, five others have
    assert len(log.segments[0].offset_index) == 5


@pytest.mark.spec("admin:LS-19")
def test_a_full_time_index_ends_the_segment() -> None:
    """The time index keeps one entry free for the segment's largest timestamp."""
    config = log_config(segment_index_bytes=40, index_interval_bytes=1)
    log = new_log(new_disk(), config)
    for number in range(20):
        append(log, timestamp=NOW_MS + number)
    assert bases(log)[1] == 3
    assert len(log.segments[0].time_index) == 2


@pytest.mark.spec("admin:LS-19")
def test_offsets_that_do_not_fit_the_index_end_the_segment() -> None:
    """A relative offset has 31 bits."""
    log = new_log(new_disk())
    replicated(log, batch(1, base_offset=2**31 - 2, leader_epoch=0))
    append(log)
    assert bases(log) == [0]
    append(log)
    assert bases(log) == [0, 2**31]
    assert offsets(log) == [2**31 - 2, 2**31 - 1, 2**31]


def test_a_roll_finishes_both_indexes() -> None:
    """A completed segment's indexes are whole on disk, the largest timestamp as the last entry."""
    disk = new_disk()
    log = new_log(disk, log_config(index_interval_bytes=100))
    for number in range(10):
        append(log, timestamp=NOW_MS + number)
    log.roll()
    first = log.segments[0]
    assert not first.is_hot
    assert first.time_index.last() == (NOW_MS + 9, 9)
    assert first.largest_timestamp() == (NOW_MS + 9, 9)
    assert len(first.offset_index) > 3
    assert len(file_bytes(disk, "00000000000000000000.index")) == 8 * len(first.offset_index)


def test_rolling_an_empty_segment_does_nothing() -> None:
    """Two segments cannot begin with the same offset."""
    log = new_log(new_disk())
    log.roll()
    assert bases(log) == [0]
    append(log)
    log.roll()
    log.roll()
    assert bases(log) == [0, 1]


def test_a_roll_leaves_a_producer_snapshot() -> None:
    """Each segment's beginning has the state of the producers, so recovery starts there."""
    disk = new_disk()
    log = new_log(disk)
    append(log, producer_id=7, producer_epoch=0, base_sequence=0)
    log.roll()
    assert files(disk, ".snapshot") == ["00000000000000000001.snapshot"]
