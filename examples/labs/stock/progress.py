"""How far a partition is processed when its records are finished out of order."""

from __future__ import annotations


class PartitionProgress:
    """The offset that may be committed: everything below it is finished.

    The highest finished offset would be wrong: a lower one may still be at work, and be lost if the
    application fails. What is committed is the next offset to read, one more than the last that
    was finished.
    """

    def __init__(self, first_offset: int) -> None:
        self.committable = first_offset
        self._finished: set[int] = set()

    def finish(self, offset: int) -> None:
        self._finished.add(offset)
        while self.committable in self._finished:
            self._finished.remove(self.committable)
            self.committable += 1
