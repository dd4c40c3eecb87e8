"""Conditions of a query that narrow what a batch read fetches."""

from __future__ import annotations

import pytest

from headrace.pipelines.source.filters import EVERYTHING, Condition, Narrowing, cut, narrow
from headrace.types import TopicPartition


def _p(number: int, topic: str = "t") -> TopicPartition:
    return TopicPartition(topic, number)


def test_topic_partition_and_offset_are_chosen() -> None:
    """Bounds are those that the comparisons leave, the ends included."""
    assert narrow(
        [
            Condition("partition", "EqualTo", [1]),
            Condition("offset", "GreaterThan", [9]),
            Condition("offset", "LessThan", [20]),
            Condition("topic", "EqualNullSafe", ["t"]),
        ]
    ) == Narrowing(
        topics=frozenset("t"),
        partitions=frozenset({1}),
        first_offset=10,
        last_offset=19,
    )


@pytest.mark.parametrize(
    ("operator", "begin"),
    [
        ("EqualTo", 500),
        ("GreaterThanOrEqual", 500),
        ("GreaterThan", 501),
        ("LessThan", None),
        ("LessThanOrEqual", None),
    ],
)
def test_timestamps_only_say_where_to_begin(operator: str, begin: int | None) -> None:
    """They need not rise with the offsets: after a younger record an older one may come."""
    assert narrow([Condition("timestamp", operator, [500])]) == Narrowing(min_timestamp=begin)


@pytest.mark.parametrize(
    "condition",
    [
        Condition("value", "EqualTo", ["x"]),
        Condition("key", "In", [1, 2]),
        Condition("topic", "GreaterThan", ["a"]),
        Condition("topic", "StringStartsWith", ["a"]),
        Condition("partition", "Unheard", [1]),
        Condition("partition", "In", []),
        Condition("timestamp", "GreaterThan", [-5]),
    ],
)
def test_what_says_nothing_leaves_nothing_out(condition: Condition) -> None:
    """Other columns, other comparisons, and times before 1970, which no broker looks up."""
    assert narrow([condition]) == EVERYTHING


def test_several_conditions_hold_together() -> None:
    """They are joined by AND: the narrowest of each kind counts."""
    narrowing = narrow(
        [
            Condition("partition", "In", [1, 2, 3]),
            Condition("partition", "LessThanOrEqual", [2]),
            Condition("partition", "GreaterThan", [0]),
            Condition("partition", "In", [5, 2]),
            Condition("offset", "In", [5, 9]),
            Condition("offset", "GreaterThan", [5]),
            Condition("topic", "In", ["t", "u"]),
            Condition("topic", "In", ["t", "v"]),
            Condition("timestamp", "GreaterThan", [7]),
            Condition("timestamp", "GreaterThanOrEqual", [3]),
        ]
    )
    assert [number for number in range(7) if narrowing.selects(_p(number))] == [2]
    assert [topic for topic in "tuv" if narrowing.selects(_p(2, topic))] == ["t"]
    assert (narrowing.first_offset, narrowing.last_offset) == (6, 9)
    assert narrowing.min_timestamp == 8


def test_ranges_are_cut_to_what_is_left() -> None:
    """A partition without a record that young has nothing to read."""
    narrowing = Narrowing(partitions=frozenset({0, 1, 2}), first_offset=10, last_offset=49)
    start = {_p(number): 0 for number in range(4)}
    end = {_p(0): 100, _p(1): 40, _p(2): 100, _p(3): 100}
    ranges = cut(narrowing, start, end, {_p(0): 30, _p(1): -1, _p(2): 3})
    assert ranges == {_p(0): (30, 50), _p(1): (40, 40), _p(2): (10, 50)}
