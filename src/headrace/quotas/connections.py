"""How fast connections may come: to a broker, to one of its listeners, from one address (KIP-612).

Too many for the broker or the listener wait their turn, whoever they are. Too many from one address
are that address's own matter: those wait, and are closed.
"""

from __future__ import annotations

from typing import Final

from headrace.quotas.limits import Limits
from headrace.quotas.meters import Meters
from headrace.quotas.rates import QuotaWindow, SampledRate

UNLIMITED: Final = 0x7FFFFFFF


class ConnectionRates:
    """`broker` and `listeners` are connections per second; an address's are in `limits`."""

    def __init__(self, limits: Limits, window: QuotaWindow) -> None:
        self._limits = limits
        self.broker: float = UNLIMITED
        self.listeners: dict[str, float] = {}
        self._window = window
        self._longest_ms = window.size_ms
        self._of_broker = SampledRate()
        self._of_listeners: dict[str, SampledRate] = {}
        self._of_addresses = Meters(SampledRate, window.span_ms)

    def delay_ms(self, listener: str, now_ms: int, *, is_protected: bool = False) -> int:
        """A connection has come: how long it, and all behind it, have to wait.

        A protected listener, that of the brokers where clients have others, does not wait for what
        clients do.
        """
        delay_ms = 0
        if self.broker < UNLIMITED and not is_protected:
            delay_ms = self._charge(self._of_broker, self.broker, now_ms)
        limit = self.listeners.get(listener, UNLIMITED)
        if limit < UNLIMITED:
            rate = self._of_listeners.setdefault(listener, SampledRate())
            delay_ms = max(delay_ms, self._charge(rate, limit, now_ms))
        return delay_ms

    def refusal_ms(self, address: str, now_ms: int) -> int:
        """A connection has come from here: 0 if it is welcome, or when to close it, uncounted."""
        limit = self._limits.of_address(address)
        if limit is None:
            return 0
        rate = self._of_addresses.of(address, now_ms)
        wait_ms = self._charge(rate, limit, now_ms)
        if wait_ms:
            rate.record(-1, now_ms, self._window)
        return wait_ms

    def _charge(self, rate: SampledRate, limit: float, now_ms: int) -> int:
        rate.record(1, now_ms, self._window)
        if limit <= 0:
            return self._longest_ms
        return min(rate.throttle_ms(limit, now_ms, self._window), self._longest_ms)
