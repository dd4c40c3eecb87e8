"""Durability: when a flush is asked for, what it covers, and what survives a power cut."""

from __future__ import annotations

import errno
from random import Random

import pytest

from tests.log.logs import FOLDER, NOW_MS, append, files, new_disk, new_log, offsets, reopened
from tests.settings import log_config


@pytest.mark.spec("admin:LS-22", "slides:A21")
def test_an_append_waits_for_no_disk() -> None:
    """By default a produce is one write into the page cache; nothing is synced."""
    disk = new_disk()
    log = new_log(disk)
    append(log)
    before = disk.operations
    result = append(log)
    assert disk.operations == before + 1
    assert not result.flush_due
    assert log.recovery_point == 0


@pytest.mark.spec("slides:A20")
def test_appends_are_sequential() -> None:
    """Every append goes to the end of one file; nothing is written in between."""
    disk = new_disk()
    log = new_log(disk)
    positions = []
    for _ in range(10):
        positions.append(log.segments.active.size)
        append(log)
    pieces = [log.read(offset, 1, up_to=10) for offset in range(10)]
    assert [piece.position for piece in pieces] == positions


@pytest.mark.spec("admin:LS-21")
def test_a_flush_moves_the_recovery_point() -> None:
    """What is below the recovery point survives a power cut; the rest may not."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=3)
    log.flush()
    assert log.recovery_point == 3
    append(log, count=3)
    assert log.recovery_point == 3
    log = reopened(disk.crash(), clean=False, recovery_point=3)
    assert offsets(log) == [0, 1, 2]


@pytest.mark.spec("slides:A43")
def test_flush_by_messages() -> None:
    """`flush.messages`: so many records may wait for the disk; no limit by default."""
    assert log_config().flush_messages == 9223372036854775807
    log = new_log(new_disk(), log_config(flush_messages=5))
    assert [append(log, count=2).flush_due for _ in range(3)] == [False, False, True]
    log.flush()
    assert not append(log).flush_due


@pytest.mark.spec("slides:A44")
def test_flush_by_age() -> None:
    """`flush.ms`: how long a record may wait for the disk, counted from the first that waits."""
    log = new_log(new_disk(), log_config(flush_ms=1000))
    assert not append(log, now_ms=NOW_MS).flush_due
    assert not log.flush_due(NOW_MS + 999)
    assert log.flush_due(NOW_MS + 1000)
    assert append(log, now_ms=NOW_MS + 1000).flush_due
    log.flush()
    assert not log.flush_due(NOW_MS + 5000)
    assert not append(log, now_ms=NOW_MS + 5000).flush_due


def test_a_flush_covers_what_was_there_when_it_began() -> None:
    """The three steps may be far apart; records that come between are not vouched for."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=3)
    flush = log.begin_flush()
    assert flush is not None
    append(log, count=3)
    flush.run()
    log.complete_flush(flush)
    assert log.recovery_point == 3
    assert log.begin_flush() is not None


def test_nothing_to_flush() -> None:
    """A log without news does not trouble the disk."""
    disk = new_disk()
    log = new_log(disk)
    append(log)
    log.flush()
    before = disk.operations
    assert log.begin_flush() is None
    log.flush()
    assert disk.operations == before


def test_a_flush_syncs_all_segments_since_the_last() -> None:
    """Rolled segments are flushed with their indexes and the folder that names them."""
    disk = new_disk()
    config = log_config(segment_bytes=300, index_interval_bytes=50)
    log = new_log(disk, config)
    for _ in range(20):
        append(log)
    log.flush()
    survived = disk.crash()
    assert files(survived, ".log") == files(disk, ".log")
    for segment in log.segments:
        for suffix in ("log", "index", "timeindex"):
            path = f"{FOLDER}/{segment.base_offset:020d}.{suffix}"
            if segment is not log.segments.active or suffix == "log":
                size = disk.open(path).size()
                assert survived.open(path).size() == size > 0
    log = reopened(survived, config, clean=False, recovery_point=20)
    assert offsets(log) == list(range(20))


