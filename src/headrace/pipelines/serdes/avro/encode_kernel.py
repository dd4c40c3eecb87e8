"""The machine that writes columns as Avro values: compiled once, for every schema.

    OP        OPERANDS                                  WRITES
    LONG      column                                    a zigzag varint; for int, long, dates, times
    SYMBOL    column                                    the same, of an enum: negative is none
    RAW       column, A: size                           the element as it lies in memory
    BYTES     column                                    the length and the bytes
    FIXED     column, A: size                           the bytes, which must be so many
    DECIMAL   column                                    the length and the shortest two's complement
    LITERAL   A … B of the pool                         these bytes
    OPTIONAL  column, A: where to go on if null,        the branch
              B: first of two in the branches
    REQUIRED  column                                    nothing; the element must not be null
    MEMBERS   column, A: first entry in the members,    nothing; goes where the set member is
              B: their number, behind them the null     written
    LIST      column, A: its NEXT                       the number of items
    NEXT      column, A: first instruction of an item   a zero behind the last item
    JUMP      A: where to                               nothing

The input is memory that Arrow vouches for; what is checked here is the room in the output, and that
values suit the schema. Every step that writes first makes sure of its room, so that the caller can
enlarge the output and have the row written again.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.pipelines.kernels.compilation import compiled, inlined
from headrace.pipelines.kernels.memory import Bytes, Words, address_of, borrowed
from headrace.pipelines.kernels.varints import write_varint, zigzag

LONG: Final = 0
SYMBOL: Final = 1
RAW: Final = 2
BYTES: Final = 3
FIXED: Final = 4
DECIMAL: Final = 5
LAST_VALUE: Final = DECIMAL
LITERAL: Final = 6
OPTIONAL: Final = 7
REQUIRED: Final = 8
MEMBERS: Final = 9
LIST: Final = 10
NEXT: Final = 11
JUMP: Final = 12
END: Final = 13

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
NOT_A_SYMBOL: Final = 3
WRONG_SIZE: Final = 4
NO_MEMBER: Final = 5

# A frame of the stack: a list that is being written.
INDEX: Final = 0  # of the element that holds the list
LAST: Final = 1  # where its items end
FRAME_FIELDS: Final = 2
MAX_DEPTH: Final = 512
MAX_VARINT_BYTES: Final = 10


@inlined
def write_long(value: Any, out: Bytes, position: int) -> int:
    start = address_of(out)
    return int(write_varint(start + position, zigzag(value)) - start)


@inlined
def write_bytes(source: Bytes, start: int, size: int, out: Bytes, position: int) -> int:
    for index in range(size):
        out[position + index] = source[start + index]
    return position + size


@inlined
def write_decimal(words: Words, at: int, out: Bytes, position: int) -> int:
    low, high = np.uint64(words[at]), np.uint64(words[at + 1])
    fill = np.uint64(0xFF) if words[at + 1] < 0 else np.uint64(0)
    size = 16
    while size > 1:
        # A leading byte goes if it only repeats the sign that the next one has.
        top = (high >> np.uint64(56)) & np.uint64(0xFF)
        following = (high >> np.uint64(55)) & np.uint64(1)
        if top != fill or following != fill & np.uint64(1):
            break
        high = (high << np.uint64(8)) | (low >> np.uint64(56))
        low <<= np.uint64(8)
        size -= 1
    position = write_long(size, out, position)
    for index in range(size):
        out[position + index] = np.uint8(high >> np.uint64(56))
        high = (high << np.uint64(8)) | (low >> np.uint64(56))
        low <<= np.uint64(8)
    return position + size


@inlined
def encode_scalar(
    code: int,
    size: int,
    entry: Words,
    index: int,
    memory: tuple[Bytes, Words],
    out: Bytes,
    position: int,
) -> int:
    """Answers the position behind what was written, or minus the reason why nothing was."""
    octets, words = memory
    data = entry[DATA]
    room = len(out) - position - MAX_VARINT_BYTES
    if code <= SYMBOL:
        if code == SYMBOL and words[data + index] < 0:
            return -NOT_A_SYMBOL
        return write_long(words[data + index], out, position) if room >= 0 else -NO_ROOM
    if code == RAW:
        if size > room:
            return -NO_ROOM
        return write_bytes(octets, data + index * size, size, out, position)
    if code == DECIMAL:
        return write_decimal(words, data + 2 * index, out, position) if room >= 16 else -NO_ROOM
    start: int = words[entry[OFFSETS] + index]
    length: int = words[entry[OFFSETS] + index + 1] - start
    if code == FIXED and length != size:
        return -WRONG_SIZE
    if length > room:
        return -NO_ROOM
    if code == BYTES:
        position = write_long(length, out, position)
    return write_bytes(octets, data + start, length, out, position)


@inlined
def set_member(
    members: Words, first: int, count: int, columns: Words, index: int, octets: Bytes
) -> int:
    """The instruction that writes the first member that is not null, or else the null."""
    chosen: int = members[first + count, 1]
    for member in range(first + count - 1, first - 1, -1):
        valid = columns[members[member, 0], VALID]
        if valid < 0 or octets[valid + index]:
            chosen = members[member, 1]
    return chosen


@inlined
def write_count(
    code: int, entry: Words, index: int, frame: Words, words: Words, out: Bytes, position: int
) -> tuple[bool, int, int]:
    """Begins a list or goes to its next item: (whether there is one, its index, position)."""
    if code == LIST:
        frame[INDEX] = index
        frame[LAST] = words[entry[OFFSETS] + index + 1]
        index = words[entry[OFFSETS] + index]
    else:
        index += 1
    left = frame[LAST] - index
    if left == 0:
        return False, frame[INDEX], write_long(0, out, position)
    if code == LIST:
        position = write_long(left, out, position)
    return True, index, position


@inlined
def encode_value(
    program: Words,
    tables: tuple[Words, Words, Bytes],
    columns: Words,
    memory: tuple[Bytes, Words],
    row: int,
    out: Bytes,
    position: int,
    stack: Words,
) -> tuple[int, int, int]:
    """Answers (reason, instruction, position)."""
    octets, words = memory
    branches, members, pool = tables
    counter, depth, index = 0, 0, row
    while True:
        here = counter
        counter += 1
        code, a, b = program[here, OP], program[here, A], program[here, B]
        entry = columns[program[here, COLUMN]]
        null = entry[VALID] >= 0 and octets[entry[VALID] + index] == 0
        room = len(out) - position - MAX_VARINT_BYTES
        if code <= LAST_VALUE:
            position = encode_scalar(code, a, entry, index, memory, out, position)
            if position < 0:
                return -position, here, 0
        elif room < 0 or (code == LITERAL and b - a > room):
            return NO_ROOM, here, 0
        elif code == OPTIONAL:
            position = write_long(branches[b + null], out, position)
            counter = a if null else counter
        elif code == REQUIRED:
            if null:
                return NULL, here, 0
        elif code == LITERAL:
            position = write_bytes(pool, a, b - a, out, position)
        elif code in (LIST, NEXT):
            depth += code == LIST
            more, index, position = write_count(
                code, entry, index, stack[depth - 1], words, out, position
            )
            depth -= not more
            if code == LIST:
                counter = counter if more else a + 1
            elif more:
                counter = a
        elif code == JUMP:
            counter = a
        elif code == MEMBERS:
            counter = members[a + b, 1]
            if not null:
                counter = set_member(members, a, b, columns, index, octets)
            if counter < 0:
                return NO_MEMBER, here, 0
        else:
            return DONE, here, position


@compiled
def encode_rows(
    program: Words,
    tables: tuple[Words, Words, Bytes],
    columns: Words,
    memory: tuple[Bytes, Words],
    present: Bytes,
    out: Bytes,
    offsets: Words,
    first: int,
    stack: Words,
) -> tuple[int, int, int]:
    """Writes the rows from `first` on behind each other; answers (reason, row, instruction)."""
    program, tables, columns, memory, present, out, offsets, stack = borrowed(
        (program, tables, columns, memory, present, out, offsets, stack)
    )
    for row in range(first, len(present)):
        position = offsets[row]
        if present[row]:
            reason, counter, position = encode_value(
                program, tables, columns, memory, row, out, position, stack
            )
            if reason != DONE:
                return reason, row, counter
        offsets[row + 1] = position
    return DONE, len(present), 0
