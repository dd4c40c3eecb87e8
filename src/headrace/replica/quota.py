"""Replication quotas: how many bytes per second the copying of lagging replicas may take (KIP-73).

Only replicas on the topic's list are throttled, and only while they are not in sync: a quota must
slow a reassignment down, not the replication that acknowledges producers. A leader leaves a
throttled partition out of its answer while its quota is exceeded, a follower out of its question.
Pure counters; time is an argument.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from headrace.types import BrokerId

UNLIMITED: Final = 2**63 - 1
_WINDOW_MS: Final = 1000
_WINDOWS: Final = 11


class ReplicationQuota:
    """The rate over the last eleven windows of one second against a limit in bytes per second."""

    __slots__ = ("_windows", "bytes_per_second")

    def __init__(self, bytes_per_second: int = UNLIMITED) -> None:
        self.bytes_per_second = bytes_per_second
        self._windows: deque[tuple[int, int]] = deque()  # start, bytes

    def record(self, size: int, now_ms: int) -> None:
        """So many bytes were copied for throttled replicas."""
        start = now_ms - now_ms % _WINDOW_MS
        if self._windows and self._windows[-1][0] == start:
            size += self._windows.pop()[1]
        self._windows.append((start, size))
        self._forget(now_ms)

    def rate(self, now_ms: int) -> float:
        """Bytes per second; a burst counts as if it were spread over all full windows."""
        self._forget(now_ms)
        total = sum(size for _, size in self._windows)
        elapsed_ms = now_ms - self._windows[0][0] if self._windows else 0
        return total * 1000 / max(elapsed_ms, (_WINDOWS - 1) * _WINDOW_MS)

    def allows(self, now_ms: int) -> bool:
        """Whether more may be copied now."""
        return self.bytes_per_second >= UNLIMITED or self.rate(now_ms) <= self.bytes_per_second

    def _forget(self, now_ms: int) -> None:
        while self._windows and now_ms - self._windows[0][0] >= _WINDOWS * _WINDOW_MS:
            self._windows.popleft()


class ThrottledReplicas:
    """The value of `leader.` or `follower.replication.throttled.replicas`: `*`, or pairs of
    partition and broker such as `0:101,0:102`.
    """

    __slots__ = ("_all", "_pairs")

    def __init__(self, text: str = "") -> None:
        """ValueError if the text is none of these."""
        stripped = text.strip()
        self._all = stripped == "*"
        self._pairs: set[tuple[int, BrokerId]] = set()
        if not stripped or self._all:
            return
        for pair in stripped.split(","):
            partition, colon, broker_id = pair.strip().partition(":")
            if not (colon and partition.isdecimal() and broker_id.isdecimal()):
                raise ValueError(f"{pair!r} is not partition:broker; '*' means all replicas")
            self._pairs.add((int(partition), int(broker_id)))

    def covers(self, partition: int, broker_id: BrokerId) -> bool:
        return self._all or (partition, broker_id) in self._pairs
