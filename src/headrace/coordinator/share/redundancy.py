"""Which beginning of a partition of `__share_group_state` nobody needs any more.

A snapshot of a share partition makes all its earlier records redundant. What lies before the oldest
latest snapshot can be deleted, and is from time to time: the topic is not compacted, because
updates have keys of their own and would be lost.
"""

from __future__ import annotations

from headrace.types import SharePartitionKey


class Redundancy:
    """The offset of the latest snapshot of each share partition."""

    __slots__ = ("_end_offset", "_snapshots")

    def __init__(self) -> None:
        self._snapshots: dict[SharePartitionKey, int] = {}
        self._end_offset = 0

    def on_record(self, offset: int) -> None:
        self._end_offset = offset + 1

    def on_snapshot(self, key: SharePartitionKey, offset: int) -> None:
        self._snapshots[key] = offset

    def on_deleted(self, key: SharePartitionKey) -> None:
        self._snapshots.pop(key, None)

    @property
    def needed_from(self) -> int:
        """The first offset that a load needs."""
        return min(self._snapshots.values(), default=self._end_offset)

    @property
    def needed_records(self) -> int:
        """How many records lie behind it, with those in between that nobody needs."""
        return self._end_offset - self.needed_from
