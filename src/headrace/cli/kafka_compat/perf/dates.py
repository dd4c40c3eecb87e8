"""Dates by a pattern of Java's `SimpleDateFormat`, the parts of it that times of a run need."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final

DEFAULT_PATTERN: Final = "yyyy-MM-dd HH:mm:ss:SSS"
_PARTS: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*")
_FIELDS: Final[dict[str, Callable[[datetime], int]]] = {
    "y": lambda when: when.year,
    "M": lambda when: when.month,
    "d": lambda when: when.day,
    "H": lambda when: when.hour,
    "h": lambda when: (when.hour + 11) % 12 + 1,
    "m": lambda when: when.minute,
    "s": lambda when: when.second,
    "S": lambda when: when.microsecond // 1000,
}
_NAMES: Final = {"E": ("%a", "%A"), "a": ("%p", "%p"), "Z": ("%z", "%z"), "z": ("%Z", "%Z")}


def shown_date(epoch_s: float, pattern: str = DEFAULT_PATTERN) -> str:
    """A time of this machine's zone; letters that mean nothing here stay as they are."""
    when = datetime.fromtimestamp(epoch_s).astimezone()

    def part(match: re.Match[str]) -> str:
        quoted, letter, width = match[1], match[2], len(match[0])
        if quoted is not None:
            return quoted.replace("''", "'") or "'"
        if letter == "M" and width >= 3:
            return when.strftime("%b" if width == 3 else "%B")
        if letter == "y" and width == 2:
            return f"{when.year % 100:02}"
        if letter in _FIELDS:
            return f"{_FIELDS[letter](when):0{width}}"
        if letter in _NAMES:
            return when.strftime(_NAMES[letter][width > 3])
        return match[0]

    return _PARTS.sub(part, pattern)
