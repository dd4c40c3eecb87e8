"""The machine that reads Protobuf messages into columns: compiled once, for every message.

Fields come in any order, more than once, or not at all. A message that begins is written as absent
throughout; a field that arrives is written over what was there. A singular message that arrives
again is merged, a repeated field gets one element more, a member of a oneof removes the others, and
what is unknown, or has an unexpected wire type, is stepped over, as the encoding's rules ask.

It is safe on any bytes: no read past the end, no write past the room of a column, a bounded stack.
Inside, a step that fails returns a negative position, minus the reason.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.pipelines.kernels.compilation import compiled, inlined
from headrace.pipelines.kernels.memory import Bytes, Words, borrowed
from headrace.pipelines.serdes.kernels import Memory, read_varint, signed, write_nulls
from headrace.pipelines.serdes.layout import CAPACITY, OFFSETS, VALID
from headrace.pipelines.serdes.protobuf import wire
from headrace.pipelines.serdes.protobuf.field_kernel import (
    decode_element,
    decode_packed,
    find_field,
    natural_wire_type,
    read_counted,
    skip_field,
)

# A frame of the stack: a message that is being read.
LIMIT: Final = 0
MESSAGE: Final = 1
INDEX: Final = 2
IN_GROUP: Final = 3  # the field number of a group, which ends with it; 0: ends at the limit
IN_POOL: Final = 4
AFTER: Final = 5  # where the message below goes on; -1: where this one ends
FRAME_FIELDS: Final = 6
MAX_FRAMES: Final = 2 * wire.MAX_DEPTH + 3
"""Each message may have one more frame, for its defaults."""


@inlined
def clear_others(field: Words, columns: Words, index: int, oneofs: Words, memory: Memory) -> None:
    """Removes the other members of a field's oneof."""
    for member in range(field[wire.ONEOF], field[wire.ONEOF_END]):
        if oneofs[member] != field[wire.COLUMN]:
            write_nulls(columns, oneofs[member], index, memory[0], memory[1], memory[2])


@inlined
def missing_field(message: Words, fields: Words, columns: Words, index: int, octets: Bytes) -> int:
    """The row of a required field that the message lacks, or -1."""
    if message[wire.REQUIRED]:
        for row in range(message[wire.FIRST], message[wire.FIRST] + message[wire.COUNT]):
            valid = columns[fields[row, wire.COLUMN], VALID]
            if fields[row, wire.FLAGS] & wire.IS_REQUIRED != 0 and octets[valid + index] == 0:
                return row
    return -1


@inlined
def open_message(field: Words, columns: Words, index: int, memory: Memory) -> tuple[int, bool]:
    """The element that a message goes into, negative if there is no room; whether it is new."""
    octets, int32 = memory[0], memory[1]
    column, in_list = field[wire.COLUMN], field[wire.LIST]
    valid = columns[column, VALID]
    target = index
    if in_list >= 0:
        offsets = columns[in_list, OFFSETS]
        target = signed(int32[offsets + index + 1])
        if target >= columns[in_list, CAPACITY]:
            return -1, False
        int32[offsets + index + 1] = target + 1
    elif octets[valid + index] != 0:
        return index, False
    write_nulls(columns, column, target, octets, int32, memory[2])
    if valid >= 0:
        octets[valid + target] = 1
    return target, True


@inlined
def open_frame(
    stack: Words,
    depth: int,
    messages: Words,
    constants: int,
    target: tuple[int, int, bool],
    position: int,
    frame: tuple[int, int, int, int],
) -> tuple[int, int]:
    """Begins a message; a new one first reads its defaults. Answers (depth, position)."""
    message, index, fresh = target
    stack[depth, MESSAGE] = message
    stack[depth, INDEX] = index
    stack[depth, LIMIT] = frame[0]
    stack[depth, IN_GROUP] = frame[1]
    stack[depth, IN_POOL] = frame[2]
    stack[depth, AFTER] = frame[3]
    first = constants + messages[message, wire.DEFAULTS]
    last = constants + messages[message, wire.DEFAULTS_END]
    if fresh and first < last:
        depth += 1
        stack[depth, MESSAGE] = message
        stack[depth, INDEX] = index
        stack[depth, LIMIT] = last
        stack[depth, IN_GROUP] = 0
        stack[depth, IN_POOL] = 1
        stack[depth, AFTER] = position
        position = first
    return depth, position


