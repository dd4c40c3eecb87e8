"""One thread that does what others ask for, one thing after another, now or at a later time."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")


class Stopped(Exception):
    """The thread has ended, and does nothing any more."""


class Turns:
    """Whatever is submitted runs in the order of its time, then of its arrival."""

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._heap: list[tuple[int, int, Callable[[], None], Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; what was submitted before runs now."""
        self._thread.start()

    def close(self, timeout_s: float) -> None:
        """End after the turn that is under way."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    @property
    def has_begun(self) -> bool:
        """Whether what is submitted has run, runs, or will."""
        return self._thread.ident is not None

    @property
    def is_here(self) -> bool:
        """Whether the caller is the thread itself."""
        return threading.current_thread() is self._thread

    def submit(self, turn: Callable[[], T]) -> Future[T]:
        """Have it run as soon as possible."""
        return self.later(0, turn)

    def later(self, delay_ms: int, turn: Callable[[], T]) -> Future[T]:
        """Have it run after a while."""
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(turn())
            except Exception as fault:
                future.set_exception(fault)

        def drop() -> None:
            if future.set_running_or_notify_cancel():
                future.set_exception(Stopped("the worker stops"))

        due = self._clock.monotonic_ms() + delay_ms if delay_ms else 0
        with self._changed:
            if self._closing:
                drop()
                return future
            heapq.heappush(self._heap, (due, next(self._numbers), run, drop))
            self._changed.notify_all()
        return future

    def _run(self) -> None:
        while (run := self._next()) is not None:
            run()
        with self._changed:
            left, self._heap = self._heap, []
        for *_, drop in left:
            drop()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._closing:
                wait_s = None
                if self._heap:
                    due = self._heap[0][0]
                    wait_s = (due - self._clock.monotonic_ms()) / 1000 if due else 0
                    if wait_s <= 0:
                        return heapq.heappop(self._heap)[2]
                self._changed.wait(wait_s)
        return None


def logged(future: Future[T], what: str) -> None:
    """Log why a turn failed that nobody waits for."""

    def look(done: Future[T]) -> None:
        fault = None if done.cancelled() else done.exception()
        if fault is not None and not isinstance(fault, Stopped):
            _LOG.error("%s failed", what, exc_info=fault)

    future.add_done_callback(look)
