"""How much a batch takes: limits and minimums as in Spark's own connector."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.source.admission import MinimumRows, limit_rows
from headrace.types import TopicPartition


def _offsets(*numbers: int) -> dict[TopicPartition, int]:
    return {TopicPartition("t", index): number for index, number in enumerate(numbers)}


def test_a_limit_is_shared_out_by_what_waits() -> None:
    """Proportionally and rounded down, but whoever has something waiting moves."""
    start, latest = _offsets(100, 0, 7, 5), _offsets(400, 600, 7, 6)
    assert limit_rows(90, start, latest) == _offsets(129, 59, 7, 6)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    """Nor does a partition whose log ends before the position of the query."""
    start, latest = _offsets(1, 9), _offsets(5, 3)
    assert limit_rows(4, start, latest) == latest


@given(
    waiting=st.lists(st.integers(0, 1 << 40), min_size=1, max_size=8),
    limit=st.integers(1, 1 << 40),
)
def test_a_limit_always_moves_and_never_exceeds_what_is_there(
    waiting: list[int], limit: int
) -> None:
    """AvailableNow ends because every batch moves; a batch is not much larger than its limit."""
    start, latest = _offsets(*[3] * len(waiting)), _offsets(*(3 + size for size in waiting))
    ends = limit_rows(limit, start, latest)
    moved = [ends[partition] - 3 for partition in start]
    assert all(0 <= step <= size for step, size in zip(moved, waiting, strict=True))
    assert all(step > 0 for step, size in zip(moved, waiting, strict=True) if size)
    assert sum(moved) <= limit + len(waiting)


def test_a_minimum_waits_for_rows_or_for_time() -> None:
    """minOffsetsPerTrigger with maxTriggerDelay; the first batch of a run does not wait."""
    minimum = MinimumRows(min_rows=10, max_delay_ms=1_000)
    assert minimum.admits(1, now_ms=5)
    assert not minimum.admits(9, now_ms=6)
    assert minimum.admits(10, now_ms=7)
    assert not minimum.admits(1, now_ms=1_006)
    assert minimum.admits(1, now_ms=1_007)
    assert not minimum.admits(9, now_ms=2_006)
