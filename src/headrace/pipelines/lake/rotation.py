"""When what a partition has open is published: decisions on rows, times and the clock's hands."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Rotation:
    """Publish after so many rows, after `interval_ms` between the times of rows, after so many
    bytes, or `schedule_ms` after midnight and each multiple of it. None is never."""

    rows: int | None = None
    interval_ms: int | None = None
    schedule_ms: int | None = None
    size: int | None = None
    timezone: datetime.tzinfo = datetime.UTC

    def room(self, written: int) -> int | None:
        """How many rows there is room for; None if for any number."""
        return None if self.rows is None else max(self.rows - written, 0)

    def is_full(self, rows: int, size: int) -> bool:
        """Whether so many rows, or bytes, are enough."""
        enough = self.rows is not None and rows >= self.rows
        return enough or (self.size is not None and size >= self.size)

    def late(self, times: pa.Int64Array | None, base_ms: int | None) -> int | None:
        """The number of the first row whose time is an interval after the first; None if none."""
        if self.interval_ms is None or times is None or base_ms is None or not len(times):
            return None
        late = np.asarray(times) - base_ms >= self.interval_ms
        at = int(late.argmax())
        return at if late[at] else None

    def next_scheduled_ms(self, now_ms: int) -> int | None:
        """When the schedule comes round next."""
        if self.schedule_ms is None:
            return None
        now = datetime.datetime.fromtimestamp(now_ms / 1000, self.timezone)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        start_ms = int(midnight.timestamp()) * 1000
        past = (now_ms - start_ms) // self.schedule_ms + 1
        return start_ms + int(past) * self.schedule_ms


def zone(name: str) -> datetime.tzinfo:
    """A time zone by its name; ValueError if there is none of that name."""
    if name.upper() in ("", "UTC", "Z"):
        return datetime.UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as fault:
        raise ValueError(f"no time zone is called {name}: write it as Europe/Berlin") from fault
