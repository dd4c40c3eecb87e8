"""What leaves a log: by time, by size, by DeleteRecords; never what is not replicated."""

from __future__ import annotations

import errno
from random import Random
from typing import Any

import pytest

from headrace.errors import ClientFault, Error
from headrace.log import PartitionLog
from headrace.testing import MemoryDisk
from tests.log.logs import (
    EVERYTHING,
    FOLDER,
    NOW_MS,
    append,
    batch,
    content,
    files,
    new_disk,
    new_log,
    offsets,
    read_everything,
    reopened,
)
from tests.settings import log_config

DAY_MS = 24 * 3_600_000
SIZE = len(batch(1))


def daily(disk: MemoryDisk, days: int, **settings: Any) -> PartitionLog:
    """One segment for each day, one record in each."""
    log = new_log(disk, log_config(segment_bytes=SIZE, **settings))
    for day in range(days):
        append(log, timestamp=NOW_MS + day * DAY_MS, now_ms=NOW_MS + day * DAY_MS)
    log.high_watermark = log.log_end_offset
    return log


@pytest.mark.spec("book1:B-15")
def test_a_segment_goes_when_its_newest_record_is_too_old() -> None:
    """Seven days by default, measured by the largest timestamp of the segment."""
    log = daily(new_disk(), 10)
    assert log.config.retention_ms == 7 * DAY_MS
    now = NOW_MS + 9 * DAY_MS
    assert log.apply_retention(now) == 2 * SIZE
    assert offsets(log) == list(range(2, 10))
    assert log.log_start_offset == 2
    assert log.apply_retention(now) == 0
    assert log.apply_retention(now + 1) == SIZE


@pytest.mark.spec("book1:B-15")
def test_no_time_limit() -> None:
    """`retention.ms=-1` keeps records however old they are."""
    log = daily(new_disk(), 3, retention_ms=-1)
    assert log.apply_retention(NOW_MS + 10_000 * DAY_MS) == 0


def test_a_young_record_keeps_what_lies_behind_it() -> None:
    """Segments leave from the oldest on: one that must stay keeps all later ones."""
    log = new_log(new_disk(), log_config(segment_bytes=SIZE))
    for timestamp in (0, NOW_MS, 0, 0):
        append(log, timestamp=timestamp)
    log.high_watermark = 4
    log.apply_retention(NOW_MS)
    assert offsets(log) == [1, 2, 3]


@pytest.mark.spec("book1:B-15")
def test_the_active_segment_goes_too_when_everything_is_old() -> None:
    """An idle log empties itself: the active segment is rolled first, offsets go on."""
    disk = new_disk()
    log = daily(disk, 3)
    log.apply_retention(NOW_MS + 100 * DAY_MS)
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (3, 3, 0)
    assert len(log.segments) == 1
    assert append(log).base_offset == 3
    assert files(disk, ".log") == ["00000000000000000003.log"]


@pytest.mark.spec("book1:B-16")
def test_size_retention_removes_whole_segments() -> None:
    """`retention.bytes`: segments go while what is left still has that size."""
    log = daily(new_disk(), 10, retention_bytes=4 * SIZE + 1, retention_ms=-1)
    log.apply_retention(NOW_MS)
    assert offsets(log) == list(range(5, 10))
    log.config = log_config(segment_bytes=SIZE, retention_bytes=4 * SIZE, retention_ms=-1)
    log.apply_retention(NOW_MS)
    assert offsets(log) == list(range(6, 10))
    log.apply_retention(NOW_MS)
    assert offsets(log) == list(range(6, 10))


@pytest.mark.spec("admin:LS-18")
def test_nothing_above_the_high_watermark_goes() -> None:
    """What the followers do not have yet is kept, however old and large it is."""
    log = new_log(new_disk(), log_config(segment_bytes=SIZE, retention_ms=0, retention_bytes=0))
    for _ in range(5):
        append(log, timestamp=1)
    log.high_watermark = 2
    log.apply_retention(NOW_MS)
    assert offsets(log) == [2, 3, 4]


