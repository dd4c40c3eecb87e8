"""The compiled form of murmur2, the hash by which Kafka's clients give keys to partitions.

Java computes it in 32 bits that wrap around; here it is computed in 64 and cut. The seed and the
multiplier are Kafka's.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types
from numpy.typing import NDArray

from headrace.pipelines.columns.binary_fields import BinaryFields
from headrace.pipelines.columns.native import (
    compiled,
    inlined,
    int32s,
    int64,
    int64s,
    load_byte,
    load_word,
    tuple_type,
)

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


@inlined
def _murmur2(address: int, length: int) -> int:
    hashed = _SEED ^ length
    for at in range(address, address + (length & ~3), 4):
        word = (load_word(at) * _MULTIPLIER) & _MASK
        word ^= word >> 24
        word = (word * _MULTIPLIER) & _MASK
        hashed = ((hashed * _MULTIPLIER) & _MASK) ^ word
    tail = length & 3
    if tail:
        at = address + length - tail
        if tail == 3:
            hashed ^= load_byte(at + 2) << 16
        if tail >= 2:
            hashed ^= load_byte(at + 1) << 8
        hashed = ((hashed ^ load_byte(at)) * _MULTIPLIER) & _MASK
    hashed ^= hashed >> 13
    hashed = (hashed * _MULTIPLIER) & _MASK
    return hashed ^ (hashed >> 15)


@compiled(types.void(tuple_type(BinaryFields, int64, int64s, int64s), int64, int32s))
def partitions(keys: BinaryFields, partition_count: int, out: NDArray[np.int32]) -> None:
    """The partition of every key, without its hash's sign; -1 where there is no key."""
    for row in range(len(keys.lengths)):
        length = keys.lengths[row]
        if length < 0:
            out[row] = -1
        else:
            hashed = _murmur2(keys.address + keys.starts[row], length)
            out[row] = (hashed & 0x7FFFFFFF) % partition_count
