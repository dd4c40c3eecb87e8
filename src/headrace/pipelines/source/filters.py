"""Filters of a query that a batch read can serve: on topic, partition, offset and timestamp.

A condition on topic, partition or offset is met exactly by choosing what to read, so Spark need not
look at it again. A lower bound of the timestamp only says where to begin: timestamps need not rise
with the offsets, so Spark keeps every condition on them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from headrace.types import TopicPartition

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_NULL: Final = frozenset({"topic", "partition", "offset", "timestamp", "timestampType"})
_MAX_INT64: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What the filters leave to be read; None: no condition."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    min_partition: int = 0
    max_partition: int = _MAX_INT64
    first_offset: int = 0
    end_offset: int = _MAX_INT64
    min_timestamp: int | None = None

    def selects(self, partition: TopicPartition) -> bool:
        return (
            (self.topics is None or partition.topic in self.topics)
            and (self.partitions is None or partition.partition in self.partitions)
            and self.min_partition <= partition.partition <= self.max_partition
        )


def narrow(filters: Iterable[Filter]) -> tuple[Narrowing, list[Filter]]:
    """What these conditions leave to be read, and those that Spark must still look at."""
    found: dict[str, Any] = {}
    kept: list[Filter] = []
    for each in filters:
        attribute: tuple[str, ...] = getattr(each, "attribute", ())
        column = attribute[0] if len(attribute) == 1 else ""
        if isinstance(each, IsNotNull) and column in _NEVER_NULL:
            continue
        served = _serve(found, column, each)
        if not served or column == "timestamp":
            kept.append(each)
    return Narrowing(**found), kept


def _serve(found: dict[str, Any], column: str, condition: Filter) -> bool:
    """Take the condition into account; False: it cannot be."""
    if column == "topic":
        return _serve_names(found, condition)
    if column == "partition":
        chosen = _equal_numbers(condition)
        if chosen is not None:
            found["partitions"] = _both(found.get("partitions"), chosen)
            return True
        return _serve_bounds(found, condition, "min_partition", "max_partition", inclusive=True)
    if column == "offset":
        chosen = _equal_numbers(condition)
        if chosen:
            _raise_to(found, "first_offset", min(chosen))
            _lower_to(found, "end_offset", max(chosen) + 1)
            return len(chosen) == 1
        return _serve_bounds(found, condition, "first_offset", "end_offset", inclusive=False)
    if column == "timestamp":
        return _serve_timestamp(found, condition)
    return False


def _serve_names(found: dict[str, Any], condition: Filter) -> bool:
    if isinstance(condition, EqualTo | EqualNullSafe) and isinstance(condition.value, str):
        chosen = frozenset({condition.value})
    elif isinstance(condition, In) and all(isinstance(name, str) for name in condition.value):
        chosen = frozenset(condition.value)
    else:
        return False
    found["topics"] = _both(found.get("topics"), chosen)
    return True


def _equal_numbers(condition: Filter) -> frozenset[int] | None:
    if isinstance(condition, EqualTo | EqualNullSafe) and _is_number(condition.value):
        return frozenset({condition.value})
    if isinstance(condition, In) and all(_is_number(number) for number in condition.value):
        return frozenset(condition.value)
    return None


def _serve_bounds(
    found: dict[str, Any], condition: Filter, low: str, high: str, *, inclusive: bool
) -> bool:
    """A comparison with a number; `inclusive` says whether the upper bound itself is read."""
    if not isinstance(
        condition, GreaterThan | GreaterThanOrEqual | LessThan | LessThanOrEqual
    ) or not _is_number(condition.value):
        return False
    if isinstance(condition, GreaterThan | GreaterThanOrEqual):
        _raise_to(found, low, condition.value + isinstance(condition, GreaterThan))
    else:
        last = condition.value - isinstance(condition, LessThan)
        _lower_to(found, high, last if inclusive else last + 1)
    return True


def _serve_timestamp(found: dict[str, Any], condition: Filter) -> bool:
    if not isinstance(condition, GreaterThan | GreaterThanOrEqual | EqualTo | EqualNullSafe):
        return False
    moment = condition.value
    if not isinstance(moment, datetime):
        return False
    if moment.tzinfo is None:
        # Without a zone it is not known which moment is meant, so nothing may be left out.
        return False
    elapsed = moment - _EPOCH
    milliseconds = (elapsed.days * 86_400 + elapsed.seconds) * 1_000 + elapsed.microseconds // 1_000
    if milliseconds < 0:
        return False
    _raise_to(found, "min_timestamp", milliseconds)
    return True


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
        ranges[partition] = (first, min(last, narrowing.end_offset))
    return ranges


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _both(known: Collection[Any] | None, chosen: frozenset[Any]) -> frozenset[Any]:
    return chosen if known is None else chosen & frozenset(known)


def _raise_to(found: dict[str, Any], name: str, value: int) -> None:
    found[name] = max(found.get(name, value), value)


def _lower_to(found: dict[str, Any], name: str, value: int) -> None:
    found[name] = min(found.get(name, value), value)
