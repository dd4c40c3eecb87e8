"""The machine that reads Avro values into columns: compiled once, for every schema.

It runs a program of `opcodes` over each value. It is safe on any bytes: no read past the end of a
value, no write past the room of a column, no recursion, a bounded stack, and never more items than
the bytes that are left can hold. It answers how it ended, where in the program and where in the
bytes; the caller gives more room or steps over the row and comes back.

Inside, a step that fails returns a negative position, minus the reason. numba compiles what is here
and infers the types, all of which are numbers and arrays of numbers.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.pipelines.kernels.compilation import compiled, inlined
from headrace.pipelines.kernels.memory import Bytes, Words, borrowed
from headrace.pipelines.kernels.varints import unzigzag
from headrace.pipelines.serdes.avro import opcodes as op
from headrace.pipelines.serdes.kernels import (
    Memory,
    copy,
    divide_by_ten,
    is_utf8,
    multiply_by_ten,
    read_big_endian,
    read_varint,
    read_word,
    signed,
    signed32,
    within,
    write_nulls,
)
from headrace.pipelines.serdes.layout import CAPACITY, DATA, OFFSETS, VALID

LARGEST: Final = (1 << 63) - 1

# A frame of the stack: an array or map that is being read, a call, or a mark.
LEFT: Final = 0  # items of the block that have not begun; where a call or a mark goes back to
INDEX: Final = 1  # of the element that holds the array or map

Place = tuple[Words, int, int, Memory]
"""The columns, one of them, an index in it, and the memory that they lie in."""

Tables = tuple[Words, Words, Words, Bytes]
"""Jumps, symbols, decimals and the pool, as a program has them."""


@inlined
def read_long(data: Bytes, position: int, end: int) -> tuple[int, int]:
    value, position = read_varint(data, position, end)
    return unzigzag(value), position


@inlined
def read_length(data: Bytes, position: int, end: int) -> tuple[int, int]:
    """The length of counted bytes, all of which are there."""
    length, position = read_long(data, position, end)
    if position >= 0:
        if length < 0:
            position = -op.NEGATIVE_LENGTH
        elif length > end - position:
            position = -op.ENDS_EARLY
    return length, position


@inlined
def decode_varint(
    code: int, scale: int, target: int, memory: Memory, data: Bytes, position: int, end: int
) -> int:
    value, position = read_long(data, position, end)
    if position < 0:
        return position
    if code <= op.LAST_OF_INTS and (value < -(1 << 31) or value >= 1 << 31):
        return -op.OUT_OF_RANGE
    if code == op.INT_TO_INT32:
        memory[1][target] = value
    elif code == op.LONG_TO_INT64 or code == op.INT_TO_INT64:
        if scale > 1 and not -(LARGEST // scale) <= value <= LARGEST // scale:
            return -op.OUT_OF_RANGE
        memory[2][target] = value * scale
    elif code == op.LONG_TO_TIME:
        if value < 0 or value >= op.MICROS_OF_A_DAY:
            return -op.OUT_OF_RANGE
        memory[2][target] = value * 1000
    elif code == op.INT_TO_FLOAT32 or code == op.LONG_TO_FLOAT32:
        memory[3][target] = value
    else:
        memory[4][target] = value
    return position


@inlined
def decode_bytes(
    code: int, a: int, b: int, place: Place, tables: Tables, data: Bytes, position: int, end: int
) -> int:
    """Bytes of a known or counted number, or an enum's symbol, into a column of bytes."""
    length: int
    columns, column, index, memory = place
    octets, int32 = memory[0], memory[1]
    _, symbols, _, pool = tables
    if code == op.ENUM:
        symbol, position = read_long(data, position, end)
        if position < 0:
            return position
        if symbol < 0 or symbol >= b:
            return -op.NO_SUCH_SYMBOL
        start, length = symbols[a + symbol, 0], symbols[a + symbol, 1]
        if start < 0:
            return -op.SYMBOL_UNKNOWN_TO_READER
    elif code == op.FIXED:
        start, length = position, a
        if length > end - position:
            return -op.ENDS_EARLY
    else:
        length, position = read_length(data, position, end)
        if position < 0:
            return position
        start = position
    offsets = columns[column, OFFSETS] + index
    used = signed(int32[offsets])
    if length > columns[column, CAPACITY] - used:
        return -op.NO_ROOM
    int32[offsets + 1] = used + length
    if code == op.ENUM:
        copy(pool, start, octets, columns[column, DATA] + used, length)
        return position
    ascii_only = copy(data, start, octets, columns[column, DATA] + used, length)
    if code == op.TEXT and not ascii_only and not is_utf8(data, start, start + length):
        return -op.NOT_UTF8
    return position + length


