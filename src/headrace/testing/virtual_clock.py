"""A clock that moves only when a test says so, behind the `Clock` protocol."""

from __future__ import annotations


class VirtualClock:
    """Wall-clock and monotonic time under a test's control.

    >>> clock = VirtualClock(now_ms=1_700_000_000_000)
    >>> clock.advance(250)
    >>> clock.now_ms(), clock.monotonic_ms()
    (1700000000250, 250)
    """

    __slots__ = ("_monotonic_ms", "_now_ms")

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def advance(self, ms: int) -> None:
        """Let time pass, for both clocks."""
        if ms < 0:
            raise ValueError(f"time cannot go back by {-ms} ms; set_wall moves the wall clock")
        self._now_ms += ms
        self._monotonic_ms += ms

    def set_wall(self, now_ms: int) -> None:
        """Set the wall clock alone, forward or back, as an operator or NTP does."""
        self._now_ms = now_ms
