"""The keys of a batch's records, and some of its records, without unpacking any of them.

Compaction asks two things of a batch: which keys it holds, and what is left of it when some records
go. Both are answered by hopping over the records' bytes; nothing is copied but the keys and the
records that stay. Values, headers and the meaning of a key are not known here. The layout of a
record is in `headrace.records.record`.

Records of one producer are often alike: same sizes of key and value, small steps of time. A run of
such records is proven alike by comparing the bytes of a whole column at once, and its keys are then
cut out at a constant distance, which costs a quarter of hopping.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Final, NamedTuple

from headrace.errors import CorruptData
from headrace.records.record import (
    LOW_BYTE_HOP,
    MIN_RECORD_LENGTH,
    ONE_BYTE_HOP,
    PAST_THE_END,
    wrap_int64,
)
from headrace.records.varint import encode_varint, read_varint

_NO_LENGTH: Final = 1
"""The varint -1: no key, or no value."""

_MIN_RUN: Final = 16
_MAX_RUN: Final = 1024
_HOPS_BETWEEN_RUNS: Final = 64

_LAST: Final = bytes(range(0x80))
_NOT_LAST: Final = bytes(range(0x80, 0x100))
"""The bytes that may end a varint, and those after which it goes on."""

_NO_VALUE: Final = bytes((_NO_LENGTH,))
_A_VALUE: Final = bytes(byte for byte in range(0x100) if byte != _NO_LENGTH)


class Keys(NamedTuple):
    """What compaction wants to know of a batch. Records are named by their number in it."""

    keys: list[bytes]
    """One for each record; an empty one for a record without a key."""
    tombstones: list[int]
    """The records without a value."""
    keyless: list[int]
    """The records without a key."""


def read_keys(payload: bytes, count: int) -> Keys:
    """The keys of the `count` records that fill the payload; CorruptData if they do not."""
    found = Keys([], [], [])
    position = 0
    left = count
    try:
        while left > 0:
            if left >= _MIN_RUN:
                position, taken = _read_run(payload, position, left, found)
                left -= taken
                if taken:
                    continue
            hops = min(left, _HOPS_BETWEEN_RUNS)
            position = _read_each(payload, position, hops, found)
            left -= hops
    except IndexError:
        raise CorruptData(f"{count} records do not fit in {len(payload)} bytes") from None
    if position != len(payload):
        raise CorruptData(f"{count} records end at byte {position} of {len(payload)}")
    return found


def _read_each(payload: bytes, position: int, count: int, found: Keys) -> int:
    """Add the keys of `count` records from `position` on; returns the end of the last."""
    keys, tombstones, keyless = found
    add = keys.append
    for _ in repeat(None, count):
        byte = payload[position]
        if byte < 0x80:
            end = position + ONE_BYTE_HOP[byte]
            position += 2
        elif payload[position + 1] < 0x80:
            end = position + LOW_BYTE_HOP[byte] + (payload[position + 1] << 6)
            position += 3
        else:
            length, start = read_varint(payload, position)
            end = start + length if length >= MIN_RECORD_LENGTH else PAST_THE_END
            position = start + 1
        # Time and offset are skipped; most have one byte or two.
        while payload[position] >= 0x80:
            position += 1
        position += 1
        while payload[position] >= 0x80:
            position += 1
        position += 1
        byte = payload[position]
        if byte < 0x80 and byte & 1 == 0:
            position += 1
            stop = position + (byte >> 1)
        elif byte == _NO_LENGTH:
            keyless.append(len(keys))
            position = stop = position + 1
        else:
            length, position = read_varint(payload, position)
            stop = position + length if length >= 0 else PAST_THE_END
        if stop >= end:
            raise CorruptData(f"a key at byte {position} does not end in its record")
        if payload[stop] == _NO_LENGTH:
            tombstones.append(len(keys))
        add(payload[position:stop])
        position = end
    return position


class _Shape(NamedTuple):
    """How a record is built, as far as its key can be found by it."""

    key_at: int
    key_end: int
    columns: list[tuple[int, bytes]]
    """For bytes of the record: which values another record of this shape may have there."""


def _read_run(payload: bytes, position: int, left: int, found: Keys) -> tuple[int, int]:
    """Add the keys of the records from `position` on that are built as the first of them is.

    Returns the end of the last of them and their number, which is 0 where they are too few.
    """
    size = _hop(payload, position, 1) - position
    last = position + (_MIN_RUN - 1) * size
    if last >= len(payload) or not payload[position] == payload[position + size] == payload[last]:
        return position, 0  # A glance is enough for most records that are not alike.
    shape = _shape(payload, position)
    if shape is None:
        return position, 0
    key_at, key_end, columns = shape
    count = min(left, _MAX_RUN, (len(payload) - position) // size)
    for at, allowed in columns:
        if count < _MIN_RUN:
            return position, 0
        column = payload[position + at : position + count * size : size]
        if column.translate(None, allowed):
            count -= len(column.lstrip(allowed))
    if count < _MIN_RUN:
        return position, 0
    if payload[position + key_end] == _NO_LENGTH:
        found.tombstones.extend(range(len(found.keys), len(found.keys) + count))
    stop = position + count * size
    key_size = key_end - key_at
    found.keys.extend(
        [payload[start : start + key_size] for start in range(position + key_at, stop, size)]
    )
    return stop, count


def _shape(payload: bytes, position: int) -> _Shape | None:
    """The shape of the record at `position`; None for one that is left to hopping."""
    length, start = read_varint(payload, position)
    columns = [(at, payload[position + at : position + at + 1]) for at in range(start - position)]
    at = start + 1  # behind the attributes, which have no meaning yet
    for _ in ("time", "offset"):
        while payload[at] >= 0x80:
            columns.append((at - position, _NOT_LAST))
            at += 1
        columns.append((at - position, _LAST))
        at += 1
    key_length = payload[at]
    if key_length >= 0x80 or key_length & 1:
        return None
    columns.append((at - position, payload[at : at + 1]))
    key_at = at + 1
    key_end = key_at + (key_length >> 1)
    if length < MIN_RECORD_LENGTH or key_end >= start + length:
        return None  # It is damaged, and the hop over it says how.
    has_value = payload[key_end] != _NO_LENGTH
    columns.append((key_end - position, _A_VALUE if has_value else _NO_VALUE))
    return _Shape(key_at - position, key_end - position, columns)


def cut_out(payload: bytes, kept: Iterable[int]) -> list[bytes]:
    """The records with these numbers, in ascending order, each with its length before it.

    Only for a payload in which `read_keys` found no fault.
    """
    records = []
    position = number = 0
    for wanted in kept:
        start = _hop(payload, position, wanted - number)
        position = _hop(payload, start, 1)
        number = wanted + 1
        records.append(payload[start:position])
    return records


def _hop(payload: bytes, position: int, count: int) -> int:
    """The end of the `count` records from `position` on."""
    for _ in repeat(None, count):
        byte = payload[position]
        if byte < 0x80:
            position += ONE_BYTE_HOP[byte]
        elif payload[position + 1] < 0x80:
            position += LOW_BYTE_HOP[byte] + (payload[position + 1] << 6)
        else:
            length, start = read_varint(payload, position)
            position = start + length if length >= 0 else PAST_THE_END
    return position


def time_delta(record: bytes) -> int:
    """How far a record's time lies behind the base timestamp of its batch."""
    _, start = read_varint(record, 0)
    return read_varint(record, start + 1, 64)[0]


def shift_time(record: bytes, by: int) -> bytes:
    """The record with a time delta that is larger by so much, as for an earlier base timestamp."""
    _, start = read_varint(record, 0)
    delta, end = read_varint(record, start + 1, 64)
    shifted = encode_varint(wrap_int64(delta + by))
    length = encode_varint(1 + len(shifted) + len(record) - end)
    return b"".join((length, record[start : start + 1], shifted, record[end:]))
