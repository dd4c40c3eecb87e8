"""JSON as Jackson writes it: the text inside of Connect's topics, without spaces, in UTF-8.

Equal values must give equal bytes, because keys of compacted topics are made of them. Three things
differ from Python's own writer: hexadecimal digits are upper case, only characters of more than
sixteen bits are escaped, and doubles look like Java's.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Final

from headrace.pipelines.connect.faults import DataException

_ESCAPE: Final = re.compile(r"\\(u[0-9a-f]{4}|.)")
_WIDE: Final = re.compile("[\U00010000-\U0010ffff]")
_HALF: Final = b"\\ud"
"""The escape of a character's half: alone it is no character."""
_PLAIN: Final = (1e-3, 1e7)
"""Between these a double has no exponent."""


def encode(value: object) -> bytes:
    """A value of dicts, lists, strings, numbers, booleans and None."""
    return _text(value).encode()


def decode(data: bytes) -> object:
    """The value of a text; DataException if it is none, or one that could not be written again."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
        if _HALF in data.lower():
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as fault:
        shown = data[:80].decode(errors="replace")
        raise DataException(f"not JSON: {shown} ({fault})") from None


def _text(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(str(k))}:{_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_text(each) for each in value) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return _double(value)
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    raise DataException(f"JSON has no form for {value!r} of {type(value).__name__}")


def _quoted(text: str) -> str:
    plain = json.dumps(text, ensure_ascii=False)
    return _ESCAPE.sub(_raised, _WIDE.sub(lambda match: json.dumps(match[0])[1:-1], plain))


def _raised(match: re.Match[str]) -> str:
    escape = match[1]
    return "\\u" + escape[1:].upper() if len(escape) > 1 else match[0]


def _double(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0 or _PLAIN[0] <= abs(value) < _PLAIN[1]:
        plain = f"{Decimal(repr(value)):f}"
        return plain if "." in plain else plain + ".0"
    number = Decimal(repr(value)).normalize()
    sign, digits, _ = number.as_tuple()
    first, *others = (str(digit) for digit in digits)
    return f"{'-' if sign else ''}{first}.{''.join(others) or '0'}E{number.adjusted()}"
