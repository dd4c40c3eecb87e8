"""Fields of Protobuf that are no messages: found, stepped over, or read into their columns.

A part of the decoding kernel. A step that fails returns a negative position, minus the reason.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.pipelines.kernels.compilation import inlined
from headrace.pipelines.kernels.memory import Bytes, Words
from headrace.pipelines.kernels.varints import unzigzag
from headrace.pipelines.serdes.kernels import (
    Memory,
    copy,
    is_utf8,
    read_varint,
    read_word,
    signed,
    signed32,
)
from headrace.pipelines.serdes.layout import CAPACITY, DATA, OFFSETS, VALID
from headrace.pipelines.serdes.protobuf import wire

MAX_SECONDS: Final = ((1 << 63) - 1) // 1_000_000 - 1
MAX_DIGITS: Final = 20


@inlined
def read_counted(data: Bytes, position: int, end: int) -> tuple[int, int]:
    """The length of counted bytes, all of which are there, and where they begin."""
    value, position = read_varint(data, position, end)
    if position >= 0 and value > np.uint64(end - position):
        position = -wire.ENDS_EARLY
    return signed(value), position


@inlined
def skip_field(number: int, wire_type: int, data: Bytes, position: int, end: int) -> int:
    """Steps over a field's value; groups within groups are counted, not remembered."""
    groups = 0
    while True:
        if wire_type == wire.VARINT:
            _, position = read_varint(data, position, end)
        elif wire_type == wire.COUNTED:
            length, position = read_counted(data, position, end)
            if position >= 0:
                position += length
        elif wire_type == wire.EIGHT_BYTES or wire_type == wire.FOUR_BYTES:
            size = 8 if wire_type == wire.EIGHT_BYTES else 4
            position = position + size if size <= end - position else -wire.ENDS_EARLY
        elif wire_type == wire.START_GROUP:
            groups += 1
            if groups > wire.MAX_DEPTH:
                return -wire.TOO_DEEP
        elif wire_type == wire.END_GROUP:
            groups -= 1
        else:
            return -wire.BAD_TAG
        if position < 0 or groups == 0:
            return position
        tag, position = read_varint(data, position, end)
        if position < 0:
            return position
        wire_type = signed(tag & np.uint64(7))


@inlined
def find_field(fields: Words, first: int, count: int, hint: int, number: int) -> int:
    """The row of a field, or -1; they usually come in order, so the next one is tried first."""
    if hint < first + count and fields[hint, wire.NUMBER] == number:
        return hint
    low, high = first, first + count
    while low < high:
        middle = (low + high) // 2
        if fields[middle, wire.NUMBER] < number:
            low = middle + 1
        else:
            high = middle
    if low < first + count and fields[low, wire.NUMBER] == number:
        return low
    return -1


@inlined
def find_symbol(symbols: Words, first: int, count: int, number: int) -> int:
    low, high = first, first + count
    while low < high:
        middle = (low + high) // 2
        if symbols[middle, 0] < number:
            low = middle + 1
        else:
            high = middle
    if low < first + count and symbols[low, 0] == number:
        return low
    return -1


@inlined
def write_digits(number: int, octets: Bytes, at: int) -> int:
    """A number in decimal; answers how many bytes it took."""
    size = 0
    rest = abs(number)
    if number < 0:
        octets[at] = 0x2D
        size = 1
    divisor = 1
    while rest // divisor >= 10:
        divisor *= 10
    while divisor > 0:
        octets[at + size] = 0x30 + rest // divisor % 10
        divisor //= 10
        size += 1
    return size


@inlined
def store_symbol(
    field: Words, entry: Words, target: int, number: int, tables: Any, memory: Memory
) -> int:
    """The name of an enum's value; answers 0, a reason, or -1 for a number to be passed over."""
    octets, int32 = memory[0], memory[1]
    symbols, pool = tables[3], tables[4]
    first, count = field[wire.MESSAGE], field[wire.MORE]
    symbol = find_symbol(symbols, first, count, number)
    named = symbol >= 0
    if not named:
        if field[wire.FLAGS] & wire.IS_OPEN == 0:
            return -1
        symbol = first + count
    used = signed(int32[entry[OFFSETS] + target])
    length = symbols[symbol, 2]
    if length + MAX_DIGITS > entry[CAPACITY] - used:
        return wire.NO_ROOM
    at = entry[DATA] + used
    copy(pool, symbols[symbol, 1], octets, at, length)
    if not named:
        length += write_digits(number, octets, at + length)
    int32[entry[OFFSETS] + target + 1] = used + length
    return 0


