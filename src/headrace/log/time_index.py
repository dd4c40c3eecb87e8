"""The time index of a segment: where the records from a given time on begin.

An entry says: the largest timestamp among all batches up to here is T, first reached by the batch
that ends with this offset. An entry is added together with one of the offset index, if the largest
timestamp has grown since, and once more when the segment is rolled or closed; so the last entry
holds the largest timestamp of the whole segment, by which retention judges it. See
docs/formats/index.md.

    OFFSET  SIZE  TYPE   FIELD
    0       8     int64  timestamp          milliseconds since 1970, strictly ascending
    8       4     int32  relative_offset    the batch's last offset minus the base offset
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from headrace.log.index_file import IndexFile
from headrace.types import NO_TIMESTAMP

_ENTRY: Final = struct.Struct(">qi")
_KEY: Final = struct.Struct(">q")


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int


class TimeIndex(IndexFile):
    """One `.timeindex` file."""

    __slots__ = ()

    entry_size = _ENTRY.size
    key = _KEY

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Note the largest timestamp so far, if it is news. The index must be hot."""
        entries = self.entries
        assert entries is not None
        # Asked for nearly every batch: the key alone is looked at, where it lies.
        last = _KEY.unpack_from(entries, len(entries) - _ENTRY.size)[0] if entries else NO_TIMESTAMP
        if timestamp > last:
            entries += _ENTRY.pack(timestamp, offset - self.base_offset)

    def entry(self, index: int) -> TimestampOffset:
        timestamp, relative = _ENTRY.unpack(self.read(index))
        return TimestampOffset(timestamp, self.base_offset + relative)

    def last(self) -> TimestampOffset:
        """The largest timestamp noted; an empty index gives -1 and the base offset."""
        count = len(self)
        return self.entry(count - 1) if count else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry whose timestamp is not above `timestamp`; see `last` for none."""
        index = self.last_at_most(timestamp)
        return self.entry(index) if index >= 0 else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def is_full(self, max_bytes: int) -> bool:
        """One place is kept for the entry that is added when the segment is rolled."""
        assert self.entries is not None
        return len(self.entries) // _ENTRY.size >= max_bytes // _ENTRY.size - 1

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        relative = offset - self.base_offset
        count = len(self)
        while count and _ENTRY.unpack(self.read(count - 1))[1] >= relative:
            count -= 1
        self.keep(count)

    def keep_plausible(self) -> None:
        """Drop everything from the first entry that cannot be true. The index must be hot."""
        assert self.entries is not None
        last_timestamp, last_relative = NO_TIMESTAMP, -1
        whole = len(self.entries) - len(self.entries) % _ENTRY.size
        count = 0
        for timestamp, relative in _ENTRY.iter_unpack(self.entries[:whole]):
            if not (timestamp > last_timestamp and relative > last_relative):
                break
            last_timestamp, last_relative = timestamp, relative
            count += 1
        self.keep(count)

    def is_plausible(self) -> bool:
        """Whether the file can be a time index, judged by its size and last entry."""
        if not self.is_whole():
            return False
        last = self.last()
        return last.timestamp >= NO_TIMESTAMP and last.offset >= self.base_offset
