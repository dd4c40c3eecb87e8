"""The compiled half of this room: records to columns, columns to records, and murmur2.

A record, of which a batch's payload holds one after the other:

    TYPE     FIELD                  NOTE
    varint   length                 bytes after this field
    int8     attributes             unused
    varlong  timestamp_delta        from the batch's base_timestamp
    varint   offset_delta           from the batch's base_offset
    varint   key_length, key        -1: no key
    varint   value_length, value    -1: no value
    varint   header_count           then for each: varint length, UTF-8 name, varint length (-1:
                                    null), content

Both ways go in two walks. The first measures exactly, the second writes into memory of just that
size. `measure_records` trusts nothing: every length is held against the end of its record and every
record against the end of its batch, so that no byte outside of the payloads is read whatever they
hold. It agrees with `headrace.records.record`, which reads the same bytes in Python.

A fetch is a list of batches, each somewhere in memory. To hand them to compiled code as arrays
would take longer than to decode a small one, so kernels take addresses: plain integers, which no
type protects.

The module refuses to know topics, codecs and Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headrace.pipelines.kernels.compilation import compiled, inlined
from headrace.pipelines.kernels.memory import (
    Bytes,
    Words,
    address_of,
    borrowed,
    copy_bytes,
    load_byte,
    load_word,
    store_byte,
)
from headrace.pipelines.kernels.varints import (
    read_varint,
    unzigzag,
    varint_size,
    write_varint,
    zigzag,
)

if TYPE_CHECKING:
    from headrace.pipelines.columns.binary_fields import BinaryFields

Int32s: TypeAlias = NDArray[np.int32]

# The columns of the table of batches.
BATCH_FIELDS: Final = 8
ADDRESS, SIZE, COUNT, BASE_OFFSET, LAST_DELTA = range(5)
BASE_TIMESTAMP, APPEND_TIME, TIMESTAMP_TYPE = range(5, BATCH_FIELDS)

# The totals of `measure_records`; what the first two are instead if a record is malformed.
TOTALS: Final = 6
ROWS, KEY_BYTES, VALUE_BYTES, HEADERS, NAME_BYTES, CONTENT_BYTES = range(TOTALS)
FAULTY_BATCH, FAULTY_BYTE = range(2)

MIN_RECORD_LENGTH: Final = 6
"""A record without key, value and headers: six fields of one byte."""

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
    offsets: Words
    timestamps: Words
    timestamps_valid: Bytes
    timestamp_types: Int32s


class HeaderColumns(NamedTuple):
    """The lists of all rows in one, and their insides; a row without headers is null."""

    ends: Int32s
    valid: Bytes
    names: BinaryColumn
    contents: BinaryColumn


@inlined
def _read_varint(at: int, end: int, bits: int) -> tuple[int, int]:
    """The number at `at` and the address after it: PAST_THE_END if it is cut or too long."""
    number, after = read_varint(at, end, bits)
    return unzigzag(number), after if after >= 0 else PAST_THE_END


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


@compiled
def measure_records(batches: Words, first_offset: int, end_offset: int, totals: Words) -> bool:
    """Whether all batches are sound; `totals` then has the size of the rows between the offsets."""
    batches, totals = borrowed((batches, totals))
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

    What `measure_records` has seen has room. The comparisons keep this true even if someone writes
    into the payload between the two walks.
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
    copy_bytes(address_of(column.data) + begin, at, length)
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


@compiled
def fill_columns(
    batches: Words,
    first_offset: int,
    end_offset: int,
    numbers: NumberColumns,
    keys: BinaryColumn,
    values: BinaryColumn,
    headers: HeaderColumns,
    with_headers: bool,
) -> int:
    """Write the rows between the offsets; how many there were. The batches have been measured."""
    batches, numbers, keys, values, headers = borrowed((batches, numbers, keys, values, headers))
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


# What `plan_payload` tells of a payload. After a fault, STOP is the bad row's place in the order.
PLAN_FIELDS: Final = 3
STOP, PAYLOAD_SIZE, MAX_TIMESTAMP = range(PLAN_FIELDS)

SOUND, TOO_LARGE, NAMELESS_HEADER = range(3)

_MAX_RECORD_BYTES: Final = 2**31 - 1


class RowFields(NamedTuple):
    """The columns of rows. Row `i` has `header_counts[i]` headers from `header_starts[i]` on."""

    timestamps: Words
    keys: BinaryFields
    values: BinaryFields
    header_starts: Words
    header_counts: Words
    names: BinaryFields
    contents: BinaryFields


@inlined
def _varint_size(value: int) -> int:
    return varint_size(zigzag(value))


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


@compiled
def plan_payload(order: Words, start: int, rows: RowFields, max_bytes: int, planned: Words) -> int:
    """The longest payload of rows from `start` in the order that has no more than `max_bytes`.

    It has one record at least, however large. The answer is SOUND or what is wrong with a row.
    """
    order, rows, planned = borrowed((order, rows, planned))
    base_timestamp = rows.timestamps[order[start]]
    planned[PAYLOAD_SIZE] = 0
    planned[MAX_TIMESTAMP] = base_timestamp
    for place in range(start, len(order)):
        row = order[place]
        planned[STOP] = place
        body = _body_size(rows, row, place - start, base_timestamp)
        if body < 0:
            return NAMELESS_HEADER
        size = planned[PAYLOAD_SIZE] + _field_size(body)
        if size > min(max_bytes, _MAX_RECORD_BYTES) and place > start:
            return SOUND
        if size > _MAX_RECORD_BYTES:
            return TOO_LARGE
        planned[PAYLOAD_SIZE] = size
        planned[MAX_TIMESTAMP] = max(planned[MAX_TIMESTAMP], rows.timestamps[row])
    planned[STOP] = len(order)
    return SOUND


@inlined
def _write_varint(at: int, value: int) -> int:
    return write_varint(at, zigzag(value))


@inlined
def _write_field(at: int, fields: BinaryFields, row: int) -> int:
    length = int(fields.lengths[row])
    at = _write_varint(at, length)
    if length <= 0:
        return at
    copy_bytes(at, fields.address + fields.starts[row], length)
    return at + length


@compiled
def write_payload(order: Words, start: int, stop: int, rows: RowFields, target: int) -> int:
    """Write the records that were planned to the address `target`; the address after them."""
    order, rows = borrowed((order, rows))
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


_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


@inlined
def _murmur2(address: int, length: int) -> int:
    hashed = _SEED ^ length
    for at in range(address, address + (length & ~3), 4):
        word = (load_word(at) * _MULTIPLIER) & _MASK
        word ^= word >> 24
        word = (word * _MULTIPLIER) & _MASK
        hashed = ((hashed * _MULTIPLIER) & _MASK) ^ word
    tail = length & 3
    if tail:
        at = address + length - tail
        if tail == 3:
            hashed ^= load_byte(at + 2) << 16
        if tail >= 2:
            hashed ^= load_byte(at + 1) << 8
        hashed = ((hashed ^ load_byte(at)) * _MULTIPLIER) & _MASK
    hashed ^= hashed >> 13
    hashed = (hashed * _MULTIPLIER) & _MASK
    return hashed ^ (hashed >> 15)


@compiled
def hash_partitions(keys: BinaryFields, partition_count: int, out: NDArray[np.int32]) -> None:
    """The partition of every key, without its hash's sign; -1 where there is no key."""
    keys, out = borrowed((keys, out))
    for row in range(len(keys.lengths)):
        length = keys.lengths[row]
        if length < 0:
            out[row] = -1
        else:
            hashed = _murmur2(keys.address + keys.starts[row], length)
            out[row] = (hashed & 0x7FFFFFFF) % partition_count