@inlined
def store_varint(
    field: Words, entry: Words, target: int, value: Any, tables: Any, memory: Memory
) -> int:
    kind = field[wire.TYPE]
    at = entry[DATA] + target
    if kind == wire.INT64:
        memory[2][at] = signed(value)
    elif kind == wire.INT32:
        memory[1][at] = signed32(value)
    elif kind == wire.ENUM:
        return store_symbol(field, entry, target, signed(signed32(value)), tables, memory)
    elif kind == wire.SINT64:
        memory[2][at] = unzigzag(value)
    elif kind == wire.SINT32:
        memory[1][at] = signed32(unzigzag(value & np.uint64(0xFFFFFFFF)))
    elif kind == wire.BOOL:
        memory[0][at] = np.uint8(value != np.uint64(0))
    elif kind == wire.UINT32_AS_INT64:
        memory[2][at] = signed(value & np.uint64(0xFFFFFFFF))
    else:
        memory[2][entry[DATA] + 2 * target] = signed(value)
        memory[2][entry[DATA] + 2 * target + 1] = 0
    return 0


@inlined
def decode_bytes(
    kind: int, entry: Words, target: int, memory: Memory, data: Bytes, position: int, length: int
) -> int:
    octets, int32 = memory[0], memory[1]
    used = signed(int32[entry[OFFSETS] + target])
    if length > entry[CAPACITY] - used:
        return -wire.NO_ROOM
    ascii_only = copy(data, position, octets, entry[DATA] + used, length)
    if kind == wire.STRING and not ascii_only and not is_utf8(data, position, position + length):
        return -wire.NOT_UTF8
    int32[entry[OFFSETS] + target + 1] = used + length
    return position + length


@inlined
def decode_moment(
    entry: Words, target: int, memory: Memory, data: Bytes, position: int, end: int
) -> int:
    """Seconds (field 1) and nanoseconds (field 2) as microseconds."""
    seconds, nanos = signed(0), signed(0)
    while position < end:
        tag, position = read_varint(data, position, end)
        if position < 0:
            return position
        number, wire_type = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if wire_type == wire.VARINT and (number == 1 or number == 2):
            value, position = read_varint(data, position, end)
            if number == 1:
                seconds = signed(value)
            else:
                nanos = signed(signed32(value))
        else:
            position = skip_field(number, wire_type, data, position, end)
        if position < 0:
            return position
    if seconds < -MAX_SECONDS or seconds > MAX_SECONDS:
        return -wire.OUT_OF_RANGE
    memory[2][entry[DATA] + target] = seconds * 1_000_000 + nanos // 1000
    return position


@inlined
def natural_wire_type(kind: int) -> int:
    if kind <= wire.LAST_VARINT:
        return wire.VARINT
    if kind == wire.FIXED32 or kind == wire.FLOAT:
        return wire.FOUR_BYTES
    if kind == wire.FIXED64 or kind == wire.DOUBLE:
        return wire.EIGHT_BYTES
    return wire.START_GROUP if kind == wire.GROUP else wire.COUNTED


@inlined
def decode_element(
    field: Words,
    columns: Words,
    index: int,
    tables: Any,
    memory: Memory,
    data: Bytes,
    position: int,
    end: int,
) -> int:
    """One value that is no message: the next element of a list, or the one value of a column."""
    octets, int32 = memory[0], memory[1]
    kind, in_list = field[wire.TYPE], field[wire.LIST]
    entry = columns[field[wire.COLUMN]]
    target = index
    if in_list >= 0:
        target = signed(int32[columns[in_list, OFFSETS] + index + 1])
        if target >= columns[in_list, CAPACITY]:
            return -wire.NO_ROOM
    zero = False
    if kind <= wire.LAST_VARINT:
        value, position = read_varint(data, position, end)
        if position < 0:
            return position
        zero = value == np.uint64(0)
        stored = store_varint(field, entry, target, value, tables, memory)
        if stored != 0:
            return position if stored < 0 else -stored
    elif kind <= wire.LAST_FIXED:
        size = 4 if kind <= wire.FLOAT else 8
        if size > end - position:
            return -wire.ENDS_EARLY
        bits = read_word(data, position, size)
        zero = bits == np.uint64(0)
        position += size
        if size == 4:
            memory[1][entry[DATA] + target] = signed32(bits)
        else:
            memory[2][entry[DATA] + target] = signed(bits)
    else:
        length, position = read_counted(data, position, end)
        if position < 0:
            return position
        zero = length == 0
        if kind == wire.MOMENT:
            zero = False
            position = decode_moment(entry, target, memory, data, position, position + length)
        else:
            position = decode_bytes(kind, entry, target, memory, data, position, length)
        if position < 0:
            return position
    if in_list >= 0:
        int32[columns[in_list, OFFSETS] + index + 1] = target + 1
    if entry[VALID] >= 0:
        absent = zero and field[wire.FLAGS] & wire.ZERO_IS_ABSENT != 0
        octets[entry[VALID] + target] = 0 if absent else 1
    return position


@inlined
def decode_packed(
    field: Words,
    columns: Words,
    index: int,
    tables: Any,
    memory: Memory,
    data: Bytes,
    position: int,
    end: int,
) -> int:
    length, position = read_counted(data, position, end)
    if position < 0:
        return position
    end = position + length
    while 0 <= position < end:
        position = decode_element(field, columns, index, tables, memory, data, position, end)
    return position
