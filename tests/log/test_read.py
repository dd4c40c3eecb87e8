"""Reading: where a slice begins and ends, what readers may reach, and what a read costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ClientFault, CorruptData, Error
from headrace.log import PartitionLog
from headrace.records.batch import read_header
from headrace.testing import MemoryDisk
from headrace.testing.memory_disk import MemoryFile
from tests.log.logs import (
    EVERYTHING,
    FOLDER,
    append,
    batch,
    content,
    files,
    new_disk,
    new_log,
    offsets,
    read_everything,
    read_from,
    records_in,
    reopened,
    replicated,
)
from tests.settings import log_config

SMALL_SEGMENTS = log_config(segment_bytes=1000, index_interval_bytes=200)


def long_log(disk: MemoryDisk, batches: int = 40) -> PartitionLog:
    """Several segments, several index entries in each, batches of one to three records."""
    log = new_log(disk, SMALL_SEGMENTS)
    for number in range(batches):
        append(log, count=1 + number % 3)
    return log


@pytest.mark.spec("book1:B-10", "admin:LS-35")
def test_a_reader_begins_anywhere() -> None:
    """Any offset of the log can be read first; the slice begins with the batch that holds it."""
    log = long_log(new_disk())
    assert len(log.segments) > 3
    for offset in range(log.log_end_offset):
        piece = log.read(offset, EVERYTHING, up_to=log.log_end_offset)
        header = read_header(content(piece))
        assert header.base_offset == piece.base_offset
        assert header.base_offset <= offset <= header.last_offset


def test_a_read_inside_a_batch_gives_the_whole_batch() -> None:
    """Batches are never taken apart: the client skips what it did not ask for."""
    log = new_log(new_disk())
    append(log, count=10)
    assert [record.offset for record in read_from(log, 7)] == list(range(10))


@pytest.mark.spec("slides:A17")
def test_reading_takes_nothing_away() -> None:
    """Two readers see the same records, and nothing is stored for either of them."""
    disk = new_disk()
    log = long_log(disk)
    before = {name: disk.open(f"{FOLDER}/{name}").size() for name in files(disk)}
    operations = disk.operations
    assert read_everything(log) == read_everything(log)
    assert {name: disk.open(f"{FOLDER}/{name}").size() for name in files(disk)} == before
    assert disk.operations == operations


def test_a_slice_stays_in_one_segment() -> None:
    """A slice is a range of one file; the next read goes on in the next file."""
    log = long_log(new_disk())
    piece = log.read(0, EVERYTHING, up_to=log.log_end_offset)
    assert piece.file is log.segments[0].log
    assert piece.size == log.segments[0].size
    following = log.read(log.segments[1].base_offset, EVERYTHING, up_to=log.log_end_offset)
    assert following.file is log.segments[1].log
    assert following.position == 0


@pytest.mark.spec("book1:B-31")
def test_max_bytes_cuts_anywhere_behind_the_first_batch() -> None:
    """A slice has at most `max_bytes`, even if that cuts a batch; clients drop the rest."""
    log = new_log(new_disk())
    size = append(log).size
    for _ in range(9):
        append(log)
    piece = log.read(0, 3 * size + 5, up_to=log.log_end_offset)
    assert piece.size == 3 * size + 5
    assert [record.offset for record in records_in(content(piece))] == [0, 1, 2]


def test_the_first_batch_comes_whole_or_not_at_all() -> None:
    """KIP-74: a batch larger than the limit is sent whole if it is the first of a response."""
    log = new_log(new_disk())
    size = append(log, size=500).size
    append(log)
    assert log.read(0, 10, up_to=2).size == size
    assert log.read(0, 0, up_to=2).size == size
    assert log.read(0, 10, up_to=2, at_least_one=False).file is None
    assert log.read(0, size, up_to=2, at_least_one=False).size == size


def test_nothing_reaches_the_bound() -> None:
    """No batch at or behind `up_to` is in the slice: readers never see beyond the watermark."""
    for log in (long_log(new_disk()), _cold_copy()):
        ends = [record.offset + 1 for record in read_everything(log)]
        for up_to in ends:
            for offset in range(max(0, up_to - 12), up_to):
                data = content(log.read(offset, EVERYTHING, up_to=up_to))
                assert all(record.offset < up_to for record in records_in(data))
                assert len(data) == sum(_batch_sizes(data))


def _cold_copy() -> PartitionLog:
    """The same log after a restart, when nothing is remembered."""
    disk = new_disk()
    long_log(disk).close()
    return reopened(disk, SMALL_SEGMENTS)


def _batch_sizes(data: bytes) -> list[int]:
    sizes = []
    position = 0
    while position < len(data):
        sizes.append(read_header(data, position).size)
        position += sizes[-1]
    return sizes


def test_a_bound_inside_a_batch_leaves_the_batch_out() -> None:
    """A watermark inside a batch cannot be shown without showing too much."""
    log = new_log(new_disk())
    append(log, count=4)
    append(log, count=4)
    assert [r.offset for r in records_in(content(log.read(0, EVERYTHING, up_to=6)))] == [0, 1, 2, 3]
    assert log.read(0, EVERYTHING, up_to=2).file is None


def test_the_end_of_the_log_is_empty_and_no_error() -> None:
    """A consumer that has read everything asks for the next offset and waits."""
    log = new_log(new_disk())
    append(log, count=3)
    piece = log.read(3, EVERYTHING, up_to=3)
    assert (piece.file, piece.size, piece.base_offset) == (None, 0, 3)
    assert log.read(2, EVERYTHING, up_to=2).file is None


@pytest.mark.parametrize("offset", [-1, 4, 1 << 40])
def test_offsets_outside_the_log_are_out_of_range(offset: int) -> None:
    """The answer names the offsets that there are."""
    log = new_log(new_disk())
    append(log, count=3)
    with pytest.raises(ClientFault, match="offsets 0 to 3") as fault:
        log.read(offset, EVERYTHING, up_to=3)
    assert fault.value.error is Error.OFFSET_OUT_OF_RANGE


def test_deleted_records_are_out_of_range() -> None:
    """What lies below the log's start cannot be read, although its batch is still there."""
    log = new_log(new_disk())
    append(log, count=3)
    log.high_watermark = 3
    log.delete_records_before(2)
    with pytest.raises(ClientFault):
        log.read(1, EVERYTHING, up_to=3)
    assert [record.offset for record in read_from(log, 2)] == [0, 1, 2]