def test_compacted_topics_do_not_delete_by_age() -> None:
    """`cleanup.policy=compact` knows neither time nor size."""
    config = log_config(
        segment_bytes=SIZE + 1, retention_ms=0, retention_bytes=0, cleanup_policy=("compact",)
    )
    log = new_log(new_disk(), config)
    for _ in range(3):
        append(log, timestamp=1, key=b"k")
    log.high_watermark = 3
    assert log.apply_retention(NOW_MS) == 0


@pytest.mark.spec("slides:A50")
def test_files_are_renamed_first_and_deleted_later() -> None:
    """`file.delete.delay.ms`: one minute between the mark `.deleted` and the end of the files."""
    disk = new_disk()
    log = daily(disk, 10)
    now = NOW_MS + 8 * DAY_MS
    log.apply_retention(now)
    stem = "00000000000000000000"
    marked = [f"{stem}.index.deleted", f"{stem}.log.deleted", f"{stem}.timeindex.deleted"]
    assert files(disk, ".deleted") == marked
    log.remove_doomed(now + 59_999)
    assert files(disk, ".deleted") == marked
    log.remove_doomed(now + 60_000)
    assert files(disk, ".deleted") == []


@pytest.mark.spec("slides:A50")
def test_a_reader_may_finish_what_was_deleted() -> None:
    """A slice that was given out before retention can still be sent."""
    log = daily(new_disk(), 10)
    piece = log.read(0, EVERYTHING, up_to=10)
    before = content(piece)
    log.apply_retention(NOW_MS + 8 * DAY_MS)
    assert content(piece) == before
    with pytest.raises(ClientFault):
        log.read(0, EVERYTHING, up_to=10)


def test_a_restart_finishes_the_deletion() -> None:
    """Files marked `.deleted` are gone after the next start."""
    disk = new_disk()
    log = daily(disk, 10)
    log.apply_retention(NOW_MS + 8 * DAY_MS)
    log.close()
    log = reopened(disk, log_config(segment_bytes=SIZE))
    assert files(disk, ".deleted") == []
    assert log.log_start_offset == 1


def test_what_was_derived_from_deleted_segments_goes_with_them() -> None:
    """Snapshots and epochs of the deleted part are forgotten."""
    disk = new_disk()
    log = new_log(disk, log_config(segment_bytes=SIZE))
    for epoch in range(5):
        append(log, timestamp=NOW_MS + epoch, leader_epoch=epoch)
    log.high_watermark = 5
    log.apply_retention(NOW_MS + 7 * DAY_MS + 3)
    assert log.log_start_offset == 3
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(3, 3), (4, 4)]
    assert files(disk, ".snapshot") == [
        "00000000000000000003.snapshot",
        "00000000000000000004.snapshot",
    ]


def test_the_age_of_a_cold_segment_is_read_from_its_time_index() -> None:
    """After a restart retention reads one entry of the oldest segment, not its log."""
    disk = new_disk()
    daily(disk, 10).close()
    log = reopened(disk, log_config(segment_bytes=SIZE))
    log.high_watermark = 10
    log.apply_retention(NOW_MS + 9 * DAY_MS)
    assert log.log_start_offset == 2


