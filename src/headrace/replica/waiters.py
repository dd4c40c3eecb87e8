"""Requests that wait on partitions: a fetch for bytes, a produce for its records to be committed.

A waiter calls `wake` exactly once. It refuses to know about time:
the shell wakes it when its deadline passes, by calling `release`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Final

from headrace.types import Offset

_FIRST_SWEEP: Final = 256


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
    """A write to one partition that waits until it is committed, or cannot be any more."""

    __slots__ = ("_wake", "released")

    def __init__(self, wake: Callable[[], None]) -> None:
        self.released = False
        self._wake = wake

    def release(self) -> None:
        if not self.released:
            self.released = True
            self._wake()


class OffsetWaiters:
    """Waiters sorted by the offset that each of them needs.

    Who was released by its deadline stays until its offset is reached. Where that takes for ever
    and requests keep coming, a sweep whenever the number has doubled keeps the list short.
    """

    __slots__ = ("_sweep_at", "entries")

    def __init__(self) -> None:
        self.entries: list[tuple[Offset, CommitWaiter]] = []
        self._sweep_at = _FIRST_SWEEP

    def add(self, required: Offset, waiter: CommitWaiter) -> None:
        entries = self.entries
        if not entries or entries[-1][0] <= required:
            entries.append((required, waiter))
        else:
            insort(entries, (required, waiter), key=_required)
        if len(entries) >= self._sweep_at:
            self.entries = [entry for entry in entries if not entry[1].released]
            self._sweep_at = max(_FIRST_SWEEP, 2 * len(self.entries))

    def release(self, reached: Offset) -> None:
        """Tell everybody who needs no more than `reached`."""
        entries = self.entries
        count = 0
        for required, _ in entries:
            if required > reached:
                break
            count += 1
        if count:
            self.entries = entries[count:]
            for _, waiter in entries[:count]:
                waiter.release()

    def release_all(self) -> None:
        """Tell everybody: what they wait for will not happen here."""
        entries, self.entries = self.entries, []
        for _, waiter in entries:
            waiter.release()


def _required(entry: tuple[Offset, CommitWaiter]) -> Offset:
    return entry[0]
