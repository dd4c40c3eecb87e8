"""Whose turn it is: connections with requests left over are served in rotation.

A connection may use the event loop for `CONNECTION_NS` at a time. Requests beyond that are kept
and served here, one slice per connection, and a round of slices ends after `_ROUND_NS`, so that
sockets, timers and background requests are looked at in between. A client that sends one request
at a time never comes here.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

    from headrace.broker.net.connection import Connection

CONNECTION_NS: Final = 500_000
CONNECTION_FRAMES: Final = 64
_ROUND_NS: Final = 1_000_000


class Turns:
    """The rotation of one listener."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Connection] = deque()
        self._is_scheduled = False

    def add(self, connection: Connection) -> None:
        """Let a connection go on when those before it have had their turn."""
        self._waiting.append(connection)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        waiting = self._waiting
        end_ns = perf_counter_ns() + _ROUND_NS
        try:
            for _ in range(len(waiting)):
                waiting.popleft().go_on()
                if perf_counter_ns() >= end_ns:
                    break
        finally:
            if waiting:
                self._loop.call_soon(self._run)
            else:
                self._is_scheduled = False
