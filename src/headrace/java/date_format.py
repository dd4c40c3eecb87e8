"""Java's `SimpleDateFormat` in UTC and English: moments as text and back, by the same patterns.

| letters | what they are |
|---|---|
| `G` | era |
| `y` `Y` | year, year of the week |
| `M` `L` `d` `D` | month, day, day of the year |
| `E` `u` | weekday: its name, its number from Monday |
| `a` | AM or PM |
| `H` `k` `K` `h` | hour: 0-23, 1-24, 0-11, 1-12 |
| `m` `s` `S` | minute, second, millisecond |
| `z` `Z` `X` | time zone |

Text is read as leniently as Java reads it: fields may overflow (month 13), what follows is ignored.
Weeks (`w`, `W`, `F`) are rejected, and so are, for reading, `Y`, `G`, `D`, `u` and a weekday
without a day. Of zones by name, `UTC` and `GMT` are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from headrace.java.calendars import DAY_MS, Moment, day_number, moment_of

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)
_PARTS: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z']+)|(')")
_NUMBERS: Final = "yMLdHkKhmsS"  # what is read as digits, `M` and `L` only if short
_UNREAD: Final = "YGDu"
_DIGITS: Final = re.compile(r"-?[0-9]+")
_OFFSET: Final = re.compile(r"([+-])([0-9]{2})([0-9]{2})")
_GMT_OFFSET: Final = re.compile(r"GMT([+-])([0-9]{1,2}):([0-9]{2})", re.IGNORECASE)
_ISO_OFFSETS: Final = (
    r"([+-])([0-9]{2})",
    r"([+-])([0-9]{2})([0-9]{2})",
    r"([+-])([0-9]{2}):([0-9]{2})",
)


class InvalidDateFormat(ValueError):
    """The pattern is none of Java's, or has letters that are not supported; says which."""


class UnreadableDate(ValueError):
    """A text that the pattern does not fit."""


class DateFormat:
    """A pattern, ready to write moments and, if `reads`, to read them."""

    def __init__(self, pattern: str, *, reads: bool = False) -> None:
        self.pattern = pattern
        self._parts = _parts(pattern)
        if reads:
            self._check_reads()

    def text(self, epoch_ms: int) -> str:
        """A moment as the pattern writes it."""
        moment = moment_of(epoch_ms)
        return "".join(
            letter if width == 0 else _FIELDS[letter](moment, width)
            for letter, width in self._parts
        )

    def epoch_ms(self, text: str, century_start_ms: int) -> int:
        """The moment that a text tells; UnreadableDate if it does not fit the pattern.

        Two digits of a year are one of the hundred years from `century_start_ms` on, which Java
        has begin eighty years ago.
        """
        read = _Reading(text, century_start_ms)
        for place, (letter, width) in enumerate(self._parts):
            if width == 0:
                read.literal(letter)
            else:
                read.field(letter, width, self._abuts(place))
        return read.epoch_ms()

    def _abuts(self, place: int) -> bool:
        """Whether digits follow digits with nothing between: then a field has its width only."""
        following = self._parts[place + 1 : place + 2]
        return bool(following) and _is_number(*following[0])

    def _check_reads(self) -> None:
        letters = {letter for letter, width in self._parts if width}
        unread = sorted(letters & set(_UNREAD))
        if unread:
            raise InvalidDateFormat(f"dates cannot be read by the letter {unread[0]}")
        if "E" in letters and "d" not in letters:
            raise InvalidDateFormat("dates cannot be read by a weekday (E) without a day (d)")
        if letters & set("Hk") and letters & set("hK"):
            raise InvalidDateFormat("dates cannot be read by hours of both 12 and 24")


def _parts(pattern: str) -> tuple[tuple[str, int], ...]:
    """Letters with their widths; text has the width 0."""
    made: list[tuple[str, int]] = []
    for found in _PARTS.finditer(pattern):
        quoted, letter, plain, stray = found.groups()
        if stray:
            raise InvalidDateFormat("Unterminated quote")
        if letter is None:
            made += [(char, 0) for char in (plain or quoted.replace("''", "'") or "'")]
        elif letter not in _FIELDS:
            known = " ".join(_FIELDS)
            raise InvalidDateFormat(f"the letter {letter} is not supported, but these are: {known}")
        elif letter == "X" and len(found[0]) > 3:
            raise InvalidDateFormat(f"invalid ISO 8601 format: length={len(found[0])}")
        else:
            made.append((letter, len(found[0])))
    return tuple(made)


def _is_number(letter: str, width: int) -> bool:
    return width > 0 and letter in _NUMBERS and not (letter in "ML" and width >= 3)


# --- writing ---


def _number(value: Callable[[Moment], int]) -> Callable[[Moment, int], str]:
    return lambda moment, width: f"{value(moment):0{width}}"


def _year(year: int, width: int) -> str:
    return f"{year % 100:02}" if width == 2 else f"{year:0{width}}"


def _week_year(moment: Moment, width: int) -> str:
    """Of weeks from Sunday to Saturday, the first of which has 1 January: the Saturday's year."""
    days = day_number(moment.year, moment.month, moment.day)
    year = moment_of((days + (6 - moment.weekday) % 7) * DAY_MS).year
    return _year(year, width) if year >= 0 else "-" + _year(-year, width)


def _month(moment: Moment, width: int) -> str:
    if width < 3:
        return f"{moment.month:0{width}}"
    return MONTHS[moment.month - 1][: 3 if width == 3 else None]


def _hour(moment: Moment) -> int:
    return moment.ms_of_day // 3_600_000


