"""Whose use is remembered: meters by owner, for as long as what they hold can matter.

A client id is whatever a client says it is, so there may be a million of them. A meter that has
seen nothing for a whole window equals a new one, so it is dropped then: memory is bounded by what
came in two windows, and nobody has to search for what is old.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Meter = TypeVar("Meter")


class Meters(Generic[Meter]):
    """Meters that are forgotten when they were not asked for in `idle_ms`."""

    def __init__(self, new: Callable[[], Meter], idle_ms: int) -> None:
        self._new = new
        self._idle_ms = idle_ms
        self._recent: dict[Hashable, Meter] = {}
        self._older: dict[Hashable, Meter] = {}  # those not asked for since the last turn
        self._turned_ms = 0

    def __len__(self) -> int:
        return len(self._recent) + len(self._older)

    def of(self, owner: Hashable, now_ms: int) -> Meter:
        """The meter of somebody; a new one if there is none."""
        if now_ms - self._turned_ms >= self._idle_ms:
            self._turn(now_ms)
        found = self._recent.get(owner)
        if found is None:
            found = self._older.pop(owner, None)
            if found is None:
                found = self._new()
            self._recent[owner] = found
        return found

    def _turn(self, now_ms: int) -> None:
        # After two idle times those that were recent at the last turn are too old as well.
        is_long_ago = now_ms - self._turned_ms >= 2 * self._idle_ms
        self._older = {} if is_long_ago else self._recent
        self._recent = {}
        self._turned_ms = now_ms
