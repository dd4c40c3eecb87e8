"""Names of folders and files with places for headers and times, as Flume writes them.

    %{host}  a header           %t  milliseconds        %%  the sign itself
    %Y %y %m %d %e %j           year, its two digits, month, day, day without 0, day of the year
    %H %I %k %l %M %S %p        hour, of 12, without 0, of 12 without 0, minute, second, AM or PM
    %a %A %b %B %z %s           weekday and month by name, time zone, seconds since 1970
    %D  %m/%d/%y                %c  date and time

Times are those of the header `timestamp`.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Final

from headrace.errors import ConfigError, HeadraceError
from headrace.java.date_format import MONTHS, WEEKDAYS

_ESCAPE: Final = re.compile(r"%(?:\{([\w.-]+)\}|\[(\w+)\]|(.))")
_TIME: Final = "timestamp"
_NO_NAME: Final = re.compile(r"[\x00-\x1f\x7f]|^\.{1,2}$")
_FIELDS: Final[Mapping[str, Callable[[datetime.datetime], str]]] = {
    "a": lambda at: WEEKDAYS[at.weekday()][:3],
    "A": lambda at: WEEKDAYS[at.weekday()],
    "b": lambda at: MONTHS[at.month - 1][:3],
    "B": lambda at: MONTHS[at.month - 1],
    "c": lambda at: f"{at:%a} {MONTHS[at.month - 1][:3]} {at.day} {at:%H:%M:%S} {at.year}",
    "d": lambda at: f"{at.day:02d}",
    "e": lambda at: str(at.day),
    "D": lambda at: f"{at:%m/%d/%y}",
    "H": lambda at: f"{at.hour:02d}",
    "I": lambda at: f"{(at.hour + 11) % 12 + 1:02d}",
    "j": lambda at: f"{at:%j}",
    "k": lambda at: str(at.hour),
    "l": lambda at: str((at.hour + 11) % 12 + 1),
    "m": lambda at: f"{at.month:02d}",
    "n": lambda at: str(at.month),
    "M": lambda at: f"{at.minute:02d}",
    "p": lambda at: "AM" if at.hour < 12 else "PM",
    "s": lambda at: str(int(at.timestamp())),
    "S": lambda at: f"{at.second:02d}",
    "t": lambda at: str(int(at.timestamp() * 1000)),
    "y": lambda at: f"{at.year % 100:02d}",
    "Y": lambda at: f"{at.year:04d}",
    "z": lambda at: f"{at:%z}",
}


class Unresolved(HeadraceError):
    """An event lacks the header that its path asks for."""


def parts_below(path: str) -> list[str]:
    """The parts of a path, none of which leads out of the folder that it is below.

    Whoever writes a record writes its headers: what no folder may be called becomes %XX.
    """
    return [_NO_NAME.sub(_as_hex, part) for part in path.split("/") if part]


def _as_hex(found: re.Match[str]) -> str:
    return "".join(f"%{ord(char):02X}" for char in found[0])


class Escaped:
    """A text with places in it. `round_s` rounds times down to its multiples."""

    def __init__(self, text: str, key: str, zone: datetime.tzinfo, round_s: int = 0) -> None:
        self._text = text
        self._zone = zone
        self._round_s = round_s
        letters = {found[3] for found in _ESCAPE.finditer(text) if found[3]} - {"%"}
        unknown = sorted(letters - _FIELDS.keys())
        if unknown:
            raise ConfigError(f"{key} is {text!r}; %{unknown[0]} is not an escape of Flume's")
        self.needs_time = bool(letters)
        self.is_plain = _ESCAPE.search(text) is None

    def resolved(self, headers: Mapping[str, str], now_ms: int | None = None) -> str:
        """The text for an event; `now_ms` is put in place of its timestamp."""
        if self.is_plain:
            return self._text
        at = self._moment(headers, now_ms) if self.needs_time else None

        def value(found: re.Match[str]) -> str:
            header, _, letter = found.groups()
            if letter is None:
                return headers.get(header or "", "")
            if letter == "%":
                return "%"
            assert at is not None, "a letter needs the time"
            return _FIELDS[letter](at)

        return _ESCAPE.sub(value, self._text)

    def _moment(self, headers: Mapping[str, str], now_ms: int | None) -> datetime.datetime:
        told = headers.get(_TIME) if now_ms is None else str(now_ms)
        if told is None or not told.lstrip("-").isdecimal():
            raise Unresolved(
                f"an event has {'no' if told is None else 'the unreadable'} header {_TIME}"
                f"{'' if told is None else f' {told!r}'}, which {self._text} needs: add the "
                "interceptor timestamp to its source, or set hdfs.useLocalTimeStamp=true"
            )
        seconds = int(told) / 1000
        at = datetime.datetime.fromtimestamp(seconds, self._zone)
        if not self._round_s:
            return at
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
        into_day = at.hour * 3600 + at.minute * 60 + at.second
        return midnight + datetime.timedelta(seconds=into_day - into_day % self._round_s)
