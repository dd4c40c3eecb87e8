"""The compiled reader of records: one walk that checks and counts, one that copies into columns.

    TYPE     FIELD                  NOTE
    varint   length                 bytes after this field
    int8     attributes             unused
    varlong  timestamp_delta        from the batch's base_timestamp
    varint   offset_delta           from the batch's base_offset
    varint   key_length, key        -1: no key
    varint   value_length, value    -1: no value
    varint   header_count           then for each: varint length, UTF-8 name, varint length (-1:
                                    null), content

`measure` trusts nothing: every length is held against the end of its record and every record
against the end of its batch, so that it reads no byte outside of the payloads whatever they hold,
and its totals are exact. `fill` writes columns of just that size. Both agree with
`headrace.records.record`, which reads the same bytes in Python and is the words to this music.

The module refuses to know topics, codecs and Arrow.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from headrace.pipelines.columns.native import (
    compiled,
    copy_bytes,
    inlined,
    int32s,
    int64,
    int64s,
    load_byte,
    tuple_type,
    uint8s,
)
from headrace.records.record import MIN_RECORD_LENGTH

Bytes: TypeAlias = NDArray[np.uint8]
Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]

# The columns of the table of batches.
BATCH_FIELDS: Final = 8
ADDRESS, SIZE, COUNT, BASE_OFFSET, LAST_DELTA = range(5)
BASE_TIMESTAMP, APPEND_TIME, TIMESTAMP_TYPE = range(5, BATCH_FIELDS)

# The totals of `measure`; what the first two are instead if a record is malformed.
TOTALS: Final = 6
ROWS, KEY_BYTES, VALUE_BYTES, HEADERS, NAME_BYTES, CONTENT_BYTES = range(TOTALS)
FAULTY_BATCH, FAULTY_BYTE = range(2)

PAST_THE_END: Final = 1 << 62
"""An address behind all memory: what was to be read from there on has failed already."""

# A time in milliseconds beyond these has no microseconds in 64 bits.
_MIN_MILLIS: Final = -(2**63) // 1000 + 1
_MAX_MILLIS: Final = (2**63 - 1) // 1000


class BinaryColumn(NamedTuple):
    """Where each row ends, the bytes of all of them, and one bit a row that is off for null."""

    ends: Int32s
    data: Bytes
    valid: Bytes


class NumberColumns(NamedTuple):
    offsets: Int64s
    timestamps: Int64s
    timestamps_valid: Bytes
    timestamp_types: Int32s


class HeaderColumns(NamedTuple):
    """The lists of all rows in one, and their insides; a row without headers is null."""

    ends: Int32s
    valid: Bytes
    names: BinaryColumn
    contents: BinaryColumn


_binary_type: Final = tuple_type(BinaryColumn, int32s, uint8s, uint8s)
_numbers_type: Final = tuple_type(NumberColumns, int64s, int64s, uint8s, int32s)
_headers_type: Final = tuple_type(HeaderColumns, int32s, uint8s, _binary_type, _binary_type)
_table_type: Final = types.int64[:, ::1]


@inlined
def _read_varint(at: int, end: int, bits: int) -> tuple[int, int]:
    """The number at `at` and the address after it: PAST_THE_END if it is cut or too long."""
    if at >= end:
        return 0, PAST_THE_END
    value = load_byte(at)
    at += 1
    if value >= 0x80:
        value &= 0x7F
        shift = 7
        while True:
            if at >= end or shift >= bits:
                return 0, PAST_THE_END
            byte = load_byte(at)
            at += 1
            if shift + 7 > bits and byte >> (bits - shift):
                return 0, PAST_THE_END
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
    # The shift must bring in zeros, also where 64 bits are all in use.
    return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), at


@inlined
def _after(at: int, length: int) -> int:
    """The address after a field of this length, where -1 means null."""
    if length >= 0:
        return at + length
    return at if length == -1 else PAST_THE_END


@inlined
def _measure_headers(at: int, end: int, count: int) -> tuple[int, int, int]:
    """Bytes of all names and of all contents, and the address after them."""
    name_bytes = 0
    content_bytes = 0
    # A header takes two bytes at least, so no count can make the loop run for long.
    if count < 0 or count > (end - at) >> 1:
        return 0, 0, PAST_THE_END
    for _ in range(count):
        length, at = _read_varint(at, end, 32)
        if length < 0:
            return 0, 0, PAST_THE_END
        name_bytes += length
        length, at = _read_varint(at + length, end, 32)
        content_bytes += max(length, 0)
        at = _after(at, length)
    return name_bytes, content_bytes, at


@compiled(types.boolean(_table_type, int64, int64, int64s))
def measure(batches: Int64s, first_offset: int, end_offset: int, totals: Int64s) -> bool:
    """Whether all batches are sound; `totals` then has the size of the rows between the offsets."""
    for index in range(len(batches)):
        at = batches[index, ADDRESS]
        stop = at + batches[index, SIZE]
        base_offset = batches[index, BASE_OFFSET]
        last_delta = batches[index, LAST_DELTA]
        previous = -1
        start = at
        for _ in range(batches[index, COUNT]):
            start = at
            length, at = _read_varint(at, stop, 32)
            end = at + length
            if length < MIN_RECORD_LENGTH or end > stop:
                at = PAST_THE_END
                break
            _time_delta, at = _read_varint(at + 1, end, 64)
            delta, at = _read_varint(at, end, 32)
            if delta <= previous or delta > last_delta:
                at = PAST_THE_END
            previous = delta
            key_length, at = _read_varint(at, end, 32)
            value_length, at = _read_varint(_after(at, key_length), end, 32)
            header_count, at = _read_varint(_after(at, value_length), end, 32)
            name_bytes = content_bytes = 0
            if header_count != 0:
                name_bytes, content_bytes, at = _measure_headers(at, end, header_count)
            if at != end:
                at = PAST_THE_END
                break
            if first_offset <= base_offset + delta < end_offset:
                totals[ROWS] += 1
                totals[KEY_BYTES] += max(key_length, 0)
                totals[VALUE_BYTES] += max(value_length, 0)
                totals[HEADERS] += header_count
                totals[NAME_BYTES] += name_bytes
                totals[CONTENT_BYTES] += content_bytes
        if at != stop:
            totals[FAULTY_BATCH] = index
            totals[FAULTY_BYTE] = start - batches[index, ADDRESS]
            return False
    return True


@inlined
def _append(column: BinaryColumn, row: int, at: int, end: int) -> int:
    """Copy the field at `at` into a row; the address after it, or PAST_THE_END if it has no room.

    What `measure` has seen has room. The comparisons keep this true even if someone writes into
    the payload between the two walks.
    """
    length, at = _read_varint(at, end, 32)
    begin = column.ends[row]
    if length < 0:
        column.valid[row >> 3] &= ~(1 << (row & 7))
        column.ends[row + 1] = begin
        return at
    if at + length > end or begin + length > len(column.data):
        column.ends[row + 1] = begin
        return PAST_THE_END
    copy_bytes(column.data.ctypes.data + begin, at, length)
    column.ends[row + 1] = begin + length
    return at + length


@inlined
def _append_headers(columns: HeaderColumns, row: int, at: int, end: int) -> int:
    count, at = _read_varint(at, end, 32)
    first = columns.ends[row]
    last = first + count
    if count < 0 or last >= len(columns.names.ends):
        columns.ends[row + 1] = first
        return PAST_THE_END
    if count == 0:
        columns.valid[row >> 3] &= ~(1 << (row & 7))
    columns.ends[row + 1] = last
    for header in range(first, last):
        at = _append(columns.names, header, at, end)
        at = _append(columns.contents, header, at, end)
    return at


@compiled(
    int64(
        _table_type,
        int64,
        int64,
        _numbers_type,
        _binary_type,
        _binary_type,
        _headers_type,
        types.boolean,
    )
)
def fill(
    batches: Int64s,
    first_offset: int,
    end_offset: int,
    numbers: NumberColumns,
    keys: BinaryColumn,
    values: BinaryColumn,
    headers: HeaderColumns,
    with_headers: bool,
) -> int:
    """Write the rows between the offsets; how many there were. The batches have been measured."""
    row = 0
    capacity = len(numbers.offsets)
    for index in range(len(batches)):
        at = batches[index, ADDRESS]
        stop = at + batches[index, SIZE]
        base_timestamp = batches[index, BASE_TIMESTAMP]
        timestamp_type = batches[index, TIMESTAMP_TYPE]
        for _ in range(batches[index, COUNT]):
            length, at = _read_varint(at, stop, 32)
            end = at + length
            if length < MIN_RECORD_LENGTH or end > stop:
                return -1
            time_delta, at = _read_varint(at + 1, end, 64)
            delta, at = _read_varint(at, end, 32)
            offset = batches[index, BASE_OFFSET] + delta
            if first_offset <= offset < end_offset:
                if row >= capacity:
                    return -1
                at = _append(keys, row, at, end)
                at = _append(values, row, at, end)
                if with_headers:
                    at = _append_headers(headers, row, at, end)
                millis = base_timestamp + time_delta
                if timestamp_type != 0:
                    millis = batches[index, APPEND_TIME]
                if millis < _MIN_MILLIS or millis > _MAX_MILLIS:
                    millis = 0
                    numbers.timestamps_valid[row >> 3] &= ~(1 << (row & 7))
                numbers.offsets[row] = offset
                numbers.timestamps[row] = millis * 1000
                numbers.timestamp_types[row] = timestamp_type
                row += 1
            at = end
    return row
