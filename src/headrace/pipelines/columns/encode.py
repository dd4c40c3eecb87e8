"""Arrow rows as the payloads of record batches: written once, compressed, ready to be sealed.

The columns are those of Spark's sink: `key`, `value`, `headers`, and beyond it `timestamp`. All may
be missing or null. Which rows make a payload is the caller's word, since a batch belongs to one
partition; so is what becomes of the payload, for producer ids and sequences are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.client.producing import RecordsPayload
from headrace.pipelines.columns.binary_fields import (
    BinaryFields,
    Int64s,
    UnwritableRows,
    binary_fields,
    null_fields,
    nulls,
    plain_binary,
)
from headrace.records.compression import Codec, compress

_PER_MILLISECOND: Final = {"ms": 1, "us": 1_000, "ns": 1_000_000}


class WritableRows:
    """Rows whose columns have been looked at once, to be written partition by partition.

    `now_ms` is the time of the rows that have none. UnwritableRows names a column or a row that no
    record can hold, and what would do.
    """

    __slots__ = ("_fields", "_held")

    def __init__(self, rows: pa.RecordBatch, *, now_ms: int) -> None:
        from headrace.pipelines.columns.kernels import RowFields

        keys = _column(rows, "key")
        values = _column(rows, "value")
        headers = _header_columns(rows)
        # The fields are addresses into these, and know nothing of who keeps the memory.
        self._held = (keys, values, headers)
        self._fields = RowFields(
            _timestamps(rows, now_ms),
            _fields(keys, rows.num_rows),
            _fields(values, rows.num_rows),
            headers.starts,
            headers.counts,
            _fields(headers.names, 0),
            _fields(headers.contents, 0),
        )

    def payloads(
        self, order: NDArray[np.int64], *, codec: Codec, level: int | None, max_batch_bytes: int
    ) -> Iterator[RecordsPayload]:
        """The rows named by the indexes `order`, in that order, as payloads of records.

        None is larger than `max_batch_bytes` before compression, unless a single record is.
        """
        from headrace.pipelines.columns import kernels

        fields = self._fields
        chosen = _checked_order(order, len(fields.timestamps))
        planned = np.zeros(kernels.PLAN_FIELDS, np.int64)
        start = 0
        while start < len(chosen):
            fault = kernels.plan_payload(chosen, start, fields, max_batch_bytes, planned)
            stop, size, max_timestamp = planned.tolist()
            if fault == kernels.TOO_LARGE:
                raise UnwritableRows(f"row {chosen[stop]} has more than 2 GiB, as no record may")
            if fault == kernels.NAMELESS_HEADER:
                raise UnwritableRows(f"row {chosen[stop]} has a header without a key: give it one")
            payload = np.empty(size, np.uint8)
            kernels.write_payload(chosen, start, stop, fields, payload.ctypes.data)
            yield RecordsPayload(
                payload.data if codec == Codec.NONE else compress(codec, payload.data, level),
                codec,
                stop - start,
                int(fields.timestamps[chosen[start]]),
                max_timestamp,
            )
            start = stop


def encode_rows(
    rows: pa.RecordBatch,
    order: NDArray[np.int64],
    *,
    codec: Codec,
    level: int | None,
    max_batch_bytes: int,
    now_ms: int,
) -> Iterator[RecordsPayload]:
    """`WritableRows.payloads` for rows that all go to one partition."""
    written = WritableRows(rows, now_ms=now_ms)
    return written.payloads(order, codec=codec, level=level, max_batch_bytes=max_batch_bytes)


class _HeaderColumns(NamedTuple):
    starts: Int64s
    counts: Int64s
    names: pa.Array | None
    contents: pa.Array | None


def _checked_order(order: NDArray[np.int64], rows: int) -> Int64s:
    """The order as the kernels need it. An index that names no row would read foreign memory."""
    if len(order) and (order.min() < 0 or order.max() >= rows):
        raise IndexError(f"the order names rows outside of 0 to {rows - 1}")
    return np.require(order, np.int64, ["C", "W"])


def _column(rows: pa.RecordBatch, name: str) -> pa.Array | None:
    index = rows.schema.get_field_index(name)
    return None if index < 0 else plain_binary(rows.column(index), name)


def _fields(column: pa.Array | None, rows: int) -> BinaryFields:
    return null_fields(rows) if column is None else binary_fields(column)


def _timestamps(rows: pa.RecordBatch, now_ms: int) -> Int64s:
    """Milliseconds of every row; parts of one are dropped towards the past."""
    index = rows.schema.get_field_index("timestamp")
    if index < 0 or rows.num_rows == 0 or pa.types.is_null(rows.column(index).type):
        return np.full(rows.num_rows, now_ms, np.int64)
    column = rows.column(index)
    kind = column.type
    is_time = pa.types.is_timestamp(kind) and kind.unit in _PER_MILLISECOND
    if not (is_time or pa.types.is_int64(kind)):
        raise UnwritableRows(
            f"the column 'timestamp' has type {kind}: make it a timestamp of micro or "
            "milliseconds, or a bigint of milliseconds since 1970"
        )
    # What stands where a time is null is anything, and is replaced below.
    numbers = column.cast(pa.int64())
    first = numbers.offset
    times: Int64s = np.frombuffer(numbers.buffers()[1], np.int64)[first : first + len(numbers)]
    if is_time:
        times = times // _PER_MILLISECOND[kind.unit]
    if column.null_count:
        times = np.where(nulls(column), now_ms, times)
    if times.min() < 0:
        raise UnwritableRows(
            f"a row has the timestamp {times.min()} ms: records have none before 1970"
        )
    return np.require(times, np.int64, ["C", "W"])


def _header_columns(rows: pa.RecordBatch) -> _HeaderColumns:
    index = rows.schema.get_field_index("headers")
    if index < 0 or pa.types.is_null(rows.column(index).type) or rows.num_rows == 0:
        nothing = np.zeros(rows.num_rows, np.int64)
        return _HeaderColumns(nothing, nothing, None, None)
    column = rows.column(index)
    kind = column.type
    if not _is_header_list(kind):
        raise UnwritableRows(
            f"the column 'headers' has type {kind}: make it array<struct<key:string,value:binary>>"
        )
    bounds = column.offsets.to_numpy().astype(np.int64)
    counts = np.diff(bounds)
    if column.null_count:
        counts[nulls(column)] = 0
    # Flattening carries the nulls of whole structs over to their members.
    names, contents = column.values.flatten()
    return _HeaderColumns(
        bounds[:-1],
        counts,
        plain_binary(names, "headers.key"),
        plain_binary(contents, "headers.value"),
    )


def _is_header_list(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    entry = kind.value_type
    return pa.types.is_struct(entry) and [field.name for field in entry] == ["key", "value"]
