"""The JSON forms in which offsets come from a user, and go to and from a checkpoint.

    {"orders": {"0": 17, "1": -2}}                  per partition; -2 earliest, -1 latest
    {"orders": {"0": 17, "1": 4},                   a position in a checkpoint: Spark's own form,
     "@group": "headrace-source-5f0c",              the group that shows the query's progress,
     "@ids": {"orders": "qR1u-..."}}                and which life of the topic is meant

"@" cannot be part of a topic's name, so a checkpoint of Spark's `kafka` format is read as it is.
Spark compares positions as text: equal ones must be written equally, so everything is sorted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from headrace.errors import ConfigError, CorruptData
from headrace.types import TopicPartition, uuid_from_text, uuid_to_text

EARLIEST: Final = -2
LATEST: Final = -1

_GROUP: Final = "@group"
_IDS: Final = "@ids"
_PARTITIONS_EXAMPLE: Final = '{"orders":[0,1],"payments":[0]}'
_OFFSETS_EXAMPLE: Final = '{"orders":{"0":23,"1":-1},"payments":{"0":-2}}'


@dataclass(frozen=True, slots=True)
class OffsetBound:
    """Where to begin or end, by offset: one for all partitions, or one for each."""

    everywhere: int | None = None
    each: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimeBound:
    """Where to begin or end, by timestamp: one for all partitions, or one for each."""

    everywhere: int | None = None
    each: Mapping[TopicPartition, int] = field(default_factory=dict)


Bound = OffsetBound | TimeBound

FROM_EARLIEST: Final = OffsetBound(EARLIEST)
FROM_LATEST: Final = OffsetBound(LATEST)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a query has come."""

    offsets: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    group: str | None = None


def parse_bound(option: str, text: str) -> OffsetBound:
    """`earliest`, `latest` or offsets per partition."""
    word = text.strip().lower()
    if word == "earliest":
        return FROM_EARLIEST
    if word == "latest":
        return FROM_LATEST
    each = parse_per_partition(option, text)
    for partition, offset in each.items():
        if offset < EARLIEST:
            raise ConfigError(
                f"option {option} has offset {offset} for {partition}: "
                "use an offset, -1 for latest or -2 for earliest"
            )
    return OffsetBound(each=each)


def parse_per_partition(option: str, text: str) -> dict[TopicPartition, int]:
    """A number for each partition, by topic."""
    found: dict[TopicPartition, int] = {}
    for topic, numbers in _parse_object(option, text, _OFFSETS_EXAMPLE).items():
        if not isinstance(numbers, dict):
            raise _unlike(option, text, _OFFSETS_EXAMPLE)
        for partition, number in numbers.items():
            if not _is_index(partition) or type(number) is not int:
                raise _unlike(option, text, _OFFSETS_EXAMPLE)
            found[TopicPartition(topic, int(partition))] = number
    return found


def parse_partitions(option: str, text: str) -> frozenset[TopicPartition]:
    """The partitions of an `assign` option."""
    found: set[TopicPartition] = set()
    for topic, partitions in _parse_object(option, text, _PARTITIONS_EXAMPLE).items():
        if not isinstance(partitions, list):
            raise _unlike(option, text, _PARTITIONS_EXAMPLE)
        for partition in partitions:
            if type(partition) is not int or partition < 0:
                raise _unlike(option, text, _PARTITIONS_EXAMPLE)
            found.add(TopicPartition(topic, partition))
    if not found:
        raise ConfigError(
            f"option {option} names no partition; expected e.g. {_PARTITIONS_EXAMPLE}"
        )
    return frozenset(found)


def offsets_to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """Offsets by topic and partition, in Spark's form."""
    document: dict[str, Any] = {}
    for topic, partition in sorted(offsets):
        document.setdefault(topic, {})[str(partition)] = offsets[TopicPartition(topic, partition)]
    return document


def position_to_json(position: Position) -> dict[str, Any]:
    """What goes into the checkpoint."""
    document = offsets_to_json(position.offsets)
    if position.group is not None:
        document[_GROUP] = position.group
    if position.topic_ids:
        document[_IDS] = {
            topic: uuid_to_text(position.topic_ids[topic]) for topic in sorted(position.topic_ids)
        }
    return document


def position_from_json(document: Mapping[str, Any]) -> Position:
    """A position out of a checkpoint, ours or of Spark's `kafka` format."""
    offsets: dict[TopicPartition, int] = {}
    try:
        for topic, numbers in document.items():
            if not topic.startswith("@"):
                for partition, offset in numbers.items():
                    offsets[TopicPartition(topic, int(partition))] = int(offset)
        ids = {topic: uuid_from_text(text) for topic, text in document.get(_IDS, {}).items()}
    except (AttributeError, TypeError, ValueError) as fault:
        raise CorruptData(
            f"the checkpoint holds {json.dumps(document)[:200]}, which is not a position of this "
            f"source ({fault}): give the query a checkpointLocation of its own"
        ) from None
    return Position(offsets, ids, document.get(_GROUP))


def _parse_object(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError:
        raise _unlike(option, text, example) from None
    if not isinstance(parsed, dict):
        raise _unlike(option, text, example)
    return parsed


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _unlike(option: str, text: str, example: str) -> ConfigError:
    return ConfigError(f"option {option} is {text!r}; expected e.g. {example}")
