"""What travels between the compiler and the process that asks it: lists of byte strings.

A frame is the length of what follows, then each part behind its own length, all lengths as 32-bit
big-endian integers. Both ends are ours and of one version, so there is nothing else in it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import BinaryIO, Final

OK: Final = b"ok"
INVALID: Final = b"invalid"
MISSING: Final = b"missing"
"""How an answer begins."""

_LENGTH: Final = struct.Struct(">I")


def pack(parts: Sequence[bytes]) -> bytes:
    """One frame that holds these parts."""
    body = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    return _LENGTH.pack(len(body)) + body


def missing_bytes(received: bytes | bytearray) -> int:
    """How many bytes are still to come, as far as is known; 0 for a whole frame."""
    if len(received) < _LENGTH.size:
        return _LENGTH.size - len(received)
    return _LENGTH.size + int(_LENGTH.unpack_from(received)[0]) - len(received)


def unpack(frame: bytes | bytearray) -> list[bytes]:
    """The parts of a whole frame."""
    parts = []
    at = _LENGTH.size
    while at < len(frame):
        start = at + _LENGTH.size
        at = start + _LENGTH.unpack_from(frame, at)[0]
        parts.append(bytes(frame[start:at]))
    return parts


def read(stream: BinaryIO) -> list[bytes] | None:
    """The parts of the next frame; None once the other side has closed the stream."""
    frame = b""
    while missing := missing_bytes(frame):
        more = stream.read(missing)
        if not more:
            return None
        frame += more
    return unpack(frame)
