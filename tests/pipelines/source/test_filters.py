"""Conditions of a query that narrow what a batch read fetches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from headrace.pipelines.source.filters import Narrowing, cut, narrow
from headrace.types import TopicPartition

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1_704_110_400_000


def _p(number: int, topic: str = "t") -> TopicPartition:
    return TopicPartition(topic, number)


def test_what_is_served_exactly_is_not_asked_of_spark_again() -> None:
    """Topic, partition and offset are chosen, not filtered; nullness of them is known."""
    filters: list[Filter] = [
        IsNotNull(("partition",)),
        EqualTo(("partition",), 1),
        GreaterThanOrEqual(("offset",), 10),
        LessThan(("offset",), 20),
        EqualTo(("topic",), "t"),
    ]
    narrowing, kept = narrow(filters)
    assert kept == []
    assert narrowing == Narrowing(
        topics=frozenset("t"), partitions=frozenset({1}), first_offset=10, end_offset=20
    )


def test_timestamps_only_say_where_to_begin() -> None:
    """They need not rise with the offsets, so Spark looks at all of them again."""
    filters: list[Filter] = [
        GreaterThan(("timestamp",), NOON + timedelta(microseconds=1_500)),
        LessThan(("timestamp",), NOON + timedelta(hours=1)),
    ]
    narrowing, kept = narrow(filters)
    assert kept == filters
    assert narrowing == Narrowing(min_timestamp=NOON_MS + 1)
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))
    assert narrow([EqualTo(("timestamp",), elsewhere)])[0] == Narrowing(min_timestamp=NOON_MS)


@pytest.mark.parametrize(
    "condition",
    [
        EqualTo(("value",), b"x"),
        EqualTo(("partition",), True),
        In(("partition",), (1, None)),
        Not(EqualTo(("partition",), 1)),
        IsNull(("partition",)),
        IsNotNull(("key",)),
        GreaterThan(("timestamp",), NOON.replace(tzinfo=None)),
        GreaterThan(("timestamp",), datetime(1960, 1, 1, tzinfo=UTC)),
        GreaterThan(("topic",), "a"),
        EqualTo(("headers", "key"), "x"),
    ],
)
def test_what_cannot_be_served_is_left_to_spark(condition: Filter) -> None:
    """By reference, as Spark demands, and without leaving anything out."""
    narrowing, kept = narrow([condition])
    assert kept[0] is condition
    assert narrowing == Narrowing()


def test_several_conditions_hold_together() -> None:
    """They are joined by AND: the narrowest of each kind counts."""
    narrowing, kept = narrow(
        [
            In(("partition",), (1, 2, 3)),
            LessThanOrEqual(("partition",), 2),
            GreaterThan(("partition",), 0),
            EqualNullSafe(("partition",), 2),
            In(("offset",), (5, 9)),
            GreaterThan(("offset",), 5),
            In(("topic",), ("t", "u")),
        ]
    )
    assert kept == [In(("offset",), (5, 9))]
    assert [number for number in range(5) if narrowing.selects(_p(number))] == [2]
    assert not narrowing.selects(_p(2, "other"))
    assert (narrowing.first_offset, narrowing.end_offset) == (6, 10)


def test_ranges_are_cut_to_what_is_left() -> None:
    """A partition without a record that young has nothing to read."""
    narrowing = Narrowing(partitions=frozenset({0, 1, 2}), first_offset=10, end_offset=50)
    start = {_p(number): 0 for number in range(4)}
    end = {_p(0): 100, _p(1): 40, _p(2): 100, _p(3): 100}
    ranges = cut(narrowing, start, end, {_p(0): 30, _p(1): -1, _p(2): 3})
    assert ranges == {_p(0): (30, 50), _p(1): (40, 40), _p(2): (10, 50)}
