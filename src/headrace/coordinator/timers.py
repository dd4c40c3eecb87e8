"""Timers as data: when which key is due. Setting one again replaces it.

A heartbeat moves a deadline into the future a thousand times for each time that it expires, so
that must cost next to nothing: the heap keeps the old entry, which is put back when its time comes.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush


class Timers:
    """Deadlines by key. Keys must not need an order; equal deadlines expire in the order set."""

    __slots__ = ("_count", "_deadlines", "_heap")

    def __init__(self) -> None:
        self._deadlines: dict[Hashable, tuple[int, int]] = {}
        # An entry of the heap is never later than its key's deadline; it may be earlier.
        self._heap: list[tuple[int, int, Hashable]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._deadlines)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._deadlines

    def set(self, key: Hashable, deadline_ms: int) -> None:
        """Let `key` be due at `deadline_ms`, whatever was set before."""
        known = self._deadlines.get(key)
        if known is not None and known[0] <= deadline_ms:
            self._deadlines[key] = (deadline_ms, known[1])
            return
        self._count += 1
        self._deadlines[key] = (deadline_ms, self._count)
        heappush(self._heap, (deadline_ms, self._count, key))

    def cancel(self, key: Hashable) -> None:
        """Forget `key`; nothing happens if it was not set."""
        self._deadlines.pop(key, None)

    def deadline_ms(self, key: Hashable) -> int | None:
        known = self._deadlines.get(key)
        return None if known is None else known[0]

    def next_wake_ms(self) -> int | None:
        """When to call `due` next; it may find nothing then, but nothing is due earlier."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> list[Hashable]:
        """Take out and return the keys whose deadline has come, the earliest first."""
        found: list[Hashable] = []
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            deadline_ms, number, key = heappop(heap)
            known = self._deadlines.get(key)
            if known is None or known[1] != number:
                continue  # cancelled, or replaced by an earlier one that has its own entry
            if known[0] > deadline_ms:
                heappush(heap, (known[0], number, key))
                continue
            del self._deadlines[key]
            found.append(key)
        return found
