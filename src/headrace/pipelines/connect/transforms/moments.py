"""Days, times of day and moments as what `java.util.Date` holds: milliseconds since 1970 in UTC."""

from __future__ import annotations

import datetime
from typing import Final

from headrace.pipelines.connect.model.logical import (
    MILLISECONDS_PER_DAY,
    days_of,
    milliseconds_of,
    milliseconds_of_day,
    time_of,
    timestamp_of,
)

FIRST_MS: Final = milliseconds_of(datetime.datetime.min.replace(tzinfo=datetime.UTC))
LAST_MS: Final = milliseconds_of(datetime.datetime.max.replace(tzinfo=datetime.UTC))
LEAST: Final = -(1 << 63)
MOST: Final = (1 << 63) - 1


def epoch_ms(value: datetime.date | datetime.time) -> int:
    """The milliseconds of a day, a time of day or a moment."""
    if isinstance(value, datetime.datetime):
        return milliseconds_of(value)
    if isinstance(value, datetime.time):
        return milliseconds_of_day(value)
    return days_of(value) * MILLISECONDS_PER_DAY


def day_at(epoch: int) -> datetime.date:
    """The day of a moment; DataException if it is outside of the years 1 to 9999."""
    return timestamp_of(epoch).date()


def time_at(epoch: int) -> datetime.time:
    """The time of day of a moment."""
    return time_of(epoch % MILLISECONDS_PER_DAY)


def rescaled(count: int, per_second: int, wanted_per_second: int) -> int:
    """A count of one unit as one of another, as Java's TimeUnit does it.

    What is finer is cut off towards zero; what does not fit 64 bits is the last that does.
    """
    if wanted_per_second >= per_second:
        return max(LEAST, min(MOST, count * (wanted_per_second // per_second)))
    units = per_second // wanted_per_second
    return abs(count) // units * (1 if count >= 0 else -1)
