"""Requests that wait on partitions: a fetch for bytes, a produce for its records to be committed.

A waiter counts down what is missing and calls `wake` exactly once. It refuses to know about time:
the shell wakes it when its deadline passes, by calling `release`.
"""

from __future__ import annotations

from collections.abc import Callable


class FetchWaiter:
    """A fetch that wants `missing_bytes` more before it is worth answering (KIP-227 apart)."""

    __slots__ = ("_wake", "missing_bytes", "released")

    def __init__(self, missing_bytes: int, wake: Callable[[], None]) -> None:
        self.missing_bytes = missing_bytes
        self.released = False
        self._wake = wake

    def on_readable(self, size: int) -> None:
        """`size` more bytes can be read on one of the partitions."""
        self.missing_bytes -= size
        if self.missing_bytes <= 0:
            self.release()

    def release(self) -> None:
        if not self.released:
            self.released = True
            self._wake()


class CommitWaiter:
    """A produce that is answered when every partition it wrote to has committed its records."""

    __slots__ = ("_wake", "outstanding", "released")

    def __init__(self, wake: Callable[[], None]) -> None:
        self.outstanding = 0
        self.released = False
        self._wake = wake

    def on_committed(self) -> None:
        """One of the partitions has committed what was written to it."""
        self.outstanding -= 1
        assert self.outstanding >= 0, "a partition committed the same write twice"
        if self.outstanding == 0:
            self.release()

    def release(self) -> None:
        if not self.released:
            self.released = True
            self._wake()
