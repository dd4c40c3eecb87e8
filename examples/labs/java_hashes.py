"""The two hashes by which Java programs choose partitions; Python's `hash` is neither of them."""

from __future__ import annotations

import struct
from typing import Final

_MASK: Final = 0xFFFFFFFF
_MULTIPLIER: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C


def murmur2(data: bytes) -> int:
    """Kafka's variant, without a sign."""
    whole = len(data) - len(data) % 4
    state = _SEED ^ len(data)
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        state = state * _MULTIPLIER & _MASK ^ word
    if rest := data[whole:]:
        state = (state ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _MASK
    state = (state ^ state >> 13) * _MULTIPLIER & _MASK
    return state ^ state >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Where Kafka's default partitioner sends a key."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def string_hash(text: str) -> int:
    """`String.hashCode`, with its sign."""
    state = 0
    for (unit,) in struct.iter_unpack("<H", text.encode("utf-16-le")):
        state = state * 31 + unit & _MASK
    return state - (1 << 32) if state >> 31 else state
