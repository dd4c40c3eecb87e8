"""Replicas compared batch by batch."""

from __future__ import annotations

from headrace.admin.copies import (
    ChecksumsDiffer,
    Compared,
    Copy,
    OffsetsDiffer,
    compare,
)
from headrace.records.batch import read_header
from headrace.records.builder import build_batch
from headrace.records.record import Record


def batch(base_offset: int, *values: bytes) -> bytes:
    records = [Record(0, 0, None, value) for value in values]
    return build_batch(records, base_offset=base_offset)


FIRST, SECOND, THIRD = batch(0, b"a", b"b"), batch(2, b"c"), batch(3, b"d", b"e")


def test_equal_replicas_are_equal_up_to_the_high_watermark() -> None:
    """And only as far as each of them says that it is committed."""
    copies = {0: Copy(FIRST + SECOND + THIRD, 5), 1: Copy(FIRST + SECOND + THIRD, 3)}
    assert compare(copies) == Compared(3, [])
    assert compare({0: copies[0]}) == Compared(5, [])
    assert compare({0: copies[0], 1: Copy(b"", 5)}) == Compared(None, [])


def test_a_fetch_may_end_within_a_batch() -> None:
    """The rest comes with the next one."""
    copies = {0: Copy(FIRST + SECOND, 3), 1: Copy((FIRST + SECOND)[:-1], 3)}
    assert compare(copies) == Compared(2, [])


def test_other_offsets_end_the_comparison() -> None:
    """The batches of two replicas do not belong together."""
    copies = {0: Copy(FIRST + SECOND, 5), 2: Copy(FIRST + batch(2, b"c", b"d"), 5)}
    assert compare(copies) == Compared(2, [OffsetsDiffer(0, 2, 2, 3)])


def test_other_bytes_are_told_and_the_comparison_goes_on() -> None:
    """By both checksums."""
    other = batch(0, b"a", b"X")
    found = compare({0: Copy(FIRST + SECOND, 3), 1: Copy(other + SECOND, 3)})
    crc, other_crc = read_header(FIRST).crc, read_header(other).crc
    assert found == Compared(3, [ChecksumsDiffer(1, 0, crc, 1, other_crc)])
