"""Java's regular expressions in settings, as Python's.

What both have is written alike, but for three things: groups with a name, quotations (`\\Q…\\E`)
and classes of characters by name (`\\p{Alpha}`). What only Java has is rejected with its place.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.pipelines.connect.faults import ConfigException

_CLASSES: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Space": r"\s",
    "XDigit": "0-9a-fA-F",
}
_OTHER: Final = re.compile(r"\\Q(.*?)(?:\\E|$)|\\p\{(\w+)\}|\(\?<(?=[a-zA-Z])|\\z|\\.|.", re.DOTALL)


def compiled(text: str) -> re.Pattern[str]:
    """The pattern; re.error says what is wrong with it."""
    return re.compile("".join(_piece(match, text) for match in _OTHER.finditer(text)))


def _piece(match: re.Match[str], text: str) -> str:
    piece, quoted, named = match[0], match[1], match[2]
    if quoted is not None:
        return re.escape(quoted)
    if named is not None:
        if named not in _CLASSES:
            raise re.error(f"unknown class \\p{{{named}}}", text, match.start())
        inside = text.count("[", 0, match.start()) > text.count("]", 0, match.start())
        return _CLASSES[named] if inside else f"[{_CLASSES[named]}]"
    if piece == "(?<":
        return "(?P<"
    return r"\Z" if piece == r"\z" else piece


def a_pattern(name: str, value: object) -> None:
    """A regular expression."""
    if value is None:
        raise ConfigException.of(name, value, "Invalid regex: there is none")
    try:
        compiled(str(value))
    except re.error as fault:
        raise ConfigException.of(name, value, f"Invalid regex: {fault}") from None
