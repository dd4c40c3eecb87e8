"""One kind of use of all clients: what each may use, what it has used, how long it must wait."""

from __future__ import annotations

import math
from typing import Final

from headrace.quotas.buckets import TokenBucket
from headrace.quotas.limits import CONTROLLER_MUTATION_RATE, Limits
from headrace.quotas.meters import Meters
from headrace.quotas.rates import LONGEST_THROTTLE_MS, QuotaWindow, SampledRate

# What a limit allows in this part of the time that is remembered. That time begins with a portion
# and ends with one, so a rate that is as high as it may be is too low by as much.
_SMALLEST_PORTION: Final = 0.02


class RateAccounts:
    """Bytes per second, or hundredths of a thread's time, by whoever has a limit for them.

    Who has none is not remembered. `longest_ms` bounds a single wait.
    """

    def __init__(
        self, key: str, limits: Limits, window: QuotaWindow, longest_ms: int = LONGEST_THROTTLE_MS
    ) -> None:
        self._limits = limits
        self._key = key
        self._window = window
        self._longest_ms = longest_ms
        self._meters = Meters(SampledRate, window.span_ms)

    def __len__(self) -> int:
        return len(self._meters)

    def charge(self, user: str, client_id: str, amount: float, now_ms: int) -> int:
        """A client used this much; how long it must wait now."""
        limit = self._limits.find(self._key, user, client_id)
        if limit is None:
            return 0
        meter = self._meters.of(limit.owner, now_ms)
        meter.record(amount, now_ms, self._window)
        return min(meter.throttle_ms(limit.value, now_ms, self._window), self._longest_ms)

    def charge_unless_over(self, user: str, client_id: str, amount: float, now_ms: int) -> int:
        """As `charge`, but what makes the client wait is not given to it, and not counted.

        What is more than all that the limit can ever allow at once would never be given. Who has
        used nothing lately gets it, is charged for it, and waits with its next request.
        """
        limit = self._limits.find(self._key, user, client_id)
        if limit is None:
            return 0
        meter = self._meters.of(limit.owner, now_ms)
        is_first = meter.used(now_ms, self._window) <= 0
        meter.record(amount, now_ms, self._window)
        wait_ms = meter.throttle_ms(limit.value, now_ms, self._window)
        if wait_ms and is_first:
            return 0
        if wait_ms:
            meter.record(-amount, now_ms, self._window)
        return min(wait_ms, self._longest_ms)

    def give_back(self, user: str, client_id: str, amount: float, now_ms: int) -> None:
        """What was charged is not given after all."""
        limit = self._limits.find(self._key, user, client_id)
        if limit is not None:
            self._meters.of(limit.owner, now_ms).record(-amount, now_ms, self._window)

    def portion(self, user: str, client_id: str, now_ms: int) -> float:
        """What a client can use at once: what is left for it, or what is worth waiting for.

        Who was given every crumb as soon as it is left would come back for the next one hundreds of
        times a second, and its neighbours would pay for that.
        """
        limit = self._limits.find(self._key, user, client_id)
        if limit is None:
            return math.inf
        meter = self._meters.of(limit.owner, now_ms)
        used = meter.used(now_ms, self._window)
        left = limit.value * meter.elapsed_ms(now_ms, self._window) / 1000 - used
        smallest = limit.value * self._window.span_ms / 1000 * _SMALLEST_PORTION
        return max(left, smallest)


class MutationAccounts:
    """Partitions that are created and deleted, by whoever has a limit for them (KIP-599)."""

    def __init__(self, limits: Limits, window: QuotaWindow) -> None:
        self._limits = limits
        self._window = window
        self._meters = Meters(TokenBucket, window.span_ms)

    def __len__(self) -> int:
        return len(self._meters)

    def charge(
        self, user: str, client_id: str, amount: float, now_ms: int, *, is_strict: bool
    ) -> int:
        """A client changes this much; how long it must wait now.

        Strictly, who must wait does not change anything, and is not charged for it.
        """
        limit = self._limits.find(CONTROLLER_MUTATION_RATE, user, client_id)
        if limit is None:
            return 0
        bucket = self._meters.of(limit.owner, now_ms)
        if is_strict:
            wait_ms = bucket.throttle_ms(limit.value, now_ms, self._window)
            if not wait_ms:
                bucket.take(amount, limit.value, now_ms, self._window)
            return wait_ms
        bucket.take(amount, limit.value, now_ms, self._window)
        return bucket.throttle_ms(limit.value, now_ms, self._window)
