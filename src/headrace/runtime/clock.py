"""Time as an argument: epoch milliseconds for records, monotonic ones for deadlines."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the core may know of time."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since 1970, as records carry them."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds that never go back, for deadlines."""
        ...


class SystemClock:
    """The machine's own clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
