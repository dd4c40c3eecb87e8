"""Whether the replicas of a partition hold the same batches, as far as all of them say it is so.

Pure: bytes of fetches come in. Only what lies below a replica's own high watermark is compared, and
only as far as every replica has it. A batch is the same if its last offset and its checksum are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headrace.records.batch import HEADER_SIZE, BatchHeader, read_header
from headrace.types import Buffer


class Copy(NamedTuple):
    """What one replica answered."""

    records: Buffer
    high_watermark: int


class OffsetsDiffer(NamedTuple):
    """Two replicas have different batches at one place; there is nothing left to compare."""

    replica: int
    offset: int
    other: int
    other_offset: int


class ChecksumsDiffer(NamedTuple):
    """Two replicas have a batch with the same offsets and other bytes."""

    offset: int
    replica: int
    checksum: int
    other: int
    other_checksum: int


class Compared(NamedTuple):
    """How far the replicas were compared (None: no further), and what was found."""

    next_offset: int | None
    differences: list[OffsetsDiffer | ChecksumsDiffer]


def compare(copies: Mapping[int, Copy]) -> Compared:
    """Compare batch by batch, up to the first that one of them does not show."""
    next_offset: int | None = None
    differences: list[OffsetsDiffer | ChecksumsDiffer] = []
    columns = [_headers(copy) for copy in copies.values()]
    replicas = list(copies)
    for row in zip(*columns, strict=False):
        first = row[0]
        for replica, header in zip(replicas[1:], row[1:], strict=True):
            if header.last_offset != first.last_offset:
                differences.append(
                    OffsetsDiffer(replicas[0], first.last_offset, replica, header.last_offset)
                )
                return Compared(next_offset, differences)
            if header.crc != first.crc:
                differences.append(
                    ChecksumsDiffer(first.last_offset, replicas[0], first.crc, replica, header.crc)
                )
        next_offset = first.next_offset
    return Compared(next_offset, differences)


def _headers(copy: Copy) -> Iterator[BatchHeader]:
    """The whole batches below the high watermark; a fetch may end within one."""
    position = 0
    while position + HEADER_SIZE <= len(copy.records):
        header = read_header(copy.records, position)
        position += header.size
        if position > len(copy.records) or header.last_offset >= copy.high_watermark:
            return
        yield header
