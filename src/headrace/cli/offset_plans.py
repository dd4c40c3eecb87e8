"""Where a group shall continue to read: one new offset per partition, decided from plain numbers.

The plan is made before anything is changed, so that a dry run shows exactly what would be done. The
module refuses to know a broker: offsets come in as mappings.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from headrace.cli.failures import Failure, WrongUsage
from headrace.types import Offset, TopicPartition

MAX_CSV_LINES: Final = 1_000_000
_MAX_OFFSET: Final = 2**63 - 1


class Kind(Enum):
    """What decides the new offset; the value is the option that says so."""

    EARLIEST = "--to-earliest"
    LATEST = "--to-latest"
    TIME = "--to-datetime"
    DURATION = "--by-duration"
    SHIFT = "--shift-by"
    OFFSET = "--to-offset"
    CURRENT = "--to-current"
    FILE = "--from-file"
    ZOOKEEPER = "--from-zookeeper"


LISTED: Final = (Kind.FILE, Kind.ZOOKEEPER)
"""Wishes that say themselves which partitions they are about."""


class Borders(NamedTuple):
    """The offsets that a partition has now; `at_time` is the first at or after the time asked."""

    log_start_offset: Offset
    log_end_offset: Offset
    at_time: Offset | None = None


class Step(NamedTuple):
    """`wanted_offset` is another than the new one where that lies outside the log."""

    topic: str
    partition: int
    current_offset: Offset | None
    new_offset: Offset
    notice: str
    wanted_offset: Offset


def build_plan(
    kind: Kind,
    number: int,
    borders: Mapping[TopicPartition, Borders],
    committed: Mapping[TopicPartition, Offset],
    listed: Mapping[TopicPartition, Offset],
) -> list[Step]:
    """A step per partition of `borders`; `listed` are the offsets of a file."""
    return [
        _step(kind, number, part, borders[part], committed.get(part), listed.get(part))
        for part in sorted(borders)
    ]


def _step(
    kind: Kind,
    number: int,
    part: TopicPartition,
    border: Borders,
    current: Offset | None,
    listed: Offset | None,
) -> Step:
    wanted = _wanted(kind, number, part, border, current, listed)
    inside = min(max(wanted, border.log_start_offset), border.log_end_offset)
    notice = ""
    if inside != wanted:
        low, high = border.log_start_offset, border.log_end_offset
        notice = (
            f"{part.topic}:{part.partition}: offset {wanted} is outside the log "
            f"({low} to {high}), using {inside}"
        )
    return Step(part.topic, part.partition, current, inside, notice, wanted)


def _wanted(
    kind: Kind,
    number: int,
    part: TopicPartition,
    border: Borders,
    current: Offset | None,
    listed: Offset | None,
) -> Offset:
    if kind is Kind.EARLIEST:
        return border.log_start_offset
    if kind is Kind.LATEST:
        return border.log_end_offset
    if kind in (Kind.TIME, Kind.DURATION):
        return border.log_end_offset if border.at_time is None else border.at_time
    if kind is Kind.SHIFT:
        if current is None:
            raise Failure(
                f"{part.topic}:{part.partition} has no committed offset to shift from",
                "leave it out, or use --to-earliest, --to-latest or --to-offset",
            )
        return current + number
    if kind is Kind.CURRENT:
        return border.log_end_offset if current is None else current
    if kind in LISTED:
        assert listed is not None, "such a plan has borders for the listed partitions only"
        return listed
    return number


def parse_csv(text: str, group: str) -> dict[TopicPartition, Offset]:
    """Lines `topic,partition,offset`, or with the group in front; lines of others are left out."""
    offsets: dict[TopicPartition, Offset] = {}
    for number, fields in enumerate(csv.reader(io.StringIO(text)), 1):
        if number > MAX_CSV_LINES:
            raise WrongUsage(f"the file has more than {MAX_CSV_LINES} lines", "split it")
        if not fields:
            continue
        words = [field.strip() for field in fields]
        if len(words) == 4:
            owner, *words = words
            if owner != group:
                continue
        if len(words) != 3 or not words[0] or not all(map(_is_number, words[1:])):
            raise WrongUsage(
                f'line {number} of the file, "{",".join(fields)}", cannot be read',
                "write TOPIC,PARTITION,OFFSET as --export does",
            )
        offsets[TopicPartition(words[0], int(words[1]))] = int(words[2])
    if not offsets:
        raise WrongUsage(f'the file names no partition for group "{group}"')
    return offsets


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= 19 and int(word) <= _MAX_OFFSET


def to_csv(steps: Iterable[Step]) -> str:
    """The new offsets as `parse_csv`, and Kafka's own tool, read them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows((step.topic, step.partition, step.new_offset) for step in steps)
    return out.getvalue()