def test_a_flush_does_not_repeat_what_an_earlier_one_did() -> None:
    """Segments below the recovery point are not synced again."""
    disk = new_disk()
    log = new_log(disk, log_config(segment_bytes=300))
    for _ in range(20):
        append(log)
    log.flush()
    append(log)
    before = disk.operations
    log.flush()
    assert disk.operations - before <= 4  # the log, its two indexes, the folder


def test_a_failed_sync_leaves_the_recovery_point() -> None:
    """Only a flush that succeeded is believed."""
    disk = new_disk()
    log = new_log(disk)
    append(log)
    flush = log.begin_flush()
    assert flush is not None
    disk.fail_at(1, OSError(errno.EIO, "Input/output error"))
    with pytest.raises(OSError, match="Input/output"):
        flush.run()
    assert log.recovery_point == 0


def test_a_flush_survives_the_deletion_of_its_segment() -> None:
    """Retention may remove a segment while a thread is syncing it."""
    disk = new_disk()
    log = new_log(disk, log_config(segment_bytes=100, retention_ms=0, file_delete_delay_ms=0))
    for _ in range(3):
        append(log, timestamp=1)
    log.high_watermark = 3
    flush = log.begin_flush()
    assert flush is not None
    log.apply_retention(NOW_MS)
    log.remove_doomed(NOW_MS)
    flush.run()
    log.complete_flush(flush)
    assert log.recovery_point == 3


@pytest.mark.spec("admin:LS-22")
def test_closing_makes_everything_durable() -> None:
    """A controlled shutdown flushes: nothing is lost by cutting the power right after it."""
    disk = new_disk()
    config = log_config(segment_bytes=500, index_interval_bytes=100)
    log = new_log(disk, config)
    for number in range(30):
        append(log, timestamp=NOW_MS + number)
    log.close()
    assert log.recovery_point == 30
    assert log.segments.active.time_index.last() == (NOW_MS + 29, 29)
    log = reopened(disk.crash(), config)
    assert offsets(log) == list(range(30))
    assert log.offset_of_max_timestamp() == (NOW_MS + 29, 29)


def test_an_idle_log_costs_nothing_at_shutdown() -> None:
    """Thousands of partitions to which nothing was written are closed without touching the disk."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=3)
    log.close()
    log = reopened(disk)
    before = disk.operations
    log.close()
    assert disk.operations == before
    assert offsets(reopened(disk)) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("flush_again", [False, True])
def test_the_last_index_entries_of_a_rolled_segment_survive(flush_again: bool, seed: int) -> None:
    """A segment that was flushed whole and rolled later gets its last time entry after the flush;
    a power cut must not take away the times of its records."""
    disk = new_disk()
    log = new_log(disk)
    append(log, timestamp=NOW_MS + 5)
    log.flush()
    log.roll()
    if flush_again:
        append(log, timestamp=NOW_MS + 9)
        log.flush()
    survived = disk.crash(Random(seed))
    log = reopened(survived, clean=False, recovery_point=log.recovery_point)
    assert log.segments[0].largest_timestamp() == (NOW_MS + 5, 0)
    assert log.offset_for_time(NOW_MS + 1, up_to=2) == (NOW_MS + 5, 0)


@pytest.mark.parametrize("was_reopened", [False, True])
def test_the_first_records_survive_however_often_the_empty_log_was_flushed(
    was_reopened: bool,
) -> None:
    """The first segment's file comes with its first record: the flush that follows syncs its name,
    also if the folder was synced before, as a leader does that has noted where its epoch begins."""
    disk = new_disk()
    log = new_log(disk)
    log.leader_epochs.assign(3, 0)
    log.flush()
    if was_reopened:
        log = reopened(disk)
    append(log, count=3, leader_epoch=3)
    log.flush()
    assert offsets(reopened(disk.crash(), clean=False)) == [0, 1, 2]