@inlined
def decode_float(
    code: int, target: int, memory: Memory, data: Bytes, position: int, end: int
) -> int:
    size = 8 if code == op.DOUBLE_TO_FLOAT64 else 4
    if size > end - position:
        return -op.ENDS_EARLY
    bits = read_word(data, position, size)
    if code == op.FLOAT_TO_FLOAT32:
        memory[1][target] = signed32(bits)
    else:
        memory[2][target] = signed(bits)
        if code == op.FLOAT_TO_FLOAT64:
            # The same memory, seen as two floats: the lower half has just been written.
            memory[4][target] = memory[3][2 * target]
    return position + size


@inlined
def decode_decimal(
    size: int, entry: Words, target: int, memory: Memory, data: Bytes, position: int, end: int
) -> int:
    if size < 0:
        size, position = read_length(data, position, end)
        if position < 0:
            return position
    elif size > end - position:
        return -op.ENDS_EARLY
    high, low, fits = read_big_endian(data, position, size)
    exact = True
    for _ in range(-entry[op.SHIFT]):
        high, low, rest = divide_by_ten(high, low)
        exact &= rest == 0
    bound_high, bound_low = np.uint64(entry[op.BOUND_HIGH]), np.uint64(entry[op.BOUND_LOW])
    if not fits or not within(high, low, bound_high, bound_low):
        return -op.DECIMAL_TOO_LARGE
    if not exact:
        return -op.NOT_EXACT
    for _ in range(entry[op.SHIFT]):
        high, low = multiply_by_ten(high, low)
    memory[2][target] = signed(low)
    memory[2][target + 1] = signed(high)
    return position + size


@inlined
def decode_other(
    code: int, a: int, b: int, place: Place, tables: Tables, data: Bytes, position: int, end: int
) -> int:
    columns, column, index, memory = place
    if code == op.DECIMAL:
        target = columns[column, DATA] + 2 * index
        return decode_decimal(a, tables[2][b], target, memory, data, position, end)
    target = columns[column, DATA] + index
    if code != op.BOOLEAN:
        return decode_float(code, target, memory, data, position, end)
    if position >= end:
        return -op.ENDS_EARLY
    if data[position] > 1:
        return -op.NOT_A_BOOLEAN
    memory[0][target] = data[position]
    return position + 1


@inlined
def skip_value(code: int, size: int, data: Bytes, position: int, end: int) -> int:
    if code == op.SKIP_FIXED or code == op.SKIP_BOOLEAN:
        size = size if code == op.SKIP_FIXED else 1
        return position + size if size <= end - position else -op.ENDS_EARLY
    if code == op.SKIP_BYTES:
        length, position = read_length(data, position, end)
        return position + length if position >= 0 else position
    value, position = read_long(data, position, end)
    if code == op.SKIP_INT and position >= 0 and (value < -(1 << 31) or value >= 1 << 31):
        return -op.OUT_OF_RANGE
    return position


@inlined
def read_block(
    least: int, budget: int, skipping: bool, data: Bytes, position: int, end: int
) -> tuple[int, int, int]:
    """The number of items in the next block of an array or map, 0 behind the last.

    A negative count is followed by the size of the block in bytes, over which a reader who does not
    want the items can jump. Items without bytes are charged to the budget of the value.
    """
    while True:
        count, position = read_long(data, position, end)
        if position < 0 or count == 0:
            return count, budget, position
        if count > 0:
            break
        size, position = read_length(data, position, end)
        if position < 0:
            return count, budget, position
        count = -count
        if not skipping:
            break
        position += size
    if least > 0:
        if count > (end - position) // least or count < 0:
            position = -op.TOO_MANY_ITEMS
    else:
        if count > budget or count < 0:
            position = -op.TOO_MANY_ITEMS
        budget -= count
    return count, budget, position


@inlined
def decode_scalar(
    code: int, a: int, b: int, place: Place, tables: Tables, data: Bytes, position: int, end: int
) -> int:
    columns, column, index, memory = place
    if columns[column, VALID] >= 0:
        memory[0][columns[column, VALID] + index] = 1
    if code <= op.LAST_VARINT:
        return decode_varint(code, a, columns[column, DATA] + index, memory, data, position, end)
    if code <= op.LAST_OF_BYTES:
        return decode_bytes(code, a, b, place, tables, data, position, end)
    return decode_other(code, a, b, place, tables, data, position, end)


