"""The compiled writer of records: one walk that says how many fit, one that writes them.

The layout of a record is at the head of `record_reader`. Offset deltas count from 0, timestamp
deltas from the first record of a payload, so that a payload can become a batch as it is.

`plan` finds the exact size of the payload that `write` then fills: a payload never has to grow or
to be cut. The module refuses to know Arrow, codecs and batch headers.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headrace.pipelines.columns.binary_fields import BinaryFields
from headrace.pipelines.columns.native import (
    compiled,
    copy_bytes,
    inlined,
    int64,
    int64s,
    store_byte,
    tuple_type,
)

Int64s: TypeAlias = NDArray[np.int64]

# What `plan` tells of a payload. After a fault, STOP is the place in the order of the bad row.
STOP, SIZE, MAX_TIMESTAMP = range(3)
PLAN_FIELDS: Final = 3

SOUND, TOO_LARGE, NAMELESS_HEADER = range(3)

_MAX_RECORD_BYTES: Final = 2**31 - 1


class RowFields(NamedTuple):
    """The columns of rows. Row `i` has `header_counts[i]` headers from `header_starts[i]` on."""

    timestamps: Int64s
    keys: BinaryFields
    values: BinaryFields
    header_starts: Int64s
    header_counts: Int64s
    names: BinaryFields
    contents: BinaryFields


_binary_type: Final = tuple_type(BinaryFields, int64, int64s, int64s)
_rows_type: Final = tuple_type(
    RowFields, int64s, _binary_type, _binary_type, int64s, int64s, _binary_type, _binary_type
)


@inlined
def _zigzag(value: int) -> int:
    return (value << 1) ^ (value >> 63)


@inlined
def _varint_size(value: int) -> int:
    rest = _zigzag(value)
    size = 1
    while rest & ~0x7F:
        rest = (rest >> 7) & 0x01FFFFFFFFFFFFFF
        size += 1
    return size


@inlined
def _field_size(length: int) -> int:
    return _varint_size(length) + max(length, 0)


@inlined
def _body_size(rows: RowFields, row: int, offset_delta: int, base_timestamp: int) -> int:
    """Bytes of a record after its length; -1 if a header has no name."""
    size = (
        1
        + _varint_size(rows.timestamps[row] - base_timestamp)
        + _varint_size(offset_delta)
        + _field_size(rows.keys.lengths[row])
        + _field_size(rows.values.lengths[row])
        + _varint_size(rows.header_counts[row])
    )
    first = rows.header_starts[row]
    for header in range(first, first + rows.header_counts[row]):
        if rows.names.lengths[header] < 0:
            return -1
        size += _field_size(rows.names.lengths[header])
        size += _field_size(rows.contents.lengths[header])
    return size


@compiled(int64(int64s, int64, _rows_type, int64, int64s))
def plan(order: Int64s, start: int, rows: RowFields, max_bytes: int, planned: Int64s) -> int:
    """The longest payload of rows from `start` in the order that has no more than `max_bytes`.

    It has one record at least, however large. The answer is SOUND or what is wrong with a row.
    """
    base_timestamp = rows.timestamps[order[start]]
    planned[SIZE] = 0
    planned[MAX_TIMESTAMP] = base_timestamp
    for place in range(start, len(order)):
        row = order[place]
        planned[STOP] = place
        body = _body_size(rows, row, place - start, base_timestamp)
        if body < 0:
            return NAMELESS_HEADER
        size = planned[SIZE] + _field_size(body)
        if size > max_bytes and place > start:
            return SOUND
        if size > _MAX_RECORD_BYTES:
            return TOO_LARGE
        planned[SIZE] = size
        planned[MAX_TIMESTAMP] = max(planned[MAX_TIMESTAMP], rows.timestamps[row])
    planned[STOP] = len(order)
    return SOUND


@inlined
def _write_varint(at: int, value: int) -> int:
    rest = _zigzag(value)
    while rest & ~0x7F:
        store_byte(at, rest | 0x80)
        rest = (rest >> 7) & 0x01FFFFFFFFFFFFFF
        at += 1
    store_byte(at, rest)
    return at + 1


@inlined
def _write_field(at: int, fields: BinaryFields, row: int) -> int:
    length = int(fields.lengths[row])
    at = _write_varint(at, length)
    if length <= 0:
        return at
    copy_bytes(at, fields.address + fields.starts[row], length)
    return at + length


@compiled(int64(int64s, int64, int64, _rows_type, int64))
def write(order: Int64s, start: int, stop: int, rows: RowFields, target: int) -> int:
    """Write the records that were planned to the address `target`; the address after them."""
    at = target
    base_timestamp = rows.timestamps[order[start]]
    for place in range(start, stop):
        row = order[place]
        at = _write_varint(at, _body_size(rows, row, place - start, base_timestamp))
        store_byte(at, 0)
        at = _write_varint(at + 1, rows.timestamps[row] - base_timestamp)
        at = _write_varint(at, place - start)
        at = _write_field(at, rows.keys, row)
        at = _write_field(at, rows.values, row)
        at = _write_varint(at, rows.header_counts[row])
        first = rows.header_starts[row]
        for header in range(first, first + rows.header_counts[row]):
            at = _write_field(at, rows.names, header)
            at = _write_field(at, rows.contents, header)
    return at
