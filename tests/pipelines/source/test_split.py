"""Tasks out of offset ranges, with the arithmetic of Spark's own connector."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.source.split import OffsetRange, split_ranges


def _ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange("t", number, 100, 100 + size) for number, size in enumerate(sizes)]


def _sizes(ranges: list[OffsetRange]) -> list[tuple[int, int]]:
    return [(each.partition, each.size) for each in ranges]


@pytest.mark.spec("book1:K-11", "book2:T-14")
def test_one_task_per_partition_that_has_something() -> None:
    """The default, as with the direct source: partitions of the DataFrame are the topic's."""
    assert _sizes(split_ranges(_ranges(5, 0, -3, 7))) == [(0, 5), (3, 7)]
    assert _sizes(split_ranges(_ranges(5, 7), min_partitions=2)) == [(0, 5), (1, 7)]


@pytest.mark.spec("book2:T-14")
def test_large_partitions_are_divided_to_reach_min_partitions() -> None:
    """In proportion to their size; small ones stay whole and count for one."""
    assert _sizes(split_ranges(_ranges(1000), min_partitions=3)) == [(0, 333), (0, 333), (0, 334)]
    # Shares are rounded: 1.9 of 3 tasks are two.
    assert _sizes(split_ranges(_ranges(100, 60), min_partitions=3)) == [(0, 50), (0, 50), (1, 60)]
    # 10 is 0.3 of 4 tasks: whole. The other three tasks go to the rest, 2 : 1.
    assert _sizes(split_ranges(_ranges(10, 80, 40), min_partitions=4)) == [
        (0, 10),
        (1, 40),
        (1, 40),
        (2, 40),
    ]


def test_no_task_has_more_than_max_records() -> None:
    """Applied first, so that minPartitions divides what is left to divide."""
    assert _sizes(split_ranges(_ranges(10, 3), max_records_per_partition=4)) == [
        (0, 3),
        (0, 3),
        (0, 4),
        (1, 3),
    ]
    both = split_ranges(_ranges(8), max_records_per_partition=4, min_partitions=4)
    assert _sizes(both) == [(0, 2)] * 4


@given(
    sizes=st.lists(st.integers(0, 10_000), max_size=6),
    min_partitions=st.none() | st.integers(1, 50),
    max_records=st.none() | st.integers(1, 5_000),
)
def test_nothing_is_lost_or_read_twice(
    sizes: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    """Whatever is asked for, the parts of a range follow each other and cover it."""
    ranges = _ranges(*sizes)
    parts = split_ranges(
        ranges, min_partitions=min_partitions, max_records_per_partition=max_records
    )
    for whole in ranges:
        mine = [part for part in parts if part.partition == whole.partition]
        position = whole.start
        for part in mine:
            assert part.start == position
            assert part.size > 0
            assert max_records is None or part.size <= max_records
            position = part.end
        assert position == whole.end
