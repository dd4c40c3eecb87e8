"""What a test hears from a watch, and how it waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.coordination.tree import Event, NodeEvent, SessionEvent

PATIENCE_S = 20.0


class Ear:
    """A callback that remembers, and wakes who waits."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._news = threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._news:
            self.events.append(event)
            self._news.notify_all()

    def wait_for(self, *wanted: Event) -> None:
        """Return when all of these were heard."""
        self.wait_until(lambda: all(event in self.events for event in wanted))

    def wait_until(self, heard: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(heard, PATIENCE_S), f"heard only {self.events}"

    @property
    def of_session(self) -> list[SessionEvent]:
        return [event for event in self.events if isinstance(event, SessionEvent)]

    @property
    def paths(self) -> list[str]:
        return [event.path for event in self.events if isinstance(event, NodeEvent)]
