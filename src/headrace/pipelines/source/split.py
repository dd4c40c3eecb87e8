"""Offset ranges for tasks: one per partition, or more where the user wants more parallel work.

The arithmetic is that of Spark's own connector, so `minPartitions` and `maxRecordsPerPartition`
give the same tasks here as there. Sizes are offsets, not records: compaction and transactions make
them estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID


class OffsetRange(NamedTuple):
    """What one task reads: the offsets below `end` from `start` on, of one life of a topic."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: UUID | None = None

    @property
    def size(self) -> int:
        return self.end - self.start


def split_ranges(
    ranges: Sequence[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
) -> list[OffsetRange]:
    """The ranges with something in them, divided until both wishes are met."""
    divided = [each for each in ranges if each.size > 0]
    if max_records_per_partition is not None:
        divided = [
            part
            for each in divided
            for part in _divide(each, -(-each.size // max_records_per_partition))
        ]
    if min_partitions is None or len(divided) >= min_partitions:
        return divided
    total = sum(each.size for each in divided)
    small = [each for each in divided if _share(each.size, total, min_partitions) == 1]
    # What stays whole is left out of the proportion, so the large ranges get all other tasks.
    left_size = total - sum(each.size for each in small)
    left_tasks = max(min_partitions - len(small), 1)
    whole = set(small)
    return [
        part
        for each in divided
        for part in _divide(each, 1 if each in whole else _share(each.size, left_size, left_tasks))
    ]


def _share(size: int, total: int, tasks: int) -> int:
    """This range's part of the tasks, rounded half up, at least one."""
    return max(int(size / total * tasks + 0.5), 1)


def _divide(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    """Parts of equal size; the last ones take what does not divide evenly."""
    divided: list[OffsetRange] = []
    start = whole.start
    for left in range(parts, 0, -1):
        end = start + (whole.end - start) // left
        if end > start:
            divided.append(whole._replace(start=start, end=end))
        start = end
    return divided
