"""One pass over the records of a batch that comes in windows: are they what the header promises?

A leader asks this before it appends a batch. As in Apache Kafka, the records must be as many as the
header says and fill the payload; if they are compressed, their offset deltas must count up from 0;
a compacted topic needs a key in each. Nothing else of a record is read and nothing of it is kept,
so a batch of any size costs the memory of one window.

Records of one producer are often alike: same size, small steps of time. A run of such records is
proven by comparing the bytes of a whole column at once, which costs no Python step for each record.
The layout of a record is in `headrace.records.record`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from headrace.errors import ClientFault, CorruptData, Error, InvalidRecords
from headrace.records.record import LOW_BYTE_HOP, ONE_BYTE_HOP, PAST_THE_END
from headrace.records.varint import read_varint
from headrace.types import Buffer

MAX_INDEXES: Final = 1_000
"""So many records at fault are named in an answer; a bomb must not become one."""

_MAX_HEAD_BYTES: Final = 5 + 1 + 10 + 5 + 5
"""Length, attributes, time, offset and length of the key at their longest."""

_MAX_TIME_BYTES: Final = 10
_NO_KEY: Final = 1  # the varint -1
_FEW: Final = 16
_MIN_RUN: Final = 8
_RUN: Final = 64
"""The first run ends where an offset delta gets its second byte; each success doubles the next."""

_ENDS: Final = bytes(range(0x80))
_GOES_ON: Final = bytes(range(0x80, 0x100))
"""The bytes that may end a varint, and those after which it goes on."""

# The offset deltas that have one byte, and both bytes of those that have two.
_ONE_BYTE_DELTAS: Final = 64
_TWO_BYTE_DELTAS: Final = 8192
_DELTA: Final = bytes(2 * delta for delta in range(_ONE_BYTE_DELTAS))
_DELTA_LOW: Final = bytes(2 * delta & 0x7F | 0x80 for delta in range(_TWO_BYTE_DELTAS))
_DELTA_HIGH: Final = bytes(2 * delta >> 7 for delta in range(_TWO_BYTE_DELTAS))


class Inspection:
    """The state of one pass: `feed` it all windows in order, then `finish`.

    Both raise ClientFault INVALID_RECORD at the first fault; records without a key are collected.
    """

    __slots__ = ("_count", "_counts_up", "_index", "_keyless", "_needs_keys", "_rest", "_skip")

    def __init__(self, count: int, *, counts_up: bool, needs_keys: bool) -> None:
        assert counts_up or not needs_keys, "keys are found behind the offsets"
        self._count = count
        self._counts_up = counts_up
        self._needs_keys = needs_keys
        self._index = 0  # of the record that comes next
        self._skip = 0  # bytes of the next window that belong to the record before
        self._rest = b""  # the beginning of a record whose head goes on in the next window
        self._keyless: list[int] = []

    def feed(self, window: Buffer) -> None:
        size = len(window)
        if self._skip >= size:
            self._skip -= size
            return
        data = self._rest + bytes(window) if self._rest else bytes(window)
        position = self._walk(data, self._skip)
        if position >= PAST_THE_END:
            raise self._invalid(f"record {self._index - 1} has an impossible length")
        size = len(data)
        if position >= size:
            self._skip, self._rest = position - size, b""
            return
        if self._index == self._count:
            raise self._invalid(f"bytes follow after the last of {self._count} records")
        self._skip, self._rest = 0, data[position:]
        if len(self._rest) >= _MAX_HEAD_BYTES:
            raise self._invalid(f"record {self._index} makes no sense")

    def finish(self) -> None:
        if self._skip or self._rest or self._index != self._count:
            raise self._invalid(f"it ends inside of record {self._index} of {self._count}")
        if self._keyless:
            raise InvalidRecords(
                "a record without key cannot be kept in a compacted topic", self._keyless
            )

    def _invalid(self, what: str) -> ClientFault:
        return ClientFault(
            Error.INVALID_RECORD,
            f"the batch does not hold the {self._count} records that its header promises: {what}",
        )

    # The walk.

    def _walk(self, data: bytes, position: int) -> int:
        """Read the records that begin in `data`; the position of the first that was not read."""
        run = _RUN
        while (left := self._count - self._index) > 0:
            if left >= _MIN_RUN:
                after = self._run(data, position, min(run, left))
                if after:
                    position = after
                    run *= 2
                    continue
                if run > _RUN:
                    run = _RUN
                    continue
            until = self._index + min(left, _RUN)
            if self._counts_up and not self._needs_keys:
                position, self._index = _hop(data, position, self._index, until)
            if self._index < until:
                position = self._step(data, position, until)
            if self._index < until:
                break
        return position

    def _step(self, data: bytes, position: int, until: int) -> int:
        """Read records one by one, up to number `until` or the end of the data."""
        one_byte_hop, low_byte_hop = ONE_BYTE_HOP, LOW_BYTE_HOP
        index, needs_keys, counts_up = self._index, self._needs_keys, self._counts_up
        start = position
        try:
            while index < until:
                start = position
                byte = data[position]
                if byte < 0x80:
                    end = position + one_byte_hop[byte]
                    position += 2
                elif data[position + 1] < 0x80:
                    end = position + low_byte_hop[byte] + (data[position + 1] << 6)
                    position += 3
                else:
                    length, position = read_varint(data, position)
                    end = position + length if length > 0 else PAST_THE_END
                    position += 1
                if data[position] < 0x80:
                    position += 1
                else:
                    _, position = read_varint(data, position, 64)
                if index < _ONE_BYTE_DELTAS and data[position] == index << 1:
                    position += 1
                elif (
                    index < _TWO_BYTE_DELTAS
                    and data[position] == _DELTA_LOW[index]
                    and data[position + 1] == _DELTA_HIGH[index]
                ):
                    position += 2
                else:
                    delta, position = read_varint(data, position)
                    if delta != index and counts_up:
                        raise self._invalid(f"record {index} has the offset delta {delta}")
                if needs_keys and data[position] == _NO_KEY and len(self._keyless) < MAX_INDEXES:
                    self._keyless.append(index)
                if position > end:
                    raise self._invalid(f"record {index} is shorter than its fields")
                index += 1
                position = start = end
        except IndexError:
            pass  # the head of this record goes on in the next window
        except CorruptData as fault:
            raise self._invalid(f"record {index}: {fault}") from None
        self._index = index
        return start

    def _run(self, data: bytes, position: int, count: int) -> int:
        """The end of `count` records that are all built as the first is; 0 if they are not."""
        index = self._index
        if position + 1 >= len(data):
            return 0
        first, second = data[position], data[position + 1]
        if first < 0x80:
            step, at = ONE_BYTE_HOP[first], position + 2
        elif second < 0x80:
            step, at = LOW_BYTE_HOP[first] + (second << 6), position + 3
        else:
            return 0
        limit = _ONE_BYTE_DELTAS if index < _ONE_BYTE_DELTAS else _TWO_BYTE_DELTAS
        count = min(count, limit - index)
        stop = position + count * step
        if count < _MIN_RUN or stop > len(data) or data[position + step] != first:
            return 0
        if data[position:stop:step].count(first) != count or (
            first >= 0x80 and data[position + 1 : stop : step].count(second) != count
        ):
            return 0
        if self._counts_up:
            end = self._alike_up_to(data, at, stop, step, count)
            if not 0 < end - position <= step:
                return 0
        self._index = index + count
        return stop

    def _alike_up_to(self, data: bytes, at: int, stop: int, step: int, count: int) -> int:
        """Where the head of the first record ends, if the times of all have equally many bytes,
        their offsets count up, and keys are there where they are needed; otherwise 0.

        `at` is the time of the first.
        """
        index = self._index
        longest = at + _MAX_TIME_BYTES
        while data[at] >= 0x80:
            if at == longest or data[at:stop:step].translate(None, _GOES_ON):
                return 0
            at += 1
        if data[at:stop:step].translate(None, _ENDS):
            return 0
        at += 1
        if index < _ONE_BYTE_DELTAS:
            if data[at:stop:step] != _DELTA[index : index + count]:
                return 0
            at += 1
        else:
            if (
                data[at:stop:step] != _DELTA_LOW[index : index + count]
                or data[at + 1 : stop : step] != _DELTA_HIGH[index : index + count]
            ):
                return 0
            at += 2
        if self._needs_keys and _NO_KEY in data[at:stop:step]:
            return 0
        return at


def _hop(data: bytes, position: int, index: int, until: int) -> tuple[int, int]:
    """Read records of the usual kind: sizes and offset deltas of at most two bytes, times of one or
    two. Stops before any other, and at the end of the data: the position and number of that one.
    """
    one_byte_hop, low_byte_hop = ONE_BYTE_HOP, LOW_BYTE_HOP
    two_bytes = index >= _ONE_BYTE_DELTAS
    if two_bytes:
        deltas = zip(_DELTA_LOW[index:until], _DELTA_HIGH[index:until], strict=True)
    else:
        until = min(until, _ONE_BYTE_DELTAS)
        deltas = zip(_DELTA[index:until], _DELTA[index:until], strict=True)
    try:
        for low, high in deltas:
            byte = data[position]
            if byte < 0x80:
                at = position + 2
                end = position + one_byte_hop[byte]
            else:
                second = data[position + 1]
                if second >= 0x80 or second == 0:
                    break
                at = position + 3
                end = position + low_byte_hop[byte] + (second << 6)
            if data[at] >= 0x80:
                at += 1
                if data[at] >= 0x80:
                    break
            if data[at + 1] != low or (two_bytes and data[at + 2] != high):
                break
            position = end
            index += 1
    except IndexError:
        pass
    return position, index


def inspect_whole(payload: Buffer, count: int, *, needs_keys: bool) -> None:
    """An inspection of compressed records that are in memory as a whole."""
    data = bytes(payload)
    if count <= _FEW and not needs_keys and _hop(data, 0, 0, count) == (len(data), count):
        return
    inspection = Inspection(count, counts_up=True, needs_keys=needs_keys)
    inspection.feed(data)
    inspection.finish()


def heads(windows: Iterable[Buffer]) -> Iterator[tuple[int, int] | None]:
    """Time delta and offset delta of each record, in order, and None before those of each window.

    CorruptData where none can be read.
    """
    rest = b""
    skip = 0
    for window in windows:
        yield None
        if skip >= len(window):
            skip -= len(window)
            continue
        data = rest + bytes(window) if rest else bytes(window)
        position = start = skip
        try:
            while position < len(data):
                start = position
                length, position = read_varint(data, position)
                if length <= 0:
                    raise CorruptData(f"a record of {length} bytes")
                end = position + length
                time_delta, position = read_varint(data, position + 1, 64)
                offset_delta, position = read_varint(data, position)
                yield time_delta, offset_delta
                position = start = end
        except IndexError:
            if len(data) - start >= _MAX_HEAD_BYTES:
                raise CorruptData("a record makes no sense") from None
        skip, rest = max(start - len(data), 0), data[start:]
    if skip or rest:
        raise CorruptData("the records end inside of a record")