def test_delete_records_moves_the_start() -> None:
    """DeleteRecords (KIP-107) hides records at once and removes segments when they are whole."""
    log = daily(new_disk(), 5, retention_ms=-1)
    assert log.delete_records_before(3) == 3
    assert [record.offset for record in read_everything(log)] == [3, 4]
    assert len(log.segments) == 5
    log.apply_retention(NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [3, 4]


def test_delete_records_never_goes_back() -> None:
    """An older request for less is answered with what has been deleted since."""
    log = daily(new_disk(), 5, retention_ms=-1)
    log.delete_records_before(4)
    assert log.delete_records_before(2) == 4


def test_delete_records_up_to_the_high_watermark() -> None:
    """-1 means everything that is committed; anything beyond is out of range."""
    log = daily(new_disk(), 5, retention_ms=-1)
    append(log)
    with pytest.raises(ClientFault, match="high watermark 5") as fault:
        log.delete_records_before(6)
    assert fault.value.error is Error.OFFSET_OUT_OF_RANGE
    with pytest.raises(ClientFault):
        log.delete_records_before(-2)
    assert log.delete_records_before(-1) == 5
    assert offsets(log) == [5]


def test_the_start_given_at_open_holds() -> None:
    """The checkpointed log start offset survives a restart inside a segment."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=5)
    log.high_watermark = 5
    log.delete_records_before(3)
    log.close()
    log = reopened(disk, log_start_offset=3)
    assert log.log_start_offset == 3
    assert log.high_watermark == 3


def test_a_start_beyond_the_end_empties_the_log() -> None:
    """Records that were deleted must not come back because the log's end was lost in a crash."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=5)
    log.close()
    log = reopened(disk, log_start_offset=50, clean=False)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert files(disk, ".log") == ["00000000000000000050.log"]
    assert append(log).base_offset == 50


@pytest.mark.parametrize("seed", range(20))
def test_offsets_are_never_given_out_again(seed: int) -> None:
    """A power cut after everything was deleted must not make the log begin at 0 again."""
    disk = new_disk()
    log = daily(disk, 3)
    log.flush()
    log.apply_retention(NOW_MS + 100 * DAY_MS)
    log = reopened(disk.crash(Random(seed)), log.config, clean=False, recovery_point=3)
    assert log.log_end_offset == 3


def test_what_was_never_flushed_and_is_gone_needs_no_flush() -> None:
    """The recovery point follows the log's start."""
    log = daily(new_disk(), 10)
    assert log.recovery_point == 0
    log.apply_retention(NOW_MS + 9 * DAY_MS)
    assert log.recovery_point == log.log_start_offset == 2


def test_what_lies_before_the_active_segment_goes_from_a_full_disk() -> None:
    """There is no room for a new segment; those before it go all the same, and make some."""
    disk = new_disk()
    log = daily(disk, 3)
    log.leader_epochs.assign(1, 1)
    now = NOW_MS + 100 * DAY_MS
    disk.capacity_bytes = 0
    assert log.apply_retention(now) == 2 * SIZE
    assert (log.log_start_offset, offsets(log)) == (2, [2])
    assert log.leader_epochs.epoch_at(2) == 1
    with pytest.raises(OSError, match="No space left"):
        log.apply_retention(now)
    assert offsets(log) == [2]
    disk.capacity_bytes = None
    assert log.apply_retention(now) == SIZE
    assert append(log).base_offset == 3


def test_a_name_that_finds_no_room_keeps_the_segments_behind_it() -> None:
    """A longer name may need room. What could be renamed is gone, the rest is there as before."""
    disk = new_disk()
    log = daily(disk, 5)
    disk.make_read_only(f"{FOLDER}/{1:020}.log", errno.ENOSPC)
    now = NOW_MS + 10 * DAY_MS
    with pytest.raises(OSError, match="No space left"):
        log.apply_retention(now)
    assert (log.log_start_offset, offsets(log)) == (1, [1, 2, 3, 4])
    disk.mend(f"{FOLDER}/{1:020}.log")
    log.apply_retention(now)
    assert (log.log_start_offset, offsets(log)) == (3, [3, 4])
    log.remove_doomed(now + 60_000)
    assert files(disk, ".deleted") == []
    assert offsets(reopened(disk, log.config)) == [3, 4]


def test_a_file_that_cannot_be_removed_is_tried_again() -> None:
    """It does not keep the others, and after another delay it goes as well."""
    disk = new_disk()
    log = daily(disk, 5)
    now = NOW_MS + 10 * DAY_MS
    log.apply_retention(now)
    disk.make_read_only(f"{FOLDER}/{0:020}.log.deleted", errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        log.remove_doomed(now + 60_000)
    assert files(disk, ".log.deleted") == [f"{0:020}.log.deleted"]
    disk.mend(f"{FOLDER}/{0:020}.log.deleted")
    log.remove_doomed(now + 120_000)
    assert files(disk, ".deleted") == []
