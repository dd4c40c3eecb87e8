"""Columns of byte strings as the JVM and we exchange them: lengths, -1 for null, then the bytes.

Arrow's form is had from it, and it from Arrow's, without a look at a single row (`Column.java` has
the other side). Headers are three columns: how many each row has, their names, their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from headrace.pipelines.connect.model.record import Header
from headrace.pipelines.connect.model.schema import OPTIONAL_BYTES

NO_TIME: Final = -(2**63)
"""The timestamp of a row that has none."""


def column(lengths: memoryview, data: memoryview) -> pa.BinaryArray:
    """A column of a frame as Arrow."""
    sizes = np.frombuffer(lengths, "<i4")
    ends = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(np.maximum(sizes, 0), out=ends[1:])
    missing = int(np.count_nonzero(sizes < 0))
    valid = pa.py_buffer(np.packbits(sizes >= 0, bitorder="little")) if missing else None
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.BinaryArray.from_buffers(pa.binary(), len(sizes), buffers, missing)


def timestamps(data: memoryview) -> pa.Int64Array | None:
    """Timestamps of a frame; None if no row has one."""
    times = np.frombuffer(data, "<i8")
    absent = times == NO_TIME
    return None if absent.all() else pa.array(times, pa.int64(), mask=absent)


def headers(counts: memoryview, columns: Sequence[memoryview]) -> list[tuple[Header, ...]]:
    """The headers of each row, whose values are bytes."""
    names, contents = column(*columns[:2]).to_pylist(), column(*columns[2:]).to_pylist()
    all_of_them = [
        Header(name.decode(), content, OPTIONAL_BYTES)
        for name, content in zip(names, contents, strict=True)
    ]
    found, start = [], 0
    for count in np.frombuffer(counts, "<i4").tolist():
        found.append(tuple(all_of_them[start : start + count]))
        start += count
    return found


def framed(data: pa.Array) -> list[bytes]:
    """A column of Arrow's for a frame: lengths and bytes."""
    if pa.types.is_null(data.type):
        return [np.full(len(data), -1, "<i4").tobytes(), b""]
    if not len(data):
        return [b"", b""]
    data = data.cast(pa.binary())
    _, ends_of_all, content = data.buffers()
    ends = np.frombuffer(ends_of_all, np.int32)[data.offset : data.offset + len(data) + 1]
    lengths = np.diff(ends).astype("<i4")
    if data.null_count:
        lengths[~data.is_valid().to_numpy(zero_copy_only=False)] = -1
        content = b"".join(each for each in data.to_pylist() if each is not None)
        return [lengths.tobytes(), content]
    held = memoryview(content)[ends[0] : ends[-1]] if content is not None else b""
    return [lengths.tobytes(), bytes(held)]


def framed_times(times: pa.Int64Array | None, rows: int) -> bytes:
    """Timestamps for a frame."""
    if times is None:
        return np.full(rows, NO_TIME, "<i8").tobytes()
    filled = times.fill_null(NO_TIME) if times.null_count else times
    return framed_numbers(filled)


def framed_numbers(numbers: pa.Int64Array) -> bytes:
    """Whole numbers for a frame, none of them null."""
    return bytes(numbers.to_numpy(zero_copy_only=False).astype("<i8"))


def framed_headers(found: Sequence[tuple[Header, ...]] | None) -> list[bytes | None]:
    """Headers for a frame, which are bytes on this side: counts, names, values."""
    if found is None:
        return [None, b"", b"", b"", b""]
    each = [header for row in found for header in row]
    counts = np.array([len(row) for row in found], "<i4").tobytes()
    names = framed(pa.array([header.name.encode() for header in each], pa.binary()))
    return [counts, *names, *framed(pa.array([header.value for header in each], pa.binary()))]
