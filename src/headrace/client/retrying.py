"""How long a call may take, and how long it rests between two attempts.

Pauses double from `retry_backoff_ms` to `retry_backoff_max_ms`, with some chance in them so that
many clients that failed together do not come back together.
"""

from __future__ import annotations

import time
from random import SystemRandom
from typing import Final

from headrace.client.connection import ConnectionLost, Unreachable
from headrace.client.faults import BrokerRefused, NoBroker, TimedOut
from headrace.client.settings import ClientSettings

PASSING: Final = (ConnectionLost, Unreachable, BrokerRefused)
"""What an attempt may fail with and be repeated; `Deadline.rest` tells which refusals pass."""

OUTAGE: Final = (TimedOut, NoBroker)
"""What a call ends with when no broker could be used for its whole time; the next one may work."""

_JITTER: Final = 0.2
_CHANCE: Final = SystemRandom()
"""Of our own: the state of the module `random` belongs to the program, which may have seeded it."""


class Deadline:
    """The time of one call from outside; it is handed on to whatever the call needs on its way."""

    def __init__(
        self, settings: ClientSettings, what: str, *, timeout_ms: int | None = None
    ) -> None:
        self._what = what
        self._timeout_ms = settings.api_timeout_ms if timeout_ms is None else timeout_ms
        self._request_timeout_s = settings.request_timeout_ms / 1000
        self._end = time.monotonic() + self._timeout_ms / 1000
        self._pause_s = settings.retry_backoff_ms / 1000
        self._max_pause_s = max(settings.retry_backoff_max_ms, settings.retry_backoff_ms) / 1000

    @property
    def left_s(self) -> float:
        return self._end - time.monotonic()

    @property
    def request_s(self) -> float:
        """How long the next request may wait for its answer; never nothing."""
        return max(0.001, min(self._request_timeout_s, self.left_s))

    def rest(self, cause: Exception) -> None:
        """Return when it is time for the next attempt; raise if that is of no use or too late."""
        if isinstance(cause, BrokerRefused) and not cause.error.retriable:
            raise cause
        pause_s = self._pause_s * _CHANCE.uniform(1 - _JITTER, 1 + _JITTER)
        self._pause_s = min(self._pause_s * 2, self._max_pause_s)
        if pause_s >= self.left_s:
            raise TimedOut(
                f"{self._what} did not succeed within {self._timeout_ms / 1000:g} s "
                f"(default.api.timeout.ms): {cause}"
            ) from cause
        time.sleep(pause_s)
