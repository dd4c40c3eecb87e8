"""The segments of one log in order: which one holds an offset, which one is written."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from headrace.log.segment import LogSegment


class Segments:
    """At least one segment, sorted by base offset; the last is the active one."""

    __slots__ = ("_bases", "_items", "active")

    def __init__(self, segments: list[LogSegment]) -> None:
        assert segments, "a log has at least one segment"
        self._items = segments
        self._bases = [segment.base_offset for segment in segments]
        self.active = segments[-1]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(self._items)

    def __getitem__(self, index: int) -> LogSegment:
        return self._items[index]

    @property
    def base_offsets(self) -> list[int]:
        return list(self._bases)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._items)

    def index_of(self, offset: int) -> int:
        """The number of the segment that holds `offset`; the first one for smaller offsets."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def end_of(self, index: int, log_end_offset: int) -> int:
        """The offset at which the segment's successor begins."""
        return self._bases[index + 1] if index + 1 < len(self._bases) else log_end_offset

    def add(self, segment: LogSegment) -> None:
        assert segment.base_offset > self._bases[-1], "segments are added at the end"
        self._items.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def take_first(self, count: int) -> list[LogSegment]:
        """Remove the oldest segments; the active one stays."""
        assert count < len(self._items), "the active segment stays"
        taken = self._items[:count]
        del self._items[:count], self._bases[:count]
        return taken

    def take_after(self, index: int) -> list[LogSegment]:
        """Remove all segments behind this one, which becomes the active one."""
        taken = self._items[index + 1 :]
        del self._items[index + 1 :], self._bases[index + 1 :]
        self.active = self._items[-1]
        return taken

    def replace(self, index: int, count: int, segment: LogSegment) -> list[LogSegment]:
        """Put one segment in the place of `count` from this one on, which are returned."""
        assert 0 < count < len(self._items) - index, "the active segment stays"
        replaced = self._items[index : index + count]
        assert segment.base_offset == replaced[0].base_offset, "the new one begins as the old did"
        self._items[index : index + count] = [segment]
        self._bases[index : index + count] = [segment.base_offset]
        return replaced

    def start_over(self, segment: LogSegment) -> None:
        """Forget all segments; the log goes on with this one."""
        self._items, self._bases, self.active = [segment], [segment.base_offset], segment
