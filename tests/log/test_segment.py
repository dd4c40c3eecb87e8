"""A segment alone: finding, cutting, sealing, renaming, and what it keeps in memory."""

from __future__ import annotations

import pytest

from headrace.errors import InvariantViolated
from headrace.log.segment import LogSegment
from headrace.records.batch import read_header
from headrace.records.builder import BatchBuilder
from headrace.testing import MemoryDisk
from tests.log.logs import FOLDER, NOW_MS, files, new_disk

SIZE = 85  # of a batch that `add` writes


def new_segment(disk: MemoryDisk, base_offset: int = 100, interval: int = 150) -> LogSegment:
    disk.make_folder(FOLDER)
    return LogSegment(
        disk, FOLDER, base_offset, index_interval_bytes=interval, now_ms=NOW_MS, create=True
    )


def add(segment: LogSegment, base_offset: int, count: int = 2, timestamp: int = NOW_MS) -> int:
    """Write a batch at the end; returns its position."""
    builder = BatchBuilder(base_offset=base_offset)
    for _ in range(count):
        builder.append(None, b"value", timestamp)
    data = builder.build()
    position = segment.write([data], len(data))
    segment.note_header(position, read_header(data))
    return position


def filled(disk: MemoryDisk, interval: int = 150) -> tuple[LogSegment, list[int]]:
    segment = new_segment(disk, interval=interval)
    positions = [add(segment, 100 + 2 * n, timestamp=NOW_MS + n) for n in range(20)]
    return segment, positions


@pytest.mark.spec("admin:LS-17")
def test_the_files_share_a_stem_of_twenty_digits() -> None:
    """The stem is the base offset; the log exists at once, its indexes when it is complete."""
    disk = new_disk()
    segment = new_segment(disk, 368_769)
    assert files(disk) == ["00000000000000368769.log"]
    add(segment, 368_769)
    segment.seal()
    stem = "00000000000000368769"
    assert files(disk) == [f"{stem}.index", f"{stem}.log", f"{stem}.timeindex"]


@pytest.mark.parametrize("cold", [False, True])
def test_the_batch_of_an_offset_is_found(cold: bool) -> None:
    """Hot or cold, by memory or by index: the same place for every offset."""
    segment, positions = filled(new_disk())
    if cold:
        segment.seal()
        segment.cool()
    for number, position in enumerate(positions):
        for offset in (100 + 2 * number, 101 + 2 * number):
            place = segment.locate(offset)
            assert place is not None
            assert (place.position, place.base_offset) == (position, 100 + 2 * number)
    assert segment.locate(140) is None


def test_memory_of_recent_batches_is_bounded() -> None:
    """Far behind the end the index answers; the memory for the end does not grow."""
    segment = new_segment(new_disk())
    positions = [add(segment, 100 + n, count=1) for n in range(3000)]
    for number in (0, 1, 700, 1500, 2400, 2999):
        place = segment.locate(100 + number)
        assert place is not None
        assert place.position == positions[number]


@pytest.mark.parametrize(("interval", "step"), [(SIZE - 1, 1), (SIZE, 2), (2 * SIZE, 3)])
def test_entries_follow_kafkas_rule(interval: int, step: int) -> None:
    """An entry for the first batch *more* than an interval behind the last one that has an entry:
    its last offset, and where it begins."""
    segment, positions = filled(new_disk(), interval)
    assert positions[1] == SIZE
    index = segment.offset_index
    wanted = [(101 + 2 * n, positions[n]) for n in range(step, 20, step)]
    assert [index.entry(n) for n in range(len(index))] == wanted
    times = segment.time_index
    assert [times.entry(n) for n in range(len(times))] == [
        (NOW_MS + n, 101 + 2 * n) for n in range(step, 20, step)
    ]


def test_sealing_adds_the_largest_time() -> None:
    """The last entry of the time index is the largest timestamp of the segment."""
    segment, _ = filled(new_disk())
    segment.seal()
    assert segment.time_index.last() == (NOW_MS + 19, 139)
    segment.seal()
    segment.cool()
    assert segment.largest_timestamp() == (NOW_MS + 19, 139)


def test_cutting_keeps_log_and_indexes_in_step() -> None:
    """Nothing names a batch that is gone, and appending goes on."""
    segment, positions = filled(new_disk())
    assert segment.truncate_to(115) == 114
    assert segment.size == positions[7]
    last = segment.offset_index.last()
    assert last is not None
    assert last.offset < 114
    assert segment.largest_timestamp() == (NOW_MS + 6, 113)
    assert add(segment, 114) == positions[7]


def test_a_log_that_someone_else_wrote_to_is_not_continued() -> None:
    """If the file does not end where it should, positions would be wrong from then on."""
    disk = new_disk()
    segment, _ = filled(disk)
    disk.open(segment.log.path).append([b"intruder"])
    with pytest.raises(InvariantViolated, match="the log ended at"):
        add(segment, 140)


def test_renaming_moves_all_files_and_readers_go_on() -> None:
    """A reader that holds the log's file does not notice that it is being deleted."""
    disk = new_disk()
    segment, _ = filled(disk)
    held = segment.log
    before = held.read(0, segment.size)
    segment.rename(FOLDER, ".deleted")
    assert all(name.endswith(".deleted") for name in files(disk))
    assert held.read(0, segment.size) == before
    segment.remove()
    assert files(disk) == []
    segment.remove()
