"""Scalars as .proto source writes them."""

from __future__ import annotations

import math
import re
import struct
from typing import Final

_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
}
_MEANINGS: Final = {escape[1]: character for character, escape in _ESCAPES.items()} | {"?": "?"}
_ESCAPED: Final = re.compile(
    r"""\\(?:(?P<octal>[0-7]{1,3})|[xX](?P<byte>[0-9a-fA-F]{1,2})"""
    r"""|(?:u|U0000)(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"""
    r"""|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})"""
    r"""|(?P<sign>[abfnrtv\\?'"]))"""
)
_FLOAT: Final = struct.Struct("f")


def quoted(text: str | bytes) -> str:
    """A string literal; what is not a control character stays readable.

    Where proto2 does not insist on UTF-8 a string may be any bytes, and arrives as such.
    """
    if isinstance(text, bytes):
        return quoted_bytes(text)
    return '"' + "".join(_character(each) for each in text) + '"'


def _character(each: str) -> str:
    if each in _ESCAPES:
        return _ESCAPES[each]
    return f"\\{ord(each):03o}" if each < " " or each == "\x7f" else each


def quoted_bytes(data: bytes) -> str:
    """A literal of any bytes."""
    return '"' + "".join(_byte(each) for each in data) + '"'


def _byte(each: int) -> str:
    return _character(chr(each)) if each < 0x80 else f"\\{each:03o}"


def unquoted(literal: str) -> bytes:
    """What a string literal means, as protoc reads it."""
    text, read, at = literal[1:-1], bytearray(), 0
    for match in _ESCAPED.finditer(text):
        read += text[at : match.start()].encode() + _meaning(match)
        at = match.end()
    return bytes(read + text[at:].encode())


def _meaning(escape: re.Match[str]) -> bytes:
    if escape["octal"]:
        return bytes([int(escape["octal"], 8) & 0xFF])
    if escape["byte"]:
        return bytes([int(escape["byte"], 16)])
    if escape["sign"]:
        return _MEANINGS[escape["sign"]].encode()
    if escape["high"]:
        return bytes.fromhex(escape["high"] + escape["low"]).decode("utf-16-be").encode()
    return chr(int(escape["short"] or escape["long"], 16)).encode("utf-8", "surrogatepass")


def floating(value: float, *, single: bool) -> str:
    """The shortest literal that reads back as this number, of 32 bits if `single`."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value)) if math.copysign(1, value) > 0 or value else "-0"
    if single:
        for precision in range(6, 10):
            text = f"{value:.{precision}g}"
            if _FLOAT.pack(float(text)) == _FLOAT.pack(value):
                return text
    return repr(value)


def default_value(text: str, *, is_string: bool, is_bytes: bool) -> str:
    """A default as a descriptor holds it (bytes are escaped there already) as a literal."""
    if is_string:
        return quoted(text)
    return f'"{text}"' if is_bytes else text
