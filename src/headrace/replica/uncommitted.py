"""How many bytes become readable when the high watermark moves.

A parked fetch counts bytes (`fetch.min.bytes`), the high watermark counts offsets. Between an
append and its commit somebody has to remember which is which; looking it up in the log would cost
a search for every commit.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from headrace.types import Offset

_MOST: Final = 1024
_UNKNOWN: Final = 1 << 62


class UncommittedSizes:
    """Sizes of appended batches that are not committed, oldest first.

    A leader whose followers are gone may append for long: beyond a limit the newest are put
    together, and whoever waits is woken a little late rather than the list growing for ever.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: deque[tuple[Offset, int]] = deque()

    def add(self, end_offset: Offset, size: int) -> None:
        entries = self._entries
        if len(entries) >= _MOST:
            size += entries.pop()[1]
        entries.append((end_offset, size))

    def take(self, up_to: Offset) -> int:
        """The bytes below `up_to`, which are committed now.

        What was appended before anybody counted is taken for a lot: whoever waits looks again.
        """
        entries = self._entries
        size = 0
        while entries and entries[0][0] <= up_to:
            size += entries.popleft()[1]
        return size or _UNKNOWN

    def clear(self) -> None:
        self._entries.clear()
