"""Not faster than so many records per second, however fast they could be."""

from __future__ import annotations

from typing import Final

_TICKS_PER_S: Final = 100
MAX_CHUNK: Final = 1_000
MAX_CHUNK_BYTES: Final = 64 << 10


class Pace:
    """When the next records are due; a rate below zero is no limit, none at all is zero."""

    def __init__(self, per_s: float, now_s: float) -> None:
        self._per_s = per_s
        self._start_s = now_s

    def chunk(self, record_size: int) -> int:
        """How many records to send in one go: few enough to keep the pace and the clock exact."""
        most = max(1, min(MAX_CHUNK, MAX_CHUNK_BYTES // max(record_size, 1)))
        return most if self._per_s < 0 else max(1, min(most, int(self._per_s / _TICKS_PER_S)))

    def ahead_s(self, sent: int, now_s: float) -> float:
        """How long to wait before the next record, after so many."""
        if self._per_s < 0:
            return 0.0
        if self._per_s == 0:
            return float("inf")
        return max(0.0, self._start_s + sent / self._per_s - now_s)
