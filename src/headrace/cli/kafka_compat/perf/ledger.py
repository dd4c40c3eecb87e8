"""How many records a producer has had acknowledged, and after how long, as Kafka's tool prints it.

A callback per record would cost more than the record. Instead records are sent in chunks, and a
chunk is noted with its time; when as many records are acknowledged as were sent up to its end, it
is done, and so long did its records take. Chunks of different partitions may overtake each other:
counts and the average are right all the same, percentiles are those of a queue in which none does.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Final

REPORTING_INTERVAL_MS: Final = 5_000
PERCENTILES: Final = (0.5, 0.95, 0.99, 0.999)
_MIB: Final = 1024.0 * 1024.0


class Tally:
    """Records of one stretch of time: the whole run, its steady part, a window between prints."""

    def __init__(self, now_ms: float) -> None:
        self.start_ms = now_ms
        self.count = 0
        self.size = 0
        self.latencies: Counter[int] = Counter()

    def add(self, count: int, size: int, latency_ms: int) -> None:
        self.count += count
        self.size += size
        self.latencies[latency_ms] += count

    @property
    def average_ms(self) -> float:
        total = sum(latency * count for latency, count in self.latencies.items())
        return total / self.count if self.count else float("nan")

    @property
    def max_ms(self) -> float:
        return float(max(self.latencies, default=0))

    def percentiles(self, wanted: Sequence[float] = PERCENTILES) -> list[int]:
        found = []
        ordered = sorted(self.latencies.items())
        for part in wanted:
            left = int(part * self.count)
            value = 0
            for latency, count in ordered:
                value = latency
                left -= count
                if left < 0:
                    break
            found.append(value)
        return found

    def rates(self, now_ms: float) -> tuple[float, float]:
        """Records and mebibytes per second."""
        elapsed_s = max(now_ms - self.start_ms, 1.0) / 1000.0
        return self.count / elapsed_s, self.size / elapsed_s / _MIB

    def shown_window(self, now_ms: float) -> str:
        records, mebibytes = self.rates(now_ms)
        return (
            f"{self.count} records sent, {records:.1f} records/sec ({mebibytes:.2f} MB/sec), "
            f"{self.average_ms:.1f} ms avg latency, {self.max_ms:.1f} ms max latency."
        )

    def shown_total(self, now_ms: float, kind: str = "") -> str:
        records, mebibytes = self.rates(now_ms)
        p50, p95, p99, p999 = self.percentiles()
        return (
            f"{self.count}{kind} records sent, {records:f} records/sec ({mebibytes:.2f} MB/sec), "
            f"{self.average_ms:.2f} ms avg latency, {self.max_ms:.2f} ms max latency, "
            f"{p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
        )


class Ledger:
    """Chunks on their way, and the tallies of those that have arrived."""

    def __init__(self, now_ms: float, warmup: int, interval_ms: int) -> None:
        self.total = Tally(now_ms)
        self.steady: Tally | None = None
        self.sent = 0
        self._warmup = warmup
        self._interval_ms = interval_ms
        self._window = Tally(now_ms)
        self._said_steady = False
        self._done = 0
        # Number of the last record, how many, their bytes, and when they were sent.
        self._chunks: deque[tuple[int, int, int, float]] = deque()

    def note_sent(self, count: int, size: int, now_ms: float) -> None:
        self.sent += count
        self._chunks.append((self.sent, count, size, now_ms))
        if self._warmup and self.steady is None and self.sent >= self._warmup:
            self.steady = Tally(now_ms)

    def note_gone(self, gone: int, now_ms: float) -> list[str]:
        """As many records have left the producer, one way or the other; returns lines to print."""
        while self._chunks and self._chunks[0][0] <= gone:
            last, count, size, sent_ms = self._chunks.popleft()
            latency_ms = int(now_ms - sent_ms)
            self.total.add(count, size, latency_ms)
            self._window.add(count, size, latency_ms)
            if self.steady is not None and last > self._warmup:
                self.steady.add(count, size, latency_ms)
        if now_ms - self._window.start_ms < self._interval_ms or not self._window.count:
            return []
        lines = [self._window.shown_window(now_ms)]
        if self.steady is not None and not self._said_steady:
            self._said_steady = True
            lines.insert(0, "In steady state.")
        self._window = Tally(now_ms)
        return lines

    def forget(self, failed: int) -> None:
        """Of those that have gone, so many were not acknowledged."""
        for tally in (self.total, self.steady):
            if tally is not None and tally.count:
                tally.size -= tally.size * min(failed, tally.count) // tally.count
                tally.count -= min(failed, tally.count)
