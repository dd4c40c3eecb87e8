"""The offset index of a segment: where in the log the batch with a given offset lies.

It is sparse: one entry for about every `index.interval.bytes` of log. An entry names the *last*
offset of a batch and the position where that batch begins, so the batch that holds some offset is
found by going to the last entry that is not above it and walking on. See docs/formats/index.md.

    OFFSET  SIZE  TYPE   FIELD
    0       4     int32  relative_offset    the batch's last offset minus the segment's base offset
    4       4     int32  position           of the batch's first byte in the .log file
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from headrace.log.index_file import IndexFile

_ENTRY: Final = struct.Struct(">ii")
_KEY: Final = struct.Struct(">i")

MAX_RELATIVE_OFFSET: Final = 2**31 - 1
MAX_POSITION: Final = 2**31 - 1


class OffsetPosition(NamedTuple):
    offset: int
    position: int


class OffsetIndex(IndexFile):
    """One `.index` file."""

    __slots__ = ()

    entry_size = _ENTRY.size
    key = _KEY

    def append(self, offset: int, position: int) -> None:
        """Note where the batch that ends with `offset` begins. The index must be hot."""
        assert self.entries is not None
        self.entries += _ENTRY.pack(offset - self.base_offset, position)

    def entry(self, index: int) -> OffsetPosition:
        relative, position = _ENTRY.unpack(self.read(index))
        return OffsetPosition(self.base_offset + relative, position)

    def last(self) -> OffsetPosition | None:
        count = len(self)
        return self.entry(count - 1) if count else None

    def lookup(self, offset: int) -> OffsetPosition:
        """The last entry not above `offset`; the segment's beginning if there is none."""
        index = self.last_at_most(offset - self.base_offset)
        return self.entry(index) if index >= 0 else OffsetPosition(self.base_offset, 0)

    def is_full(self, max_bytes: int) -> bool:
        assert self.entries is not None
        return len(self.entries) // _ENTRY.size >= max_bytes // _ENTRY.size

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.keep(self.last_at_most(offset - self.base_offset - 1) + 1)

    def keep_plausible(self, log_size: int) -> None:
        """Drop everything from the first entry that cannot be true. The index must be hot."""
        assert self.entries is not None
        last_relative, last_position = 0, 0
        whole = len(self.entries) - len(self.entries) % _ENTRY.size
        count = 0
        for relative, position in _ENTRY.iter_unpack(self.entries[:whole]):
            if not (relative > last_relative and last_position < position < log_size):
                break
            last_relative, last_position = relative, position
            count += 1
        self.keep(count)

    def is_plausible(self, log_size: int) -> bool:
        """Whether the file can be the index of a log of this size, judged by its last entry."""
        if not self.is_whole():
            return False
        last = self.last()
        return last is None or (last.offset > self.base_offset and 0 < last.position < log_size)
