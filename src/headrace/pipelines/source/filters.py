"""Conditions of a query that a batch read can use: on topic, partition, offset and timestamp.

They choose what is fetched, and that is all: Spark looks at each row again, so it is enough that no
row is left out. Timestamps need not rise with the offsets, so a lower bound of them says where to
begin, and an upper bound says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar, cast

from headrace.types import TopicPartition

_MIN_INT64: Final = -(1 << 63)
MAX_INT64: Final = (1 << 63) - 1
_T = TypeVar("_T")
_EQUALITIES: Final = frozenset({"EqualTo", "EqualNullSafe", "In"})


class Condition(NamedTuple):
    """A comparison of a column with a value, or (`In`) with several; times are in milliseconds.

    The operator has the name of Spark's filter. One that is not known here narrows nothing.
    """

    column: str
    operator: str
    values: list[int] | list[str]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What the conditions leave to be read; bounds are inclusive, None: no condition."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first_partition: int = 0
    last_partition: int = MAX_INT64
    first_offset: int = 0
    last_offset: int = MAX_INT64
    min_timestamp: int | None = None
    apart_from: frozenset[TopicPartition] = frozenset()

    def selects(self, partition: TopicPartition) -> bool:
        return (
            partition not in self.apart_from
            and (self.topics is None or partition.topic in self.topics)
            and (self.partitions is None or partition.partition in self.partitions)
            and self.first_partition <= partition.partition <= self.last_partition
        )


EVERYTHING: Final = Narrowing()


def narrow(conditions: Iterable[Condition]) -> Narrowing:
    """What is left to be read where all of these hold."""
    found = EVERYTHING
    for condition in conditions:
        found = _narrower(found, condition)
    return found


def _narrower(known: Narrowing, condition: Condition) -> Narrowing:
    column, operator, values = condition
    if column == "topic" and operator in _EQUALITIES:
        names = frozenset(cast("list[str]", values))
        return replace(known, topics=_both(known.topics, names))
    if column not in ("partition", "offset", "timestamp") or not values:
        return known
    numbers = cast("list[int]", values)
    first, last = _bounds(operator, numbers)
    if column == "timestamp":
        begin = max(first, known.min_timestamp or 0)
        return known if first < 0 else replace(known, min_timestamp=begin)
    if column == "offset":
        return replace(
            known,
            first_offset=max(first, known.first_offset),
            last_offset=min(last, known.last_offset),
        )
    if operator in _EQUALITIES:
        return replace(known, partitions=_both(known.partitions, frozenset(numbers)))
    return replace(
        known,
        first_partition=max(first, known.first_partition),
        last_partition=min(last, known.last_partition),
    )


def _both(known: frozenset[_T] | None, chosen: frozenset[_T]) -> frozenset[_T]:
    return chosen if known is None else known & chosen


def _bounds(operator: str, values: list[int]) -> tuple[int, int]:
    """The least and the greatest number for which the comparison can hold."""
    match operator:
        case "EqualTo" | "EqualNullSafe" | "In":
            return min(values), max(values)
        case "GreaterThan":
            return values[0] + 1, MAX_INT64
        case "GreaterThanOrEqual":
            return values[0], MAX_INT64
        case "LessThan":
            return _MIN_INT64, values[0] - 1
        case "LessThanOrEqual":
            return _MIN_INT64, values[0]
        case _:
            return _MIN_INT64, MAX_INT64


def cut(
    narrowing: Narrowing,
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    begins_at: Mapping[TopicPartition, int],
) -> dict[TopicPartition, tuple[int, int]]:
    """The ranges that are left. `begins_at`: the first offset young enough, -1: there is none."""
    ranges = {}
    for partition, last in end.items():
        if not narrowing.selects(partition):
            continue
        first = max(start[partition], narrowing.first_offset)
        if partition in begins_at:
            young = begins_at[partition]
            first = max(first, young) if young >= 0 else last
        ranges[partition] = (first, min(last, narrowing.last_offset + 1))
    return ranges
