"""Files that a crash caught on their way out, half written, or about to change places."""

from __future__ import annotations

from headrace.testing import MemoryDisk
from tests.log.logs import (
    FOLDER,
    append,
    batch,
    files,
    new_disk,
    new_log,
    offsets,
    reopened,
)
from tests.settings import log_config

SMALL = log_config(segment_bytes=300, cleanup_policy=("compact",))


def four_segments(disk: MemoryDisk) -> list[int]:
    """Base offsets of segments with two records each."""
    log = new_log(disk, SMALL)
    for _ in range(8):
        append(log, size=79, key=b"k")
    log.close()
    bases = [segment.base_offset for segment in log.segments]
    assert bases == [0, 2, 4, 6]
    return bases


def write_segment(disk: MemoryDisk, base: int, suffix: str, *batches: memoryview) -> None:
    log = disk.open(f"{FOLDER}/{base:020d}.log{suffix}", create=True)
    log.append([bytes(each) for each in batches])
    for index in ("index", "timeindex"):
        disk.open(f"{FOLDER}/{base:020d}.{index}{suffix}", create=True)


def leftovers(disk: MemoryDisk) -> list[str]:
    return [name for name in files(disk) if name.endswith((".deleted", ".cleaned", ".swap"))]


def test_deleted_and_cleaned_files_are_removed() -> None:
    """Neither a segment that was let go nor an unfinished compaction comes back."""
    disk = new_disk()
    four_segments(disk)
    write_segment(disk, 100, ".deleted", batch(base_offset=100))
    write_segment(disk, 0, ".cleaned", batch(base_offset=0))
    disk.open(f"{FOLDER}/leader-epoch-checkpoint.tmp", create=True)
    log = reopened(disk, SMALL)
    assert leftovers(disk) == []
    assert not files(disk, ".tmp")
    assert offsets(log) == list(range(8))


def test_a_complete_swap_is_finished() -> None:
    """The compacted segment takes the place of all segments whose offsets it covers."""
    disk = new_disk()
    four_segments(disk)
    write_segment(disk, 0, ".swap", batch(base_offset=1), batch(base_offset=3))
    log = reopened(disk, SMALL)
    assert leftovers(disk) == []
    assert [segment.base_offset for segment in log.segments] == [0, 4, 6]
    assert offsets(log) == [1, 3, 4, 5, 6, 7]


def test_a_swap_whose_log_was_already_renamed_is_finished() -> None:
    """A crash between two renames leaves indexes that still carry the suffix."""
    disk = new_disk()
    four_segments(disk)
    for suffix in ("index", "timeindex"):
        disk.rename(f"{FOLDER}/{0:020d}.{suffix}", f"{FOLDER}/{0:020d}.{suffix}.swap")
    log = reopened(disk, SMALL)
    assert leftovers(disk) == []
    assert offsets(log) == list(range(8))


def test_an_incomplete_swap_is_dropped() -> None:
    """While results are still called `.cleaned`, those behind them do not count either."""
    disk = new_disk()
    four_segments(disk)
    write_segment(disk, 0, ".cleaned", batch(base_offset=1))
    write_segment(disk, 2, ".swap", batch(base_offset=3))
    log = reopened(disk, SMALL)
    assert leftovers(disk) == []
    assert offsets(log) == list(range(8))


def test_an_earlier_complete_swap_is_kept_beside_a_later_incomplete_one() -> None:
    """Results below the first unfinished one belong to a round that was complete."""
    disk = new_disk()
    four_segments(disk)
    write_segment(disk, 0, ".swap", batch(base_offset=1))
    write_segment(disk, 4, ".cleaned", batch(base_offset=5))
    log = reopened(disk, SMALL)
    assert leftovers(disk) == []
    assert offsets(log) == list(range(1, 8))


def test_a_swap_caught_between_its_files_is_dropped() -> None:
    """The log is already called `.swap`, its index still `.cleaned`: not all were complete."""
    disk = new_disk()
    four_segments(disk)
    disk.open(f"{FOLDER}/{2:020d}.index.cleaned", create=True)
    disk.open(f"{FOLDER}/{2:020d}.log.swap", create=True).append([batch(base_offset=3)])
    log = reopened(disk, SMALL)
    assert leftovers(disk) == []
    assert offsets(log) == list(range(8))


def test_nothing_of_a_replaced_segment_is_left() -> None:
    """The old segment of the same name had aborted transactions; the new one has none."""
    disk = new_disk()
    four_segments(disk)
    disk.open(f"{FOLDER}/{0:020d}.txnindex", create=True).append([bytes(34)])
    write_segment(disk, 0, ".swap", batch(base_offset=1))
    reopened(disk, SMALL)
    assert files(disk, ".txnindex") == []
