"""Values as the JVM and we exchange them: a letter says the kind, a length how much follows.

| letter | |
|---|---|
| `n` `t` `f` | null, true, false |
| `i` `d` | a whole number of 64 bits, a double |
| `s` `b` | a text, bytes |
| `l` `m` | a list, a map |

`Wire.java` has the other side. Bytes that are read are views of the frame.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

_LENGTH: Final = struct.Struct(">I")
_LONG: Final = struct.Struct(">q")
_DOUBLE: Final = struct.Struct(">d")
_BOUND: Final = 1 << 63


def encode(value: object) -> bytearray:
    """The value as bytes; TypeError if there is no kind for it."""
    into = bytearray()
    _write(into, value)
    return into


def decode(frame: memoryview) -> object:
    """The value of a whole frame."""
    value, _ = _read(frame, 0)
    return value


def _write(into: bytearray, value: object) -> None:
    if value is None:
        into += b"n"
    elif isinstance(value, bool):
        into += b"t" if value else b"f"
    elif isinstance(value, int):
        if not -_BOUND <= value < _BOUND:
            raise TypeError(f"{value} has more than 64 bits")
        into += b"i" + _LONG.pack(value)
    elif isinstance(value, float):
        into += b"d" + _DOUBLE.pack(value)
    elif isinstance(value, str):
        data = value.encode()
        into += b"s" + _LENGTH.pack(len(data)) + data
    elif isinstance(value, bytes | bytearray | memoryview):
        into += b"b" + _LENGTH.pack(len(value))
        into += value
    elif isinstance(value, Mapping):
        into += b"m" + _LENGTH.pack(len(value))
        for key, item in value.items():
            _write(into, key)
            _write(into, item)
    elif isinstance(value, Sequence):
        into += b"l" + _LENGTH.pack(len(value))
        for item in value:
            _write(into, item)
    else:
        raise TypeError(f"a {type(value).__name__} cannot be given to Java")


def _read(frame: memoryview, at: int) -> tuple[object, int]:
    """A value, and where the next one begins."""
    kind, at = chr(frame[at]), at + 1
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], at
    if kind == "i":
        return _LONG.unpack_from(frame, at)[0], at + _LONG.size
    if kind == "d":
        return _DOUBLE.unpack_from(frame, at)[0], at + _DOUBLE.size
    (length,) = _LENGTH.unpack_from(frame, at)
    at += _LENGTH.size
    if kind == "s":
        return str(frame[at : at + length], "utf-8"), at + length
    if kind == "b":
        return frame[at : at + length], at + length
    if kind == "l":
        items = []
        for _ in range(length):
            item, at = _read(frame, at)
            items.append(item)
        return items, at
    assert kind == "m", f"no value begins with {kind!r}"
    made = {}
    for _ in range(length):
        key, at = _read(frame, at)
        made[key], at = _read(frame, at)
    return made, at


_CONSTANTS: Final[Mapping[str, object]] = {"n": None, "t": True, "f": False}
