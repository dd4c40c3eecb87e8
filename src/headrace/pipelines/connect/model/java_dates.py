"""Days and moments in text as `SimpleDateFormat` reads and prints them, in UTC.

It is lenient: month 13 is the next year's first, and what follows the last field is not looked at.
Days before 15 October 1582 are of the Julian calendar.
"""

from __future__ import annotations

import datetime
import re
from typing import Final

from headrace.pipelines.connect.model.java_text import moment_of
from headrace.pipelines.connect.model.logical import MILLISECONDS_PER_DAY, milliseconds_of

_NUMBER: Final = r"[ \t]*(-?\d+)"
_DATE: Final = "-".join([_NUMBER] * 3)
_TIME: Final = rf"{_NUMBER}:{_NUMBER}:{_NUMBER}\.{_NUMBER}Z"
DATE: Final = re.compile(_DATE)
TIME: Final = re.compile(_TIME)
TIMESTAMP: Final = re.compile(f"{_DATE}T{_TIME}")

_CUTOVER: Final = -141427  # 15 October 1582, in days after the first of 1970
_DAYS_TO_EPOCH: Final = 719468  # from 1 March of the year 0 of the Gregorian calendar
_JULIAN_LAG: Final = 2  # days between the two calendars at that day
_UNITS: Final = (3_600_000, 60_000, 1000, 1)


def milliseconds_in(pattern: re.Pattern[str], text: str) -> int | None:
    """What the fields at the start of `text` say, in milliseconds after 1970; None if nothing."""
    found = pattern.match(text)
    if found is None:
        return None
    fields = [int(field) for field in found.groups()]
    days = 0
    if pattern is not TIME:
        days = _days(*fields[:3])
        fields = fields[3:]
    return days * MILLISECONDS_PER_DAY + sum(
        field * unit for field, unit in zip(fields, _UNITS, strict=False)
    )


def _days(year: int, month: int, day: int) -> int:
    years, month = divmod(month - 1, 12)
    since_march = (month - 2) % 12
    year += years - (month < 2)
    before = 365 * year + year // 4 + (153 * since_march + 2) // 5 + day - 1 - _DAYS_TO_EPOCH
    gregorian = before - year // 100 + year // 400
    return gregorian if gregorian >= _CUTOVER else before - _JULIAN_LAG


def _day_text(days: int) -> str:
    """yyyy-MM-dd of a day."""
    if days >= _CUTOVER:
        return f"{datetime.date.fromordinal(days + 719163):%Y-%m-%d}".rjust(10, "0")
    since = days + _DAYS_TO_EPOCH + _JULIAN_LAG
    year, rest = divmod(4 * since + 3, 1461)
    rest //= 4
    month = (5 * rest + 2) // 153
    day = rest - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year += month <= 2
    return f"{year if year > 0 else 1 - year:04d}-{month:02d}-{day:02d}"


def date_text(value: datetime.date | datetime.time | datetime.datetime) -> str:
    """A time before the second day of 1970, else a day if it is midnight, else a moment."""
    at = milliseconds_of(moment_of(value))
    days, rest = divmod(at, MILLISECONDS_PER_DAY)
    seconds, milliseconds = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    time = f"{hour:02d}:{minute:02d}:{second:02d}.{milliseconds:03d}Z"
    if at < MILLISECONDS_PER_DAY:
        return time
    return _day_text(days) if rest == 0 else f"{_day_text(days)}T{time}"
