"""Who wants to hear of changes, and the one queue that keeps their order.

Callbacks run after the change is committed and outside the store's lock. A callback that leads to
another write (directly, in a simulation) does not nest: its events join the queue.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable

from headrace.coordination.tree import Callback, Cancel, Event, NodeEvent, check_path, is_below

logger = logging.getLogger(__name__)


class Watches:
    """The callbacks of one session."""

    def __init__(self) -> None:
        self._callbacks: dict[int, tuple[str, Callback]] = {}
        self._next_id = 0
        self._queue: deque[Event] = deque()
        self._lock = threading.Lock()
        self._delivering = False

    def add(self, prefix: str, callback: Callback) -> Cancel:
        check_path(prefix)
        with self._lock:
            watch_id = self._next_id
            self._next_id += 1
            self._callbacks[watch_id] = (prefix, callback)

        def cancel() -> None:
            with self._lock:
                self._callbacks.pop(watch_id, None)

        return cancel

    def prefixes(self) -> list[str]:
        """What somebody wants to hear of, each path once."""
        with self._lock:
            return sorted({prefix for prefix, _ in self._callbacks.values()})

    def enqueue(self, events: Iterable[Event]) -> None:
        """Remember events in the order of the commits; call it while holding the store's lock."""
        with self._lock:
            if self._callbacks:
                self._queue.extend(events)

    def deliver(self) -> None:
        """Run the callbacks; if another call is already doing so, it will deliver these too."""
        while True:
            with self._lock:
                if self._delivering or not self._queue:
                    return
                self._delivering = True
                event = self._queue.popleft()
                callbacks = list(self._callbacks.values())
            try:
                for prefix, callback in callbacks:
                    if not isinstance(event, NodeEvent) or is_below(event.path, prefix):
                        _call(callback, event)
            finally:
                with self._lock:
                    self._delivering = False


def _call(callback: Callback, event: Event) -> None:
    try:
        callback(event)
    except Exception:
        # The write has happened: a listener's fault must not look like a failed write.
        logger.exception("a watch callback failed on %s", event)
