"""What a measurement says: totals, rates, percentiles, and how they went over time. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

PERCENTILES: Final = (50.0, 95.0, 99.0, 99.9)
_WINDOWS: Final = 100


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

    def rates(self) -> list[tuple[float, float]]:
        """Records a second over time: the middle of each window and the rate in it."""
        if not self.done_at_s:
            return []
        width = max(max(self.done_at_s) / _WINDOWS, 0.01)
        counts: dict[int, int] = {}
        for at_s in self.done_at_s:
            counts[int(at_s / width)] = counts.get(int(at_s / width), 0) + 1
        last = max(counts)
        # The last window is cut off somewhere: it would look like a collapse.
        shown = range(last) if last else range(1)
        return [((each + 0.5) * width, counts.get(each, 0) / width) for each in shown]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent are not above (nearest rank)."""
    return ordered[max(math.ceil(len(ordered) * percent / 100) - 1, 0)]


def _name(percent: float) -> str:
    return f"{percent:g}"


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
