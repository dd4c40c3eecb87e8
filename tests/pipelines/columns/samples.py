"""Batches, rows and a fence that several tests of this folder need."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headrace.pipelines.columns.decode import decode_in_pieces
from headrace.pipelines.columns.schema import arrow_schema
from headrace.records.batch import BatchHeader, TimestampType, read_header
from headrace.records.record import Record, iterate

TOPIC = "orders"
PARTITION = 3
LAST = 2**63 - 1

Batch = tuple[BatchHeader, memoryview]
Row = dict[str, Any]


def opened(*batches: bytes | bytearray | memoryview) -> list[Batch]:
    return [(read_header(batch), memoryview(batch)) for batch in batches]


def decode(
    batches: Sequence[Batch], first: int = 0, end: int = LAST, *, headers: bool = True
) -> pa.RecordBatch:
    """The rows in one piece."""
    pieces = [
        *decode_in_pieces(
            batches,
            topic=TOPIC,
            partition=PARTITION,
            first_offset=first,
            end_offset=end,
            headers=headers,
            piece_bytes=LAST,
        )
    ]
    if not pieces:
        return pa.RecordBatch.from_pylist([], arrow_schema(headers=headers))
    [rows] = pieces
    rows.validate(full=True)
    return rows


def plain(rows: pa.RecordBatch) -> list[Row]:
    """Rows as Python values; times stay numbers, since a datetime holds fewer of them."""
    index = rows.schema.get_field_index("timestamp")
    times = rows.column(index).cast(pa.int64())
    listed: list[Row] = rows.set_column(index, "timestamp", times).to_pylist()
    return listed


def expected(batches: Sequence[Batch], first: int = 0, end: int = LAST) -> list[Row]:
    """The rows as the reader in Python sees them."""
    return [
        row_of(record, header.timestamp_type)
        for header, view in batches
        for record in iterate(header, view)
        if first <= record.offset < end
    ]


def row_of(record: Record, timestamp_type: TimestampType) -> Row:
    micros = record.timestamp * 1000
    return {
        "key": record.key,
        "value": record.value,
        "topic": TOPIC,
        "partition": PARTITION,
        "offset": record.offset,
        "timestamp": micros if -(2**63) <= micros < 2**63 else None,
        "timestampType": int(timestamp_type),
        "headers": [{"key": name, "value": content} for name, content in record.headers] or None,
    }


class Fence:
    """Memory whose end is a page that nobody may touch: reading past it ends the process."""

    def __init__(self, pages: int = 4) -> None:
        self._size = pages * mmap.PAGESIZE
        self._memory = mmap.mmap(-1, self._size + mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        mprotect = ctypes.CDLL(None, use_errno=True).mprotect
        mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        assert mprotect(start + self._size, mmap.PAGESIZE, 0) == 0

    def before(self, data: bytes) -> memoryview:
        """A copy of the data that ends at the fence."""
        place = memoryview(self._memory)[self._size - len(data) : self._size]
        place[:] = data
        return place
