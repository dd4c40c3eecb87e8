"""The machine that writes columns as Protobuf messages: compiled once, for every message.

It writes from the end to the beginning. A nested message needs its length before its bytes; written
backwards, the bytes are there when the length is. Rows, fields and the items of a list are visited
in reverse, so that everything stands in its natural order in the end.

    OP        OPERANDS                                WRITES
    VARINT    column, A: tag, B: leave out a zero     the value and its tag, unless null
    ZIGZAG    the same                                the same
    FOUR      the same                                the lower four bytes of the element
    EIGHT     the same                                all eight
    COUNTED   the same                                bytes, their length and the tag
    MOMENT    column, A: tag                          seconds and nanoseconds of microseconds
    MESSAGE   column, A: where to go on if null       nothing
    LENGTH    A: tag                                  the length of what was written since, the tag
    LIST      column, A: where to go on if empty      nothing; goes to its last item
    NEXT      A: first instruction of an item,        nothing; goes to the item before
              B: whether a LENGTH follows
    REQUIRED  column                                  nothing; the element must not be null

A tag of 0 is not written: the items of a packed field have none.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.pipelines.kernels import varints
from headrace.pipelines.kernels.compilation import compiled, inlined
from headrace.pipelines.kernels.memory import Bytes, Words, address_of, borrowed
from headrace.pipelines.kernels.varints import varint_size, zigzag

VARINT: Final = 0
ZIGZAG: Final = 1
FOUR: Final = 2
EIGHT: Final = 3
COUNTED: Final = 4
MOMENT: Final = 5
LAST_VALUE: Final = MOMENT
MESSAGE: Final = 6
LENGTH: Final = 7
LIST: Final = 8
NEXT: Final = 9
REQUIRED: Final = 10
END: Final = 11

OP: Final = 0
COLUMN: Final = 1
A: Final = 2
B: Final = 3

VALID: Final = 0
DATA: Final = 1
OFFSETS: Final = 2

DONE: Final = 0
NO_ROOM: Final = 1
NULL: Final = 2

MAX_FRAMES: Final = 400
FRAME_FIELDS: Final = 3
MAX_VALUE_BYTES: Final = 40
"""What any value but counted bytes can take, with its tag and a length."""


@inlined
def write_varint(value: Any, out: Bytes, end: int) -> int:
    """Writes a varint that ends before `end`; answers where it begins."""
    begin = end - varint_size(value)
    varints.write_varint(address_of(out) + begin, value)
    return begin


@inlined
def write_tag(tag: int, out: Bytes, end: int) -> int:
    return write_varint(np.uint64(tag), out, end) if tag else end


@inlined
def write_moment(micros: int, out: Bytes, end: int) -> int:
    """A message of seconds (field 1) and nanoseconds (field 2), of which zeros are left out."""
    seconds = micros // 1_000_000
    nanos = (micros - seconds * 1_000_000) * 1000
    position = end
    if nanos:
        position = write_tag(0x10, out, write_varint(np.uint64(nanos), out, position))
    if seconds:
        position = write_tag(0x08, out, write_varint(np.uint64(seconds), out, position))
    return write_varint(np.uint64(end - position), out, position)


@inlined
def encode_scalar(
    code: int,
    tag: int,
    leave_zero: int,
    entry: Words,
    index: int,
    memory: tuple[Bytes, Words],
    out: Bytes,
    position: int,
) -> int:
    """Answers where the field begins, or -1 if there is no room for it."""
    octets, words = memory
    if code == COUNTED:
        start = words[entry[OFFSETS] + index]
        length = words[entry[OFFSETS] + index + 1] - start
        if leave_zero and length == 0:
            return position
        if length + MAX_VALUE_BYTES > position:
            return -1
        position -= length
        for offset in range(length):
            out[position + offset] = octets[entry[DATA] + start + offset]
        return write_tag(tag, out, write_varint(np.uint64(length), out, position))
    if position < MAX_VALUE_BYTES:
        return -1
    value = words[entry[DATA] + index]
    if leave_zero and value == 0:
        return position
    if code == MOMENT:
        return write_tag(tag, out, write_moment(value, out, position))
    if code == VARINT:
        position = write_varint(np.uint64(value), out, position)
    elif code == ZIGZAG:
        position = write_varint(zigzag(value), out, position)
    else:
        size = 4 if code == FOUR else 8
        position -= size
        for offset in range(size):
            out[position + offset] = np.uint8(np.uint64(value) >> np.uint64(8 * offset))
    return write_tag(tag, out, position)


@inlined
def encode_value(
    program: Words,
    columns: Words,
    memory: tuple[Bytes, Words],
    row: int,
    out: Bytes,
    position: int,
    stack: Words,
) -> tuple[int, int, int]:
    """Answers (reason, instruction, position)."""
    octets, words = memory
    counter, depth, index = 0, 0, row
    while True:
        code, a, b = program[counter, OP], program[counter, A], program[counter, B]
        entry = columns[program[counter, COLUMN]]
        null = entry[VALID] >= 0 and octets[entry[VALID] + index] == 0
        if code <= LAST_VALUE:
            if not null:
                position = encode_scalar(code, a, b, entry, index, memory, out, position)
                if position < 0:
                    return NO_ROOM, counter, 0
        elif code == MESSAGE:
            if null:
                counter = a
                continue
            stack[depth, 0] = position
            depth += 1
        elif code == LENGTH:
            if position < MAX_VALUE_BYTES:
                return NO_ROOM, counter, 0
            depth -= 1
            length = stack[depth, 0] - position
            position = write_tag(a, out, write_varint(np.uint64(length), out, position))
        elif code == LIST:
            first, last = words[entry[OFFSETS] + index], words[entry[OFFSETS] + index + 1]
            if null or first == last:
                counter = a
                continue
            stack[depth, 0] = position
            stack[depth, 1] = index
            stack[depth, 2] = first
            depth += 1
            index = last - 1
        elif code == NEXT:
            if index > stack[depth - 1, 2]:
                index -= 1
                counter = a
                continue
            index = stack[depth - 1, 1]
            if b == 0:
                depth -= 1
        elif code == REQUIRED:
            if null:
                return NULL, counter, 0
        else:
            return DONE, counter, position
        counter += 1


@compiled
def encode_rows(
    program: Words,
    columns: Words,
    memory: tuple[Bytes, Words],
    present: Bytes,
    out: Bytes,
    starts: Words,
    first: int,
    stack: Words,
) -> tuple[int, int, int]:
    """Writes the rows below `first` backwards; answers (reason, rows left, instruction)."""
    program, columns, memory, present, out, starts, stack = borrowed(
        (program, columns, memory, present, out, starts, stack)
    )
    for left in range(first, 0, -1):
        row = left - 1
        position = starts[left]
        if present[row]:
            reason, counter, position = encode_value(
                program, columns, memory, row, out, position, stack
            )
            if reason != DONE:
                return reason, left, counter
        starts[row] = position
    return DONE, 0, 0
