"""Where the latest batches of the active segment lie, so that nobody at the log's end reads a disk.

Followers and most consumers ask for what was just written. An index is too coarse to answer them
without a look at the file; these few numbers for each batch are enough. Older batches fall out.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Final, NamedTuple

_MAX: Final = 1024
_KEPT: Final = 512


class BatchPlace(NamedTuple):
    """Where a batch lies in its segment."""

    position: int
    size: int
    base_offset: int


class RecentBatches:
    """Adjacent batches up to the end of a log file, 24 bytes for each."""

    __slots__ = ("_base_offsets", "_last_offsets", "_positions")

    def __init__(self) -> None:
        self._positions = array("q")
        self._base_offsets = array("q")
        self._last_offsets = array("q")

    def add(self, position: int, base_offset: int, last_offset: int) -> None:
        positions = self._positions
        positions.append(position)
        self._base_offsets.append(base_offset)
        self._last_offsets.append(last_offset)
        if len(positions) > _MAX:
            drop = len(positions) - _KEPT
            del positions[:drop], self._base_offsets[:drop], self._last_offsets[:drop]

    def covers(self, offset: int) -> bool:
        """Whether `find` knows the answer: the offset does not lie before the batches kept here."""
        last_offsets = self._last_offsets
        return len(last_offsets) > 0 and offset >= last_offsets[0]

    def find(self, offset: int, end: int) -> BatchPlace | None:
        """The batch that holds `offset`, or the next one behind a gap; None behind the last.

        `end` is the size of the file, where the last batch ends.
        """
        positions = self._positions
        index = bisect_left(self._last_offsets, offset)
        if index == len(positions):
            return None
        position = positions[index]
        if index + 1 < len(positions):
            end = positions[index + 1]
        return BatchPlace(position, end - position, self._base_offsets[index])
