"""The time index: bytes, growth, search, cutting, and what is not believed."""

from __future__ import annotations

import struct

import pytest

from headrace.log.time_index import TimeIndex, TimestampOffset
from headrace.testing import MemoryDisk

BASE = 1000
PATH = "/data/orders-0/00000000000000001000.timeindex"


def new_index(disk: MemoryDisk, *entries: tuple[int, int]) -> TimeIndex:
    disk.make_folder("/data/orders-0")
    index = TimeIndex(disk, PATH, BASE)
    index.start()
    for timestamp, offset in entries:
        index.maybe_append(timestamp, offset)
    return index


def stored(disk: MemoryDisk) -> bytes:
    file = disk.open(PATH)
    return file.read(0, file.size())


@pytest.mark.spec("admin:LS-13")
def test_an_entry_is_timestamp_and_relative_offset() -> None:
    """Entries have twelve bytes: int64 timestamp, int32 offset relative to the base offset."""
    disk = MemoryDisk()
    new_index(disk, (1_700_000_000_000, 1004), (1_700_000_000_500, 1009)).save()
    assert stored(disk) == struct.pack(">qiqi", 1_700_000_000_000, 4, 1_700_000_000_500, 9)


def test_only_a_larger_timestamp_is_news() -> None:
    """Entries ascend strictly, so equal and smaller timestamps add nothing."""
    index = new_index(MemoryDisk(), (500, 1004), (500, 1005), (400, 1006), (501, 1007))
    assert [index.entry(n) for n in range(len(index))] == [(500, 1004), (501, 1007)]


@pytest.mark.parametrize("cold", [False, True])
def test_lookup_finds_the_last_entry_not_later(cold: bool) -> None:
    """Everything up to the entry found is older than what is searched, or just as old."""
    index = new_index(MemoryDisk(), (500, 1004), (600, 1009))
    if cold:
        index.cool()
    assert index.lookup(499) == TimestampOffset(-1, BASE)
    assert index.lookup(500) == (500, 1004)
    assert index.lookup(599) == (500, 1004)
    assert index.lookup(10**15) == (600, 1009)
    assert index.last() == (600, 1009)


def test_truncation_drops_entries_at_or_above_the_offset() -> None:
    """What was cut from the log leaves the index too."""
    index = new_index(MemoryDisk(), (500, 1004), (600, 1009), (700, 1010))
    index.truncate_to(1009)
    assert index.last() == (500, 1004)


def test_one_place_is_kept_for_the_last_entry() -> None:
    """A segment that rolls because its index is full can still note its largest timestamp."""
    index = new_index(MemoryDisk(), (500, 1004))
    assert not index.is_full(36)
    index.maybe_append(600, 1009)
    assert index.is_full(36)


def test_the_time_zero_at_the_first_offset_is_an_entry() -> None:
    """Twelve zeros alone are the epoch itself; more of them are space that Kafka allocated."""
    disk = MemoryDisk()
    new_index(disk, (0, BASE)).cool()
    index = TimeIndex(disk, PATH, BASE)
    index.load()
    assert index.last() == (0, BASE)
    disk.open(PATH).append([bytes(120)])
    index = TimeIndex(disk, PATH, BASE)
    index.load()
    assert len(index) == 0


@pytest.mark.parametrize(
    ("data", "plausible"),
    [
        (b"", True),
        (struct.pack(">qi", 500, 4), True),
        (struct.pack(">qi", 500, 4) + b"\0", False),
        (struct.pack(">qi", 500, -4), False),
        (struct.pack(">qi", -500, 4), False),
    ],
    ids=["empty", "good", "torn", "negative offset", "negative time"],
)
def test_what_a_cold_index_must_be(data: bytes, plausible: bool) -> None:
    """Size and last entry decide at a glance whether the file can be a time index."""
    disk = MemoryDisk()
    disk.make_folder("/data/orders-0")
    disk.open(PATH, create=True).append([data])
    assert TimeIndex(disk, PATH, BASE).is_plausible() is plausible


def test_the_doubtful_end_is_dropped() -> None:
    """After a crash only entries before the first impossible one are kept."""
    disk = MemoryDisk()
    disk.make_folder("/data/orders-0")
    data = struct.pack(">qiqiqiqi", 500, 4, 600, 9, 550, 12, 700, 13)
    disk.open(PATH, create=True).append([data])
    index = TimeIndex(disk, PATH, BASE)
    index.load()
    index.keep_plausible()
    assert [index.entry(n) for n in range(len(index))] == [(500, 1004), (600, 1009)]