def test_a_reader_at_the_end_costs_no_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding what was just written touches no file: its place is remembered."""
    log = new_log(new_disk(), log_config(index_interval_bytes=100))
    for _ in range(50):
        append(log, count=2)

    def refuse(self: MemoryFile, position: int, size: int) -> bytes:
        raise AssertionError(f"{self.path} was read at {position}")

    monkeypatch.setattr(MemoryFile, "read", refuse)
    for offset in range(2, 100):
        assert log.read(offset, EVERYTHING, up_to=100).size > 0
        assert log.read(offset, EVERYTHING, up_to=99).file is not None or offset >= 98


def test_gaps_are_stepped_over() -> None:
    """Compaction on a leader leaves gaps; a read inside one gives the next batch that there is."""
    log = new_log(new_disk(), log_config(segment_bytes=200))
    for base in (0, 10, 20, 500, 510):
        replicated(log, batch(2, base_offset=base, leader_epoch=0))
    assert len(log.segments) > 2
    for asked, found in ((0, 0), (2, 10), (9, 10), (12, 20), (23, 500), (502, 510)):
        assert log.read(asked, EVERYTHING, up_to=512).base_offset == found
    log.close()


def test_gaps_are_stepped_over_after_a_restart() -> None:
    """The same holds where nothing is remembered and the last segment begins behind the gap."""
    disk = new_disk()
    config = log_config(segment_bytes=200)
    log = new_log(disk, config)
    for base in (0, 10, 20, 500, 510):
        replicated(log, batch(2, base_offset=base, leader_epoch=0))
    log.close()
    log = reopened(disk, config)
    for asked, found in ((0, 0), (2, 10), (9, 10), (12, 20), (23, 500), (502, 510)):
        assert log.read(asked, EVERYTHING, up_to=512).base_offset == found


def test_a_missing_index_is_rebuilt_when_it_is_needed() -> None:
    """Someone deleted the index of an old segment: reads still find everything."""
    disk = new_disk()
    log = long_log(disk)
    wanted = offsets(log)
    log.close()
    index = f"{FOLDER}/00000000000000000000.index"
    before = disk.open(index).read(0, 1000)
    disk.remove(index)
    log = reopened(disk, SMALL_SEGMENTS)
    assert offsets(log) == wanted
    assert disk.open(index).read(0, 1000) == before


@pytest.mark.parametrize("position", [77, 1, 999_999])
def test_an_index_that_points_astray_is_rebuilt(position: int) -> None:
    """An index is never believed blindly: the batch must be where it says."""
    disk = new_disk()
    log = long_log(disk)
    wanted = offsets(log)
    log.close()
    file = disk.open(f"{FOLDER}/00000000000000000000.index")
    for entry in range(file.size() // 8):
        file.write_at(entry * 8 + 4, position.to_bytes(4, "big"))
    log = reopened(disk, SMALL_SEGMENTS)
    assert offsets(log) == wanted


def test_an_index_that_points_too_far_is_rebuilt() -> None:
    """An entry for a small offset with the place of a larger one must not hide records."""
    disk = new_disk()
    log = long_log(disk)
    wanted = offsets(log)
    log.close()
    file = disk.open(f"{FOLDER}/00000000000000000000.index")
    last_position = file.read(file.size() - 4, 4)
    file.write_at(4, last_position)
    for offset in range(log.segments[0].base_offset, log.segments[1].base_offset):
        log = reopened(disk, SMALL_SEGMENTS)
        assert log.read(offset, 1, up_to=log.log_end_offset).base_offset <= offset
    assert offsets(log) == wanted


def test_damage_in_an_old_segment_is_told_and_does_not_spread() -> None:
    """A header that rotted hides what lies behind it in its segment, and nothing else."""
    disk = new_disk()
    log = long_log(disk)
    log.close()
    log = reopened(disk, SMALL_SEGMENTS)
    victim = log.segments[1]
    place = victim.locate(victim.base_offset + 4)
    assert place is not None
    victim.log.write_at(place.position + 16, b"\x09")
    log = reopened(disk, SMALL_SEGMENTS)
    assert read_from(log, 0)
    assert read_from(log, victim.base_offset, 10)[0].offset == victim.base_offset
    with pytest.raises(CorruptData, match="no batch begins here"):
        log.read(place.base_offset, EVERYTHING, up_to=log.log_end_offset)
    assert read_from(log, log.segments[2].base_offset)


@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=60),
    segment_bytes=st.integers(300, 3000),
    interval=st.integers(1, 500),
    max_bytes=st.integers(0, 2000),
    restart=st.booleans(),
)
def test_any_walk_sees_every_record_once(
    counts: list[int], segment_bytes: int, interval: int, max_bytes: int, restart: bool
) -> None:
    """Whatever the sizes, a consumer that follows the offsets misses and repeats nothing."""
    disk = new_disk()
    config = log_config(segment_bytes=segment_bytes, index_interval_bytes=interval)
    log = new_log(disk, config)
    for count in counts:
        append(log, count=count)
    if restart:
        log.close()
        log = reopened(disk, config)
    seen: list[int] = []
    while len(seen) < log.log_end_offset:
        found = [
            record.offset
            for record in read_from(log, len(seen), max_bytes)
            if record.offset >= len(seen)
        ]
        assert found
        seen += found
    assert seen == list(range(sum(counts)))
