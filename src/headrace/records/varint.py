"""Kafka's variable-length integers as records use them: zigzag, seven bits a byte, lowest first.

Zigzag turns the sign into the lowest bit (0, -1, 1, -2 become 0, 1, 2, 3), so that small numbers of
either sign are short. A varint holds 32 bits in at most 5 bytes, a varlong 64 in at most 10.
Nearly all integers in a batch have one byte or two, and both ways are paved for these.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import CorruptData

_ENCODED: Final = tuple(bytes((byte,)) for byte in range(0x80))
_DECODED: Final = tuple((byte >> 1) ^ -(byte & 1) for byte in range(0x80))


def encode_varint(value: int) -> bytes:
    """`value` as the shortest varint; the same bytes are its varlong."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    if rest < 0x80:
        return _ENCODED[rest]
    if rest < 0x4000:
        return bytes((rest & 0x7F | 0x80, rest >> 7))
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_varint(data: bytes, position: int, bits: int = 32) -> tuple[int, int]:
    """The integer at `position` and the position after it.

    Raises IndexError where the data ends inside it and CorruptData where it has too many bits.
    """
    byte = data[position]
    if byte < 0x80:
        return _DECODED[byte], position + 1
    value = byte & 0x7F
    byte = data[position + 1]
    if byte < 0x80:
        value |= byte << 7
        return (value >> 1) ^ -(value & 1), position + 2
    return _read_long(data, position, bits)


def _read_long(data: bytes, position: int, bits: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, bits, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> bits:
                break
            return (value >> 1) ^ -(value & 1), position
    raise CorruptData(f"an integer that ends at byte {position} has more than {bits} bits")
