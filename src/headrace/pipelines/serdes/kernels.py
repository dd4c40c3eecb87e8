"""Pieces that the kernels of all formats are made of; compiled by numba into their callers.

A kernel reads bytes that anybody may have written. Whatever is here therefore takes the end of what
it may read, and answers with a position that is negative, minus a reason, rather than read past it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.pipelines.kernels import varints
from headrace.pipelines.kernels.compilation import compiled, inlined
from headrace.pipelines.kernels.memory import Bytes, Words, address_of, borrowed
from headrace.pipelines.serdes.layout import (
    BOOLEAN,
    BYTES,
    DATA,
    DECIMAL,
    END,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    KIND,
    LIST,
    OFFSETS,
    VALID,
)

Memory = tuple[
    NDArray[np.uint8],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.float32],
    NDArray[np.float64],
]
"""An arena under views of all widths."""


@inlined
def read_varint(data: Bytes, position: int, end: int) -> tuple[Any, int]:
    """An unsigned number of up to 64 bits, and the position behind it."""
    start = address_of(data)
    value, behind = varints.read_varint(start + position, start + end, 64)
    return value, behind - start if behind >= 0 else behind


@inlined
def signed(value: Any) -> Any:
    """The same 64 bits, of which the highest is the sign."""
    return np.int64(value)


@inlined
def signed32(value: Any) -> Any:
    """The lower 32 bits, of which the highest is the sign."""
    return np.int32(value)


@inlined
def read_word(data: Bytes, position: int, size: int) -> Any:
    """`size` bytes, lowest first; the caller has seen that they are there."""
    value = np.uint64(0)
    for index in range(size):
        value |= np.uint64(data[position + index]) << np.uint64(8 * index)
    return value


@inlined
def copy(source: Bytes, start: int, target: Bytes, at: int, size: int) -> bool:
    """Copies and answers whether every byte was ASCII."""
    seen = np.uint8(0)
    for index in range(size):
        byte = source[start + index]
        seen |= byte
        target[at + index] = byte
    return bool(seen < np.uint8(0x80))


@inlined
def is_utf8(data: Bytes, position: int, end: int) -> bool:
    """Whether the bytes are well-formed UTF-8: shortest forms, no surrogates, at most U+10FFFF."""
    while position < end:
        first = data[position]
        position += 1
        if first < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= first <= 0xDF:
            more = 1
        elif 0xE0 <= first <= 0xEF:
            more = 2
            if first == 0xE0:
                low = 0xA0
            elif first == 0xED:
                high = 0x9F
        elif 0xF0 <= first <= 0xF4:
            more = 3
            if first == 0xF0:
                low = 0x90
            elif first == 0xF4:
                high = 0x8F
        else:
            return False
        if position + more > end or not low <= data[position] <= high:
            return False
        for index in range(1, more):
            if data[position + index] & 0xC0 != 0x80:
                return False
        position += more
    return True


@inlined
def write_nulls(
    columns: Words, first: int, index: int, octets: Bytes, int32: NDArray[np.int32], int64: Words
) -> None:
    """A null at `index` of the column `first`, and something at that of every column below it."""
    column = first
    end = columns[first, END]
    while column < end:
        kind = columns[column, KIND]
        if columns[column, VALID] >= 0:
            octets[columns[column, VALID] + index] = 0
        if kind in (BYTES, LIST):
            offsets = columns[column, OFFSETS]
            int32[offsets + index + 1] = int32[offsets + index]
        elif kind in (INT64, FLOAT64):
            int64[columns[column, DATA] + index] = 0
        elif kind in (INT32, FLOAT32):
            int32[columns[column, DATA] + index] = 0
        elif kind == BOOLEAN:
            octets[columns[column, DATA] + index] = 0
        elif kind == DECIMAL:
            int64[columns[column, DATA] + 2 * index] = 0
            int64[columns[column, DATA] + 2 * index + 1] = 0
        column = columns[column, END] if kind == LIST else column + 1


@inlined
def read_big_endian(data: Bytes, position: int, size: int) -> tuple[Any, Any, bool]:
    """A two's complement number as two 64-bit halves, and whether it fits into them."""
    if size == 0:
        return np.uint64(0), np.uint64(0), True
    negative = data[position] >= 0x80
    fill = np.uint64(0xFFFFFFFFFFFFFFFF) if negative else np.uint64(0)
    high, low, fits = fill, fill, True
    for index in range(size):
        fits &= (high >> np.uint64(56)) == (fill & np.uint64(0xFF))
        high = (high << np.uint64(8)) | (low >> np.uint64(56))
        low = (low << np.uint64(8)) | np.uint64(data[position + index])
    fits &= (high >> np.uint64(63) != 0) == negative
    return high, low, fits


@inlined
def negated(high: Any, low: Any) -> tuple[Any, Any]:
    low = ~low + np.uint64(1)
    return ~high + (np.uint64(1) if low == 0 else np.uint64(0)), low


@inlined
def within(high: Any, low: Any, bound_high: Any, bound_low: Any) -> bool:
    """Whether the magnitude of a number of two halves is below the bound."""
    if high >> np.uint64(63) != 0:
        high, low = negated(high, low)
    return bool(high < bound_high or (high == bound_high and low < bound_low))


@inlined
def multiply_by_ten(high: Any, low: Any) -> tuple[Any, Any]:
    """Ten times a number of two halves, whose magnitude leaves room for it."""
    eight = low << np.uint64(3)
    ten = eight + (low << np.uint64(1))
    carried = (low >> np.uint64(61)) + (low >> np.uint64(63)) + np.uint64(ten < eight)
    return high * np.uint64(10) + carried, ten


@inlined
def divide_by_ten(high: Any, low: Any) -> tuple[Any, Any, Any]:
    """A tenth of a number of two halves, towards zero, and what is left of its magnitude."""
    negative = high >> np.uint64(63) != 0
    if negative:
        high, low = negated(high, low)
    rest = high % np.uint64(10)
    high //= np.uint64(10)
    upper = (rest << np.uint64(32)) | (low >> np.uint64(32))
    lower = ((upper % np.uint64(10)) << np.uint64(32)) | (low & np.uint64(0xFFFFFFFF))
    low = ((upper // np.uint64(10)) << np.uint64(32)) | (lower // np.uint64(10))
    if negative:
        high, low = negated(high, low)
    return high, low, lower % np.uint64(10)


@compiled
def null_row(columns: Words, memory: Memory, row: int) -> None:
    """Makes a row null of which nothing, or a part, has been written."""
    columns, memory = borrowed((columns, memory))
    write_nulls(columns, 0, row, memory[0], memory[1], memory[2])
