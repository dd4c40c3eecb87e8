"""Numbers of variable length: seven bits to the byte, the lowest first, all but the last marked.

Signed numbers are folded first (zigzag), so that small ones are short whatever their sign. Anybody
may have written the bytes: reading stops at the end of what may be read.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.pipelines.kernels.compilation import inlined
from headrace.pipelines.kernels.memory import load_byte, store_byte

ENDS_EARLY: Final = 2
NUMBER_TOO_LONG: Final = 3


@inlined
def read_varint(at: int, end: int, bits: int) -> tuple[Any, int]:
    """A number of up to so many bits and the address behind it, or minus the reason for none."""
    value = np.uint64(0)
    if at >= end:
        return value, -ENDS_EARLY
    byte = load_byte(at)
    at += 1
    value = np.uint64(byte & 0x7F)
    shift = 7
    while byte >= 0x80:
        if at >= end:
            return value, -ENDS_EARLY
        byte = load_byte(at)
        at += 1
        if shift + 7 > bits and byte >> (bits - shift):
            return value, -NUMBER_TOO_LONG
        value |= np.uint64(byte & 0x7F) << np.uint64(shift)
        shift += 7
    return value, at


@inlined
def varint_size(number: Any) -> int:
    size = 1
    while number > np.uint64(0x7F):
        number >>= np.uint64(7)
        size += 1
    return size


@inlined
def write_varint(at: int, number: Any) -> int:
    """Writes to an address; the address behind."""
    while number > np.uint64(0x7F):
        store_byte(at, np.int64(number) | 0x80)
        number >>= np.uint64(7)
        at += 1
    store_byte(at, np.int64(number))
    return at + 1


@inlined
def zigzag(value: int) -> Any:
    return np.uint64((value << 1) ^ (value >> 63))


@inlined
def unzigzag(number: Any) -> Any:
    return np.int64(number >> np.uint64(1)) ^ -np.int64(number & np.uint64(1))
