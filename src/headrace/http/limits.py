"""How often one client may do something: a bucket of permits per client, filled at a steady rate.

Pure arithmetic; the clock is an argument. Who a client is (its user, else its address) is decided
by the caller.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Final

MAX_CLIENTS: Final = 10_000
"""Buckets that are kept; the one that was used longest ago is full again by then."""


class RateLimit:
    """`permits_per_s` for each client, and `burst` of them at once."""

    def __init__(self, permits_per_s: float, burst: int) -> None:
        self._permits_per_s = permits_per_s
        self._burst = burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, client: str, now_s: float) -> int:
        """0 and a permit less, or after how many seconds there will be one."""
        permits, filled_s = self._buckets.get(client, (float(self._burst), now_s))
        permits = min(self._burst, permits + (now_s - filled_s) * self._permits_per_s)
        allowed = permits >= 1
        self._buckets[client] = (permits - allowed, now_s)
        self._buckets.move_to_end(client)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1 - permits) / self._permits_per_s))

    def give_back(self, client: str) -> None:
        """Return the permit that the last `wait_s` of this client took."""
        if client in self._buckets:
            permits, filled_s = self._buckets[client]
            self._buckets[client] = (min(self._burst, permits + 1), filled_s)
