"""How a tool that runs until it is told to stop is told to stop.

Java's virtual machine ends with 128 plus the number of the signal, after the hooks of the tool have
run; a script that stops a tool sees the same here.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopped(BaseException):
    """SIGINT or SIGTERM has come. Not an Exception: nothing on the way may take it for a fault."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


@contextmanager
def stoppable() -> Iterator[None]:
    """Inside the block, Ctrl-C and SIGTERM raise `Stopped`."""

    def on_signal(number: int, _frame: object) -> None:
        raise Stopped(number)

    with _caught(on_signal):
        yield


@contextmanager
def counted() -> Iterator[list[int]]:
    """Inside the block, signals are only noted in the list: for loops that look at it."""
    seen: list[int] = []
    with _caught(lambda number, _frame: seen.append(number)):
        yield seen


@contextmanager
def _caught(handler: Callable[[int, object], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals arrive at the main thread alone
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
