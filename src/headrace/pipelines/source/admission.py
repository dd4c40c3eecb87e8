"""How much of what is there a batch takes: not too much (a limit), not too little (a minimum).

Both follow Spark's own connector. Offsets stand for records, because only the broker knows how
many records lie between two offsets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.types import TopicPartition

Offsets = Mapping[TopicPartition, int]


def limit_rows(max_rows: int, start: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """Ends at most `max_rows` away in sum, shared out in proportion to what each has waiting.

    A partition with little waiting still moves, so the sum may exceed the limit by one offset for
    each such partition. `start` has every partition of `latest`.
    """
    waiting = backlog(start, latest)
    total = sum(waiting.values())
    if total <= max_rows:
        return dict(latest)
    ends = dict(latest)
    for partition, size in waiting.items():
        share = max_rows * (size / total)
        rows = math.ceil(share) if share < 1 else math.floor(share)
        ends[partition] = min(start[partition] + rows, latest[partition])
    return ends


def backlog(start: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """Offsets between here and there, where there are any."""
    return {
        partition: end - start[partition]
        for partition, end in latest.items()
        if end > start[partition]
    }


@dataclass(slots=True)
class MinimumRows:
    """Holds a batch back until enough waits for it, or the wait was long enough."""

    min_rows: int
    max_delay_ms: int
    _last_batch_ms: int | None = None

    def admits(self, waiting_rows: int, now_ms: int) -> bool:
        """Whether a batch may start now; if so, the wait begins anew. The first always may."""
        last = self._last_batch_ms
        overdue = last is None or now_ms - last >= self.max_delay_ms
        if not overdue and waiting_rows < self.min_rows:
            return False
        self._last_batch_ms = now_ms
        return True
