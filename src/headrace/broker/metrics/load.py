"""How busy the event loop is, between two looks.

Kafka has pools of threads and tells how idle each is on average. Here one thread serves everybody:
what it did not compute, it was idle.
"""

from __future__ import annotations

from time import monotonic, thread_time


class LoadMeter:
    """To be asked on the loop's own thread."""

    __slots__ = ("_asked_at", "_idle", "_worked")

    def __init__(self) -> None:
        self._asked_at = monotonic()
        self._worked = thread_time()
        self._idle = 1.0

    def look(self) -> None:
        """Begin a new interval; a very short one says nothing and is left to grow."""
        now = monotonic()
        if now - self._asked_at > 0.1:
            worked = thread_time()
            self._idle = 1 - min(1.0, (worked - self._worked) / (now - self._asked_at))
            self._asked_at, self._worked = now, worked

    @property
    def idle(self) -> float:
        """The idle part of the last interval, from 0 to 1."""
        return self._idle
