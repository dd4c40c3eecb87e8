"""Java's calendar: days before 15 October 1582 are Julian, later ones Gregorian, all in UTC.

Days count from 1 January 1970. Years count on through zero: 0 is 1 BC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DAY_MS: Final = 86_400_000
_FIRST_GREGORIAN: Final = -141_427  # 15 October 1582
_GREGORIAN_YEAR: Final = 1582


@dataclass(frozen=True, slots=True)
class Moment:
    """The fields of a moment. `weekday` is 1 for Monday to 7 for Sunday."""

    year: int
    month: int
    day: int
    day_of_year: int
    weekday: int
    ms_of_day: int


def moment_of(epoch_ms: int) -> Moment:
    """The fields of a number of milliseconds since 1970."""
    days, ms_of_day = divmod(epoch_ms, DAY_MS)
    year, month, day = _date_of(days)
    weekday = (days + 3) % 7 + 1
    return Moment(year, month, day, days - day_number(year, 1, 1) + 1, weekday, ms_of_day)


def day_number(year: int, month: int, day: int) -> int:
    """The day of a date; months and days beyond their ends count on, as in a lenient calendar."""
    ahead, place = divmod(month - 1, 12)
    year, month = year + ahead, place + 1
    gregorian = _gregorian(year, month) + day - 1
    if year > _GREGORIAN_YEAR or (year == _GREGORIAN_YEAR and gregorian >= _FIRST_GREGORIAN):
        return gregorian
    return _julian(year, month) + day - 1


def _gregorian(year: int, month: int) -> int:
    year, month = _from_march(year, month)
    era, of_era = divmod(year, 400)
    days = of_era * 365 + of_era // 4 - of_era // 100 + _before_month(month)
    return era * 146_097 + days - 719_468


def _julian(year: int, month: int) -> int:
    year, month = _from_march(year, month)
    return year * 365 + year // 4 + _before_month(month) - 719_470


def _from_march(year: int, month: int) -> tuple[int, int]:
    return (year, month - 3) if month > 2 else (year - 1, month + 9)


def _before_month(month_from_march: int) -> int:
    return (153 * month_from_march + 2) // 5


def _date_of(days: int) -> tuple[int, int, int]:
    if days >= _FIRST_GREGORIAN:
        era, of_era = divmod(days + 719_468, 146_097)
        year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        day = of_era - (365 * year + year // 4 - year // 100)
        year += era * 400
    else:
        era, of_era = divmod(days + 719_470, 1461)
        year = (of_era - of_era // 1460) // 365
        day = of_era - 365 * year
        year += era * 4
    month = (5 * day + 2) // 153
    date = day - _before_month(month) + 1
    return (year, month + 3, date) if month < 10 else (year + 1, month - 9, date)
