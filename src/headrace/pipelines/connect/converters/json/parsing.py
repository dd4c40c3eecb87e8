"""JSON text as Jackson reads it, which is what Connect leans on.

Objects, arrays and strings are Python's; a number is an int or, with a point or an exponent, a
`Decimal` with all of its digits. Numbers may begin with zeros. What follows the first value is not
looked at. Knows nothing of schemas.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Final, TypeAlias

from headrace.pipelines.connect.faults import DataException

Json: TypeAlias = "bool | int | Decimal | str | list[Json] | dict[str, Json] | None"

_MAX_NUMBER: Final = 1000  # characters
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_AFTER_NUMBER: Final = re.compile(r"[ \t\r\n]|\Z")
_STRING_OR_ZEROS: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?<![\d.eE+])(?P<minus>-?)0+(?=\d)', re.DOTALL
)
_IN_WORD: Final = re.compile(r"[\w$]")


class NotJson(DataException):
    """Text that is no JSON."""

    def __init__(self, reason: object) -> None:
        super().__init__(
            f"Converting byte[] to Kafka Connect data failed due to serialization error: {reason}"
        )


class Missing:
    """What stands where nothing was written."""


MISSING: Final = Missing()


def parse(data: bytes) -> Json | Missing:
    """The value that `data` begins with; MISSING if there is only space."""
    text = decoded(data)
    try:
        return _parsed(text)
    except NotJson:
        plain = _STRING_OR_ZEROS.sub(_without_zeros, text)
        if plain == text:
            raise
        return _parsed(plain)


def _parsed(text: str) -> Json | Missing:
    start = end_of_blank(text, 0)
    if start == len(text):
        return MISSING
    value, end = value_at(text, start)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        if not _AFTER_NUMBER.match(text, end):
            raise NotJson(f"Expected space separating root-level values at column {end + 1}")
    elif (value is None or isinstance(value, bool)) and _IN_WORD.match(text, end):
        raise NotJson(f"Unrecognized token at column {start + 1}")
    return value


def _without_zeros(found: re.Match[str]) -> str:
    return found["minus"] if found["minus"] is not None else found[0]


def value_at(text: str, start: int) -> tuple[Json, int]:
    """The value that begins at `start`, and where it ends; NotJson if there is none."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise NotJson(error) from error
    return value, end


def end_of_blank(text: str, start: int) -> int:
    """Where the space that begins at `start` ends."""
    found = _BLANK.match(text, start)
    return start if found is None else found.end()


def decoded(data: bytes) -> str:
    """The characters of JSON text, in whichever of Unicode's encodings it is.

    Where they end, because bytes are none, a character stands that JSON does not have: bytes
    behind the first value may be anything.
    """
    encoding = "utf-8" if data[:4].isascii() and b"\0" not in data[:4] else _encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        return f"{data[: error.start].decode(encoding, 'replace')}\ufffd"


def _encoding(data: bytes) -> str:
    found = json.detect_encoding(data)
    return "utf-8-sig" if found == "utf-8" else found


def _integer(text: str) -> int:
    _check_length(text)
    return int(text)


def _fraction(text: str) -> Decimal:
    _check_length(text)
    return Decimal(text)


def _check_length(text: str) -> None:
    if len(text) > _MAX_NUMBER:
        raise NotJson(f"Number value length ({len(text)}) exceeds the maximum ({_MAX_NUMBER})")


def _not_a_number(text: str) -> Json:
    raise NotJson(f"Non-standard token '{text}'")


_DECODER: Final = json.JSONDecoder(
    parse_int=_integer, parse_float=_fraction, parse_constant=_not_a_number
)


def kind_of(value: Json | Missing) -> str:
    """The name that Jackson has for the kind of a value."""
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int | Decimal):
        return "NUMBER"
    return _KINDS[type(value)]


_KINDS: Final[dict[type, str]] = {
    type(None): "NULL",
    str: "STRING",
    list: "ARRAY",
    dict: "OBJECT",
    Missing: "MISSING",
}
