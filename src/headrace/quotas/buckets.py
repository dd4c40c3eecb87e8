"""Changes of topics, limited by a bucket of tokens (KIP-599).

A rate would be wrong here: one request may create a thousand partitions, and would then be waited
for as long as a window has samples of its size. The bucket fills with the quota's tokens per second
up to what a whole window brings; each partition that is created or deleted takes one. It is only
asked whether it is in debt, so that a request larger than the bucket can be served at all.
"""

from __future__ import annotations

import math

from headrace.quotas.rates import LONGEST_THROTTLE_MS, QuotaWindow


class TokenBucket:
    """The tokens of somebody. It begins full, and is full again after a whole span."""

    __slots__ = ("_tokens", "_updated_ms")

    def __init__(self) -> None:
        self._tokens = math.inf
        self._updated_ms = 0

    def tokens(self, limit: float, now_ms: int, window: QuotaWindow) -> float:
        """What is in it now; below zero is debt."""
        burst = limit * window.span_ms / 1000
        gained = limit * max(now_ms - self._updated_ms, 0) / 1000
        self._tokens = min(self._tokens + gained, burst)
        self._updated_ms = now_ms
        return self._tokens

    def take(self, amount: float, limit: float, now_ms: int, window: QuotaWindow) -> None:
        self._tokens = self.tokens(limit, now_ms, window) - amount

    def throttle_ms(self, limit: float, now_ms: int, window: QuotaWindow) -> int:
        """How long until it is out of debt; 0 if it is not in debt."""
        debt = -self.tokens(limit, now_ms, window)
        if debt <= 0:
            return 0
        return math.floor(min(debt * 1000 / limit, LONGEST_THROTTLE_MS - 1) + 0.5)