_FIELDS: Final[Mapping[str, Callable[[Moment, int], str]]] = {
    "G": lambda moment, width: "AD" if moment.year > 0 else "BC",
    "y": lambda moment, width: _year(moment.year if moment.year > 0 else 1 - moment.year, width),
    "Y": _week_year,
    "M": _month,
    "L": _month,
    "d": _number(lambda moment: moment.day),
    "D": _number(lambda moment: moment.day_of_year),
    "E": lambda moment, width: WEEKDAYS[moment.weekday - 1][: None if width > 3 else 3],
    "u": _number(lambda moment: moment.weekday),
    "a": lambda moment, width: "AM" if _hour(moment) < 12 else "PM",
    "H": _number(_hour),
    "k": _number(lambda moment: _hour(moment) or 24),
    "K": _number(lambda moment: _hour(moment) % 12),
    "h": _number(lambda moment: (_hour(moment) + 11) % 12 + 1),
    "m": _number(lambda moment: moment.ms_of_day // 60_000 % 60),
    "s": _number(lambda moment: moment.ms_of_day // 1000 % 60),
    "S": _number(lambda moment: moment.ms_of_day % 1000),
    "z": lambda moment, width: "UTC" if width < 4 else "Coordinated Universal Time",
    "Z": lambda moment, width: "+0000",
    "X": lambda moment, width: "Z",
}


# --- reading ---


class _Reading:
    """One walk over a text, and what it told so far."""

    def __init__(self, text: str, century_start_ms: int) -> None:
        self.text = text
        self.century_start_ms = century_start_ms
        self.at = 0
        self.in_first_year = False  # of the century, of which only the end belongs to it
        self.told: dict[str, int] = {}
        self.offset_ms = 0

    def literal(self, char: str) -> None:
        if not self.text.startswith(char, self.at):
            raise UnreadableDate(self.text)
        self.at += 1

    def field(self, letter: str, width: int, abuts: bool) -> None:
        begin = self.at
        self._skip_blanks()
        if _is_number(letter, width):
            self._digits(letter, width, begin + width if abuts else None)
        elif letter in "zZX":
            self._zone(letter, width)
        elif self.at > begin:
            raise UnreadableDate(self.text)  # blanks are skipped before digits and zones only
        elif letter in "ML":
            self.told["M"] = 1 + self._name(MONTHS)
        elif letter == "a":
            self.told["a"] = self._name(("AM", "PM"))
        else:
            self._name(WEEKDAYS)

    def _skip_blanks(self) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        if self.at >= len(self.text):
            raise UnreadableDate(self.text)

    def _digits(self, letter: str, width: int, end: int | None) -> None:
        stop = len(self.text) if end is None else end
        found = _DIGITS.match(self.text, self.at, stop)
        if found is None or stop > len(self.text):
            raise UnreadableDate(self.text)
        value = int(found[0])
        if letter == "y" and width <= 2 and found.end() - self.at == 2 and value >= 0:
            value = self._in_this_century(value)
        self.at = found.end()
        self.told["M" if letter == "L" else letter] = value

    def _in_this_century(self, two_digits: int) -> int:
        start = moment_of(self.century_start_ms).year
        self.in_first_year = two_digits == start % 100
        return two_digits + start // 100 * 100 + (100 if two_digits < start % 100 else 0)

    def _name(self, names: tuple[str, ...]) -> int:
        rest = self.text[self.at :].lower()
        whole = [n for n, name in enumerate(names) if rest.startswith(name.lower())]
        short = [n for n, name in enumerate(names) if rest.startswith(name[:3].lower())]
        if not whole and not short:
            raise UnreadableDate(self.text)
        self.at += len(names[whole[0]]) if whole else 3
        return (whole or short)[0]

    def _zone(self, letter: str, width: int) -> None:
        found: re.Match[str] | None
        if letter == "X":
            if self.text.startswith("Z", self.at):
                self.at += 1
                return
            found = re.compile(_ISO_OFFSETS[width - 1]).match(self.text, self.at)
        else:
            found = _OFFSET.match(self.text, self.at) or _GMT_OFFSET.match(self.text, self.at)
            if found is None and self.text[self.at : self.at + 3].upper() in ("UTC", "GMT"):
                self.at += 3
                return
        if found is None:
            raise UnreadableDate(self.text)
        self.at = found.end()
        hours, minutes = int(found[2]), int(found[3]) if found.re.groups > 2 else 0
        if hours > 23 or minutes > 59:
            raise UnreadableDate(self.text)
        self.offset_ms = (hours * 60 + minutes) * (-60_000 if found[1] == "-" else 60_000)

    def epoch_ms(self) -> int:
        year = self.told.get("y", 1970)
        made = self._in_year(year)
        if self.in_first_year and made < self.century_start_ms:
            return self._in_year(year + 100)
        return made

    def _in_year(self, year: int) -> int:
        told = self.told
        days = day_number(year, told.get("M", 1), told.get("d", 1))
        minutes = self._hour() * 60 + told.get("m", 0)
        return (
            days * DAY_MS
            + minutes * 60_000
            + told.get("s", 0) * 1000
            + told.get("S", 0)
            - self.offset_ms
        )

    def _hour(self) -> int:
        told = self.told
        if "H" in told:
            return told["H"]
        if "k" in told:
            return 0 if told["k"] == 24 else told["k"]
        half = told.get("K", 0 if told.get("h", 0) == 12 else told.get("h", 0))
        return half + 12 * told.get("a", 0)
