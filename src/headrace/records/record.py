"""The records inside a batch: a full reader, and a walk that only counts.

    TYPE     FIELD                  NOTE
    varint   length                 bytes after this field
    int8     attributes             unused
    varlong  timestamp_delta        from the batch's base_timestamp
    varint   offset_delta           from the batch's base_offset
    varint   key_length             -1: no key
    bytes    key
    varint   value_length           -1: no value, a tombstone on a compacted topic
    bytes    value
    varint   header_count
    then for each header: varint key_length, UTF-8 key, varint value_length (-1: null), value

The module refuses to know what keys and values mean: they are bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Final, TypeAlias

from headrace.errors import CorruptData
from headrace.records.batch import HEADER_SIZE, LOG_APPEND_TIME_BIT, BatchHeader
from headrace.records.compression import decompress
from headrace.records.varint import read_varint
from headrace.types import Buffer

Header: TypeAlias = tuple[str, bytes | None]

MAX_PAYLOAD_BYTES: Final = 128 * 1024 * 1024
"""What a batch may hold when decompressed, unless the caller says otherwise."""

MIN_RECORD_LENGTH: Final = 6
"""A record without key, value and headers: six fields of one byte."""

_INT64: Final = 1 << 64
_MAX_INT64: Final = (1 << 63) - 1
_MIN_INT64: Final = -1 << 63


@dataclass(slots=True)
class Record:
    """One record as a reader sees it: its place in the log, its time, and bytes."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[Header] = field(default_factory=list)


def read_payload(
    header: BatchHeader, view: memoryview, max_bytes: int = MAX_PAYLOAD_BYTES
) -> bytes:
    """The records of a batch as one piece of uncompressed memory. `view` begins with the batch."""
    if len(view) < header.size:
        raise CorruptData(
            f"the batch at offset {header.base_offset} has {header.size} bytes, "
            f"but {len(view)} are there"
        )
    return decompress(header.compression, view[HEADER_SIZE : header.size], max_bytes)


def iterate(
    header: BatchHeader, view: memoryview, max_bytes: int = MAX_PAYLOAD_BYTES
) -> Iterator[Record]:
    """The records of a batch in order; `view` begins with the batch.

    A batch that does not hold exactly the records that its header promises raises CorruptData,
    at the first record that is wrong.
    """
    data = read_payload(header, view, max_bytes)
    size = len(data)
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    last_delta = header.last_offset_delta
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_BIT else None
    position = 0
    delta = -1
    headers: list[Header]
    try:
        for _ in range(header.record_count):
            length, position = read_varint(data, position)
            end = position + length
            if length < MIN_RECORD_LENGTH or end > size:
                raise CorruptData(f"a record of {length} bytes at {position} of {size}")
            # The byte skipped here is the record's attributes, which have no meaning yet.
            time_delta, position = read_varint(data, position + 1, 64)
            previous = delta
            delta, position = read_varint(data, position)
            if not previous < delta <= last_delta:
                raise CorruptData(
                    f"offset delta {delta} after {previous}, where {last_delta} is the last"
                )
            key, position = _read_bytes(data, position, end)
            value, position = _read_bytes(data, position, end)
            if data[position] == 0:
                headers, position = [], position + 1
            else:
                headers, position = _read_headers(data, position, end)
            if position != end:
                raise CorruptData(f"a record ends at byte {position}, its length says {end}")
            timestamp = append_time
            if timestamp is None:
                timestamp = base_timestamp + time_delta
                if not _MIN_INT64 <= timestamp <= _MAX_INT64:
                    timestamp = wrap_int64(timestamp)
            yield Record(base_offset + delta, timestamp, key, value, headers)
        if position != size or header.record_count < 0:
            raise CorruptData(
                f"{size - position} bytes follow the last of {header.record_count} records"
            )
    except IndexError:
        raise _located(header, f"the records end at byte {size}, inside a record") from None
    except CorruptData as fault:
        raise _located(header, str(fault)) from None


def wrap_int64(value: int) -> int:
    """Two's complement, as Java computes: a delta that overflowed comes back to the true sum."""
    return (value - _MIN_INT64) % _INT64 + _MIN_INT64


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_varint(data, position)
    stop = position + length
    if position <= stop <= end:
        return data[position:stop], stop
    if length == -1:
        return None, position
    raise CorruptData(f"{length} bytes at {position}, where the record ends at {end}")


