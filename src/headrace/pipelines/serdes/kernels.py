"""Pieces that the kernels of all formats are made of; compiled by numba into their callers.

A kernel reads bytes that anybody may have written. Whatever is here therefore takes the end of what
it may read, and answers with a position that is negative, minus a reason, rather than read past it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

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

ENDS_EARLY: Final = 2
NUMBER_TOO_LONG: Final = 3

Bytes = NDArray[np.uint8]
Words = NDArray[np.int64]
Memory = tuple[
    NDArray[np.uint8],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.float32],
    NDArray[np.float64],
]
"""An arena under views of all widths."""

Function = TypeVar("Function", bound=Callable[..., Any])

_TABLES: Final = ("kernels", "layout", "opcodes", "wire")
"""Modules, besides the kernels, whose constants become part of compiled code."""
_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Without numba's run time: the kernels allocate nothing, and to count references to their arrays
at every step would cost ten times the work itself."""


def compiled(function: Function) -> Function:
    """Compiled at its first call and kept on disk beside the module, or in the user's cache folder.

    Where neither can be written, every process compiles for itself.
    """
    try:
        kernel = numba.njit(cache=True, **_OPTIONS)(function)
    except (OSError, RuntimeError):
        return cast(Function, numba.njit(**_OPTIONS)(function))
    # numba asks only whether the function's own file has changed, but most of a kernel is inlined
    # from other files: code that was kept from before a change there must not run.
    if hasattr(kernel, "_cache"):
        kernel._cache._cache_file._source_stamp = _sources()
    return cast(Function, kernel)


@cache
def _sources() -> str:
    """A digest of everything that a kernel may be made of."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        if path.stem in _TABLES or path.stem.endswith("_kernel"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def inlined(function: Function) -> Function:
    """Becomes a part of its callers: passing many arrays would cost more than the work."""
    return cast(Function, numba.njit(forceinline=True, **_OPTIONS)(function))


@inlined
def read_varint(data: Bytes, position: int, end: int) -> tuple[Any, int]:
    """An unsigned number of up to 64 bits, seven to the byte, and the position behind it."""
    value = np.uint64(0)
    shift = np.uint64(0)
    while position < end:
        byte = np.uint64(data[position])
        position += 1
        value |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            if shift == np.uint64(63) and byte > np.uint64(1):
                return value, -NUMBER_TOO_LONG
            return value, position
        shift += np.uint64(7)
        if shift > np.uint64(63):
            return value, -NUMBER_TOO_LONG
    return value, -ENDS_EARLY


@inlined
def signed(value: Any) -> Any:
    """The same 64 bits, of which the highest is the sign."""
    return np.int64(value)


@inlined
def signed32(value: Any) -> Any:
    """The lower 32 bits, of which the highest is the sign."""
    return np.int32(value)


@inlined
def unzigzag(value: Any) -> Any:
    return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))


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
    write_nulls(columns, 0, row, memory[0], memory[1], memory[2])
