"""Durations of what is done often: how many, how long, and a sample of the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Final

GATHERED: Final = 128
_KEPT: Final = 2048
_WINDOW_NS: Final = 60 * 1_000_000_000
_SECOND_NS: Final = 1_000_000_000

Times = tuple[int, ...]
"""Nanoseconds of the parts of one thing, always in the same order."""


class Durations:
    """Tuples of durations: how many, their sums, and a minute's worth of samples.

    `weight` is how many each of the present samples stands for.
    """

    __slots__ = ("_folded_ns", "_kept", "count", "samples", "sums_ns", "weight")

    def __init__(self, width: int) -> None:
        self.samples: list[Times] = []  # what has not been looked at
        self.weight = 1
        self.count = 0
        self.sums_ns = [0] * width
        self._kept: deque[tuple[int, list[Times]]] = deque()
        self._folded_ns = perf_counter_ns()

    def add(self, times: Times) -> None:
        self.samples.append(times)
        if len(self.samples) >= GATHERED:
            self.fold(perf_counter_ns())

    def fold(self, now_ns: int) -> float:
        """Count what has gathered, and keep as much of it as its share of the window.

        Returns how many there were in a second.
        """
        samples, self.samples = self.samples, []
        elapsed_ns, self._folded_ns = now_ns - self._folded_ns, now_ns
        if not samples:
            return 0.0
        self.count += len(samples) * self.weight
        columns = zip(*samples, strict=True)
        self.sums_ns = [
            old + sum(new) * self.weight for old, new in zip(self.sums_ns, columns, strict=True)
        ]
        wanted = max(1, _KEPT * min(elapsed_ns, _WINDOW_NS) // _WINDOW_NS)
        self._kept.append((now_ns, samples[:: -(-len(samples) // wanted)]))
        # The last ones are shown for as long as nothing follows them.
        while len(self._kept) > 1 and self._kept[0][0] < now_ns - _WINDOW_NS:
            self._kept.popleft()
        return len(samples) * _SECOND_NS / max(elapsed_ns, 1)

    def recent(self) -> list[Times]:
        """The samples of the last minute."""
        return [times for _, samples in self._kept for times in samples]


def quantiles(values_ns: list[int], wanted: Sequence[float]) -> list[float]:
    """These quantiles of some durations, in milliseconds; NaN where there are none."""
    if not values_ns:
        return [float("nan")] * len(wanted)
    values_ns.sort()
    last = len(values_ns) - 1
    return [values_ns[min(last, int(each * len(values_ns)))] / 1e6 for each in wanted]