@inlined
def next_item(
    program: Words,
    here: int,
    place: Place,
    frame: Words,
    budget: int,
    data: Bytes,
    position: int,
    end: int,
) -> tuple[int, int, int, int]:
    """The next item of an array or map, or what follows it: (counter, index, budget, position)."""
    columns, column, index, memory = place
    filling = program[here, op.OP] == op.NEXT
    if frame[LEFT] == 0:
        frame[LEFT], budget, position = read_block(
            program[here, op.B], budget, not filling, data, position, end
        )
    if position < 0:
        return here, index, budget, position
    if frame[LEFT] > 0:
        frame[LEFT] -= 1
        index += filling
        if filling and index >= columns[column, CAPACITY]:
            position = -op.NO_ROOM
        return program[here, op.A], index, budget, position
    outer = frame[INDEX]
    if filling:
        memory[1][columns[column, OFFSETS] + outer + 1] = index + 1
        if columns[column, VALID] >= 0:
            memory[0][columns[column, VALID] + outer] = 1
    return here + 1, outer, budget, position


@inlined
def take_branch(
    jumps: Words, first: int, count: int, data: Bytes, position: int, end: int
) -> tuple[int, int]:
    """Where the branch of a union goes on that the next number names, and the position."""
    branch, position = read_long(data, position, end)
    if 0 <= branch < count:
        return jumps[first + branch], position
    return 0, position if position < 0 else -op.NO_SUCH_BRANCH


@inlined
def decode_value(
    program: Words,
    tables: Tables,
    columns: Words,
    memory: Memory,
    data: Bytes,
    constants: int,
    span: Words,
    row: int,
    stack: Words,
) -> tuple[int, int, int]:
    """Answers (reason, instruction, position)."""
    position, end, index, resume = span[0], span[1], row, span[0]
    counter, depth, budget = 0, 0, op.MAX_EMPTY_ITEMS
    while True:
        here, before = counter, position
        code, column = program[here, op.OP], program[here, op.COLUMN]
        a, b = program[here, op.A], program[here, op.B]
        counter += 1
        if code <= op.LAST_VALUE:
            place = (columns, column, index, memory)
            position = decode_scalar(code, a, b, place, tables, data, position, end)
        elif code <= op.LAST_SKIP:
            position = skip_value(code, a, data, position, end)
        elif code == op.STRUCT:
            memory[0][columns[column, VALID] + index] = 1
        elif code == op.NULLS:
            write_nulls(columns, column, index, memory[0], memory[1], memory[2])
        elif code == op.UNION:
            counter, position = take_branch(tables[0], a, b, data, position, end)
        elif code == op.JUMP:
            counter = a
        elif code == op.END:
            return (op.DONE if position == end else op.BYTES_LEFT), here, position
        elif code in (op.LIST, op.SKIP_LIST, op.CALL):
            if depth == op.MAX_DEPTH:
                return op.TOO_DEEP, here, position
            stack[depth, LEFT] = counter if code == op.CALL else 0
            stack[depth, INDEX] = index
            depth += 1
            counter = a
            if code == op.LIST:
                index = signed(memory[1][columns[column, OFFSETS] + index]) - 1
        elif code in (op.NEXT, op.SKIP_NEXT):
            place = (columns, column, index, memory)
            counter, index, budget, position = next_item(
                program, here, place, stack[depth - 1], budget, data, position, end
            )
            depth -= counter == here + 1
        elif code == op.RETURN:
            depth -= 1
            counter = stack[depth, LEFT]
        elif code == op.MARK:
            if depth == op.MAX_DEPTH:
                return op.TOO_DEEP, here, position
            stack[depth, LEFT] = position
            depth += 1
        elif code == op.AGAIN:
            position = stack[depth - 1, LEFT]
            depth -= a
        elif code == op.DEFAULT:
            resume = position
            position, end = constants + a, constants + b
        elif code == op.RESUME:
            position, end = resume, span[1]
        else:
            return op.UNRESOLVED, here, position
        if position < 0:
            return -position, here, before


@compiled
def decode_rows(
    program: Words,
    tables: Tables,
    columns: Words,
    memory: Memory,
    data: Bytes,
    constants: int,
    spans: Words,
    first: int,
    stack: Words,
) -> tuple[int, int, int, int]:
    """Decodes the values from row `first` on.

    From byte `constants` on the data holds the pool, in which defaults are read like values.
    `spans` has for each row the start and the end of its bytes, or a negative start for null.
    Answers (reason, row, instruction, position); the reason is DONE when all rows are.
    """
    program, tables, columns, memory, data, spans, stack = borrowed(
        (program, tables, columns, memory, data, spans, stack)
    )
    for row in range(first, spans.shape[0]):
        if spans[row, 0] < 0:
            write_nulls(columns, 0, row, memory[0], memory[1], memory[2])
            continue
        reason, counter, position = decode_value(
            program, tables, columns, memory, data, constants, spans[row], row, stack
        )
        if reason != op.DONE:
            return reason, row, counter, position
    return op.DONE, spans.shape[0], 0, 0
