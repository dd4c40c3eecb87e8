"""Java's .properties syntax, in which Kafka's configuration files are written.

line        key, separator, value; leading white space is skipped
separator   '=' or ':' or white space, each with white space around it
comment     a line whose first character is '#' or '!'
escapes     \\t \\n \\r \\f, \\uXXXX, and a backslash before any other character keeps it
joining     a line that ends in an odd number of backslashes goes on in the next one
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.errors import ConfigError

_BLANK = " \t\f"
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{0,4}|.|$)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values of a file; the last one of equal keys wins, as in Java."""
    properties = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        try:
            properties[_unescape(key)] = _unescape(value)
        except ValueError as error:
            raise ConfigError(f"line {number}: {error}") from None
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with continuations joined and comments dropped, with the number of their first line."""
    joined = ""
    started = 0
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = raw.lstrip(_BLANK)
        if not started:
            if not line or line[0] in "#!":
                continue
            started = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        yield started, joined + line
        joined, started = "", 0
    if started:
        yield started, joined


def _split(line: str) -> tuple[str, str]:
    position = 0
    while position < len(line):
        character = line[position]
        if character == "\\":
            position += 2
            continue
        if character in "=:" or character in _BLANK:
            break
        position += 1
    rest = line[position:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return line[:position], rest


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_replacement, text) if "\\" in text else text


def _replacement(match: re.Match[str]) -> str:
    escape = match[1]
    if escape.startswith("u"):
        if len(escape) != 5:
            raise ValueError(f"\\{escape} is not \\u and four hexadecimal digits")
        return chr(int(escape[1:], 16))
    return _CONTROLS.get(escape, escape)
