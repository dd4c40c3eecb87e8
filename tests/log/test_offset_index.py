"""The offset index: bytes, search while hot and while cold, cutting, and what is not believed."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.log.offset_index import OffsetIndex
from headrace.testing import MemoryDisk

BASE = 1000
PATH = "/data/orders-0/00000000000000001000.index"


def new_index(disk: MemoryDisk, *entries: tuple[int, int]) -> OffsetIndex:
    disk.make_folder("/data/orders-0")
    index = OffsetIndex(disk, PATH, BASE)
    index.start()
    for offset, position in entries:
        index.append(offset, position)
    return index


def stored(disk: MemoryDisk) -> bytes:
    file = disk.open(PATH)
    return file.read(0, file.size())


@pytest.mark.spec("admin:LS-12")
def test_an_entry_is_relative_offset_and_position() -> None:
    """Entries have eight bytes: two big-endian int32, the offset relative to the base offset."""
    disk = MemoryDisk()
    new_index(disk, (1004, 4200), (1009, 8500)).save()
    assert stored(disk) == struct.pack(">iiii", 4, 4200, 9, 8500)


def test_entries_reach_the_file_only_when_saved() -> None:
    """Appending costs no write; saving twice writes once."""
    disk = MemoryDisk()
    index = new_index(disk, (1004, 4200))
    assert not disk.exists(index.path)
    index.save()
    index.save()
    assert len(stored(disk)) == 8


@pytest.mark.parametrize("cold", [False, True])
def test_lookup_finds_the_last_entry_not_above(cold: bool) -> None:
    """A sparse index answers with the greatest entry that is not above the offset."""
    index = new_index(MemoryDisk(), (1004, 4200), (1009, 8500), (1030, 12800))
    if cold:
        index.cool()
    found = {offset: index.lookup(offset).position for offset in (1000, 1003, 1004, 1008, 1009)}
    assert found == {1000: 0, 1003: 0, 1004: 4200, 1008: 4200, 1009: 8500}
    assert index.lookup(99_999) == (1030, 12800)


@given(
    steps=st.lists(st.integers(1, 50), min_size=1, max_size=6000),
    picks=st.lists(st.integers(0, 400_000), max_size=20),
)
def test_cold_and_hot_search_agree(steps: list[int], picks: list[int]) -> None:
    """The search in the file gives what the search in memory gives, for any size of index."""
    index = new_index(MemoryDisk())
    offset = BASE
    for number, step in enumerate(steps, start=1):
        offset += step
        index.append(offset, number * 5000 % 2**31)
    wanted = [index.lookup(BASE + pick) for pick in picks]
    index.cool()
    assert [index.lookup(BASE + pick) for pick in picks] == wanted


@pytest.mark.parametrize("count", [2047, 2048, 2049, 4097, 5001])
def test_a_large_cold_index_is_searched_in_pieces(count: int) -> None:
    """Every entry of an index that is larger than one read is found."""
    index = new_index(MemoryDisk())
    for number in range(count):
        index.append(BASE + 2 * number + 2, 100 * number + 100)
    index.cool()
    for number in (0, 1, 2, count // 2 - 1, count // 2, count // 2 + 1, count - 2, count - 1):
        for offset in (BASE + 2 * number + 2, BASE + 2 * number + 3):
            assert index.lookup(offset) == (BASE + 2 * number + 2, 100 * number + 100)
    assert index.lookup(BASE + 1).position == 0


def test_a_cold_index_holds_nothing_in_memory_and_comes_back() -> None:
    """Thousands of old segments cost no memory: their entries are in the file only."""
    disk = MemoryDisk()
    index = new_index(disk, (1004, 4200))
    index.cool()
    assert index.entries is None
    assert len(index) == 1
    index.load()
    index.append(1009, 8500)
    index.save()
    assert stored(disk) == struct.pack(">iiii", 4, 4200, 9, 8500)


def test_truncation_drops_entries_at_or_above_the_offset() -> None:
    """What was cut from the log leaves the index too, in memory and in the file."""
    disk = MemoryDisk()
    index = new_index(disk, (1004, 4200), (1009, 8500), (1030, 12800))
    index.save()
    index.truncate_to(1009)
    assert index.last() == (1004, 4200)
    assert len(stored(disk)) == 8
    index.truncate_to(1000)
    assert index.last() is None


def test_zeros_that_kafka_allocated_ahead_are_no_entries() -> None:
    """Apache Kafka's active index is 10 MiB of mostly zeros; the entries before them count."""
    disk = MemoryDisk()
    disk.make_folder("/data/orders-0")
    # The second position ends with a zero byte, which belongs to its entry.
    entries = struct.pack(">iiii", 4, 4200, 9, 8448)
    disk.open(PATH, create=True).append([entries + bytes(10_000)])
    index = OffsetIndex(disk, PATH, BASE)
    index.load()
    assert index.last() == (1009, 8448)
    assert stored(disk) == entries


def test_it_is_full_by_kafkas_rounding() -> None:
    """`segment.index.bytes` counts whole entries: 23 bytes hold two."""
    index = new_index(MemoryDisk(), (1004, 4200))
    assert not index.is_full(23)
    index.append(1009, 8500)
    assert index.is_full(23)


@pytest.mark.parametrize(
    ("data", "plausible"),
    [
        (b"", True),
        (struct.pack(">ii", 4, 4200), True),
        (struct.pack(">ii", 4, 4200) + b"\0", False),
        (struct.pack(">ii", 0, 4200), False),
        (struct.pack(">ii", -4, 4200), False),
        (struct.pack(">ii", 4, 9000), False),
        (struct.pack(">iiii", 4, 4200, 0, 0), False),
    ],
    ids=["empty", "good", "torn", "at base", "negative", "behind the log", "zeros at the end"],
)
def test_what_a_cold_index_must_be(data: bytes, plausible: bool) -> None:
    """Size and last entry decide at a glance whether an index belongs to a log of 9000 bytes."""
    disk = MemoryDisk()
    disk.make_folder("/data/orders-0")
    disk.open(PATH, create=True).append([data])
    assert OffsetIndex(disk, PATH, BASE).is_plausible(9000) is plausible


def test_a_missing_file_is_not_plausible() -> None:
    """An index that is not there must be rebuilt, not taken for empty."""
    disk = MemoryDisk()
    disk.make_folder("/data/orders-0")
    assert not OffsetIndex(disk, PATH, BASE).is_plausible(9000)


def test_the_doubtful_end_is_dropped() -> None:
    """After a crash only entries before the first impossible one are kept."""
    disk = MemoryDisk()
    index = new_index(disk, (1004, 4200), (1009, 8500), (1009, 8600), (1050, 8700))
    index.keep_plausible(9000)
    assert [index.entry(n) for n in range(len(index))] == [(1004, 4200), (1009, 8500)]
    index.keep_plausible(8500)
    assert index.last() == (1004, 4200)