@inlined
def enter_message(
    field: Words,
    columns: Words,
    messages: Words,
    memory: Memory,
    data: Bytes,
    constants: int,
    position: int,
    stack: Words,
    depth: int,
) -> tuple[int, int]:
    """Begins the message of a field whose tag has been read. Answers (depth, position)."""
    end, in_pool = stack[depth, LIMIT], stack[depth, IN_POOL]
    group, after = 0, -1
    if field[wire.TYPE] == wire.GROUP:
        group = field[wire.NUMBER]
    else:
        length, position = read_counted(data, position, end)
        end = after = position + length
    if position < 0:
        return depth, position
    if depth + 3 > MAX_FRAMES:
        return depth, -wire.TOO_DEEP
    index, fresh = open_message(field, columns, stack[depth, INDEX], memory)
    if index < 0:
        return depth, -wire.NO_ROOM
    target = (field[wire.MESSAGE], index, fresh)
    frame = (end, group, in_pool, after)
    return open_frame(stack, depth + 1, messages, constants, target, position, frame)


@inlined
def decode_field(
    found: int,
    tag: tuple[int, int],
    frame: Words,
    tables: Any,
    columns: Words,
    memory: Memory,
    data: Bytes,
    position: int,
) -> tuple[bool, int]:
    """Reads or steps over a field that is no message; answers whether it is one, the position."""
    number, wire_type = tag
    end, index = frame[LIMIT], frame[INDEX]
    if found < 0:
        return False, skip_field(number, wire_type, data, position, end)
    field = tables[1][found]
    kind = field[wire.TYPE]
    packed = wire_type == wire.COUNTED and field[wire.LIST] >= 0 and kind <= wire.LAST_FIXED
    if wire_type != natural_wire_type(kind) and not packed:
        return False, skip_field(number, wire_type, data, position, end)
    clear_others(field, columns, index, tables[2], memory)
    if kind >= wire.MESSAGE_TYPE:
        return True, position
    if packed:
        return False, decode_packed(field, columns, index, tables, memory, data, position, end)
    return False, decode_element(field, columns, index, tables, memory, data, position, end)


@inlined
def decode_value(
    tables: Any,
    columns: Words,
    memory: Memory,
    data: Bytes,
    constants: int,
    span: Words,
    row: int,
    stack: Words,
) -> tuple[int, int, int]:
    """Answers (reason, field or -1, position)."""
    messages, fields = tables[0], tables[1]
    write_nulls(columns, 0, row, memory[0], memory[1], memory[2])
    memory[0][columns[0, VALID] + row] = 1
    depth, position = open_frame(
        stack, 0, messages, constants, (0, row, True), span[0], (span[1], 0, 0, -1)
    )
    hint = 0
    while True:
        frame = stack[depth]
        message, end, group = frame[MESSAGE], frame[LIMIT], frame[IN_GROUP]
        before = position
        if position >= end and group == 0:
            missing = missing_field(messages[message], fields, columns, frame[INDEX], memory[0])
            if missing >= 0 and frame[IN_POOL] == 0:
                return wire.MISSING_REQUIRED, missing, position
            if depth == 0:
                return wire.DONE, -1, position
            if frame[AFTER] >= 0:
                position = frame[AFTER]
            depth -= 1
            hint = messages[stack[depth, MESSAGE], wire.FIRST]
            continue
        tag, position = read_varint(data, position, end)
        if position < 0:
            return -position, -1, before
        number, wire_type = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if number < 1 or number >= 1 << 29:
            return wire.BAD_TAG, -1, before
        if wire_type == wire.END_GROUP:
            if number != group:
                return wire.WRONG_END_OF_GROUP, -1, before
            # The group is complete here, whatever follows it.
            frame[IN_GROUP] = 0
            frame[LIMIT] = position
            continue
        first, count = messages[message, wire.FIRST], messages[message, wire.COUNT]
        found = find_field(fields, first, count, hint, number)
        hint = found + 1
        entering, position = decode_field(
            found, (number, wire_type), frame, tables, columns, memory, data, position
        )
        if entering:
            depth, position = enter_message(
                fields[found],
                columns,
                messages,
                memory,
                data,
                constants,
                position,
                stack,
                depth,
            )
            hint = messages[stack[depth, MESSAGE], wire.FIRST]
        if position < 0:
            return -position, found, before


@compiled
def decode_rows(
    tables: Any,
    columns: Words,
    memory: Memory,
    data: Bytes,
    constants: int,
    spans: Words,
    first: int,
    stack: Words,
) -> tuple[int, int, int, int]:
    """Decodes the messages from row `first` on; answers (reason, row, field or -1, position).

    From byte `constants` on the data holds the pool, in which defaults are read like values.
    """
    tables, columns, memory, data, spans, stack = borrowed(
        (tables, columns, memory, data, spans, stack)
    )
    for row in range(first, spans.shape[0]):
        if spans[row, 0] < 0:
            write_nulls(columns, 0, row, memory[0], memory[1], memory[2])
            continue
        reason, field, position = decode_value(
            tables, columns, memory, data, constants, spans[row], row, stack
        )
        if reason != wire.DONE:
            return reason, row, field, position
    return wire.DONE, spans.shape[0], -1, 0