def _read_headers(data: bytes, position: int, end: int) -> tuple[list[Header], int]:
    count, position = read_varint(data, position)
    # A header takes two bytes at least, so no count can make the loop run for long.
    if not 0 <= count <= (end - position) // 2:
        raise CorruptData(f"{count} headers in {end - position} bytes")
    headers: list[Header] = []
    for _ in repeat(None, count):
        name, position = _read_bytes(data, position, end)
        if name is None:
            raise CorruptData(f"a header without a name before byte {position}")
        value, position = _read_bytes(data, position, end)
        try:
            headers.append((name.decode(), value))
        except UnicodeDecodeError:
            raise CorruptData(f"the header name {name!r} is not UTF-8") from None
    return headers, position


def _located(header: BatchHeader, what: str) -> CorruptData:
    return CorruptData(f"the batch at offset {header.base_offset} is malformed: {what}")


PAST_THE_END: Final = 1 << 62

# The walk below spends its time on length fields of one or two bytes. What such a byte adds to the
# position is looked up; a length that no record can have jumps past the end of any payload, where
# reading on fails by itself.
ONE_BYTE_HOP: Final = tuple(
    1 + (byte >> 1) if byte & 1 == 0 and byte >> 1 >= MIN_RECORD_LENGTH else PAST_THE_END
    for byte in range(0x80)
)
LOW_BYTE_HOP: Final = tuple(
    2 + ((byte & 0x7F) >> 1) if byte & 1 == 0 else PAST_THE_END for byte in range(0x100)
)


# Records of one producer are often of one size. A run of them is proven by comparing every first
# and every second byte of its length fields at once, which costs no Python step for each record.
# The first run ends where an offset's delta gets its second byte; each success doubles the next.
_RUN: Final = 64
_MIN_RUN: Final = 8


def count_records(records: Buffer, count: int) -> bool:
    """Whether exactly `count` records fill the payload, by hopping from length to length.

    Nothing is read but the lengths and nothing is allocated for each record, so this is what a
    leader can afford on every batch that it takes.
    """
    payload = memoryview(records)
    position = 0
    run = _RUN
    try:
        while count >= _MIN_RUN:
            run = min(run, count)
            after = _run_end(payload, position, run)
            if after:
                position = after
                count -= run
                run *= 2
            elif run > _RUN:
                run = _RUN
            else:
                position = _hop(payload, position, run)
                count -= run
        position = _hop(payload, position, count)
    except IndexError:
        return False
    return position == len(payload)


def _run_end(payload: memoryview, position: int, count: int) -> int:
    """The end of `count` records of one size; 0 if they are not."""
    first = payload[position]
    size = _hop(payload, position, 1) - position
    stop = position + count * size
    if stop > len(payload) or not _repeats(payload, position, stop, size):
        return 0
    if first >= 0x80 and not (
        payload[position + 1] < 0x80 and _repeats(payload, position + 1, stop, size)
    ):
        return 0
    return stop


def _repeats(payload: memoryview, start: int, stop: int, step: int) -> bool:
    """Whether all bytes of a slice are the same: each is compared with the one before it."""
    return payload[start : stop - step : step] == payload[start + step : stop : step]


def _hop(payload: memoryview, position: int, count: int) -> int:
    """The end of the `count` records from `position` on; IndexError where there are not so many."""
    one_byte_hop = ONE_BYTE_HOP
    low_byte_hop = LOW_BYTE_HOP
    for _ in repeat(None, count):
        first = payload[position]
        if first < 0x80:
            position += one_byte_hop[first]
            continue
        second = payload[position + 1]
        if second < 0x80:
            position += low_byte_hop[first] + (second << 6)
        else:
            position = _hop_far(payload, position)
    return position


def _hop_far(payload: memoryview, position: int) -> int:
    """The end of the record at `position`, whose length has three bytes or more (8 KiB and up)."""
    try:
        length, start = read_varint(bytes(payload[position : position + 5]), 0)
    except CorruptData:
        return PAST_THE_END
    return position + start + length if length >= 0 else PAST_THE_END
