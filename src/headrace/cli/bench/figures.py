"""What a measurement says: totals, rates, percentiles, and how they went over time. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

PERCENTILES: Final = (50.0, 95.0, 99.0, 99.9)
_MAX_WINDOWS: Final = 40
_MIN_WINDOW_S: Final = 0.25
"""Clients hand over records in batches: in a shorter window the rate is that of the batches."""


@dataclass(slots=True)
class Run:
    """One phase of a benchmark: how many records in how long, and how late each was.

    `done_at_s` are the times since the start at which records were done, in the same order as
    `latencies_s`, where latencies were measured.
    """

    phase: str  # "produce", "consume", "end to end"
    record_bytes: int
    seconds: float = 0.0
    records: int = 0
    failed: int = 0
    latencies_s: list[float] = field(default_factory=list)
    done_at_s: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """The answer as plain data; latencies in milliseconds."""
        seconds = max(self.seconds, 1e-9)
        told: dict[str, Any] = {
            "phase": self.phase,
            "records": self.records,
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            "records_s": round(self.records / seconds, 1),
            "mb_s": round(self.records * self.record_bytes / seconds / 1e6, 3),
        }
        if self.latencies_s:
            ordered = sorted(self.latencies_s)
            told["avg_ms"] = _ms(math.fsum(ordered) / len(ordered))
            told |= {f"p{_name(each)}_ms": _ms(percentile(ordered, each)) for each in PERCENTILES}
            told["max_ms"] = _ms(ordered[-1])
        return told

    def rates(self) -> list[Window]:
        """The run in pieces that are long enough for a rate."""
        return self.windows(int(self._length_s / _MIN_WINDOW_S))

    @property
    def _length_s(self) -> float:
        return max(self.seconds, max(self.done_at_s, default=0.0), 1e-9)

    def windows(self, count: int = _MAX_WINDOWS) -> list[Window]:
        """The run in equal pieces of time, about so many and none of them cut off."""
        if not self.done_at_s:
            return []
        count = max(1, min(_MAX_WINDOWS, count))
        width = self._length_s / count
        records = [0] * count
        latencies: list[list[float]] = [[] for _ in range(count)]
        for number, at_s in enumerate(self.done_at_s):
            window = min(int(at_s / width), count - 1)
            records[window] += 1
            if self.latencies_s:
                latencies[window].append(self.latencies_s[number])
        return [
            Window(each * width, (each + 1) * width, records[each] / width, sorted(latencies[each]))
            for each in range(count)
        ]


class Window(NamedTuple):
    """A piece of a run: its rate in records a second, and the latencies in it, in order."""

    start_s: float
    end_s: float
    rate: float
    latencies_s: list[float]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent are not above (nearest rank)."""
    return ordered[max(math.ceil(len(ordered) * percent / 100) - 1, 0)]


def _name(percent: float) -> str:
    return f"{percent:g}"


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
