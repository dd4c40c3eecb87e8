"""From positions to offsets: which records of each partition a command reads.

Asks the broker for the ends of each partition and for offsets by time; refuses to know how records
are read or printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.cli.failures import WrongUsage
from headrace.cli.kafka import TIMEOUT_S, explain, explained
from headrace.cli.positions import Kind, Position
from headrace.cli.target import Target
from headrace.types import Offset

if TYPE_CHECKING:
    from confluent_kafka import Consumer


class Range(NamedTuple):
    """Offsets `start` up to, but not including, `stop`."""

    partition: int
    start: Offset
    stop: Offset


class Ends(NamedTuple):
    log_start_offset: Offset
    high_watermark: Offset


def resolve(
    consumer: Consumer,
    target: Target,
    topic: str,
    partitions: list[int],
    begin: Position,
    end: Position,
) -> list[Range]:
    """One range per partition, inside what the partition holds now."""
    if end.kind in (Kind.BEGINNING, Kind.TAIL):
        raise WrongUsage("--to takes end, an offset or a time")
    with explained(target, f'topic "{topic}"'):
        ends = {partition: _ends(consumer, topic, partition) for partition in partitions}
    starts = _place(consumer, target, topic, ends, begin)
    stops = _place(consumer, target, topic, ends, end)
    return [Range(partition, starts[partition], stops[partition]) for partition in partitions]


def _ends(consumer: Consumer, topic: str, partition: int) -> Ends:
    from confluent_kafka import TopicPartition

    low, high = consumer.get_watermark_offsets(
        TopicPartition(topic, partition), timeout=TIMEOUT_S, cached=False
    )
    return Ends(low, high)


def _place(
    consumer: Consumer, target: Target, topic: str, ends: dict[int, Ends], position: Position
) -> dict[int, Offset]:
    if position.kind is Kind.TIME:
        return _by_time(consumer, target, topic, ends, position.number)
    return {partition: place(position, *end) for partition, end in ends.items()}


def place(position: Position, log_start_offset: Offset, high_watermark: Offset) -> Offset:
    """The offset of a position that is not a time; one outside the log moves to its border."""
    if position.kind is Kind.BEGINNING:
        return log_start_offset
    if position.kind is Kind.END:
        return high_watermark
    if position.kind is Kind.TAIL:
        return max(high_watermark - position.number, log_start_offset)
    return min(max(position.number, log_start_offset), high_watermark)


def _by_time(
    consumer: Consumer, target: Target, topic: str, ends: dict[int, Ends], timestamp_ms: int
) -> dict[int, Offset]:
    """The first offset at or after a time; the end where every record is older."""
    from confluent_kafka import TopicPartition

    wanted = [TopicPartition(topic, partition, timestamp_ms) for partition in ends]
    with explained(target, f'topic "{topic}"'):
        found = consumer.offsets_for_times(wanted, timeout=TIMEOUT_S)
    placed = {}
    for each in found:
        if each.error is not None:
            raise explain(each.error, target, f'topic "{topic}" partition {each.partition}')
        known = each.offset >= 0
        placed[each.partition] = each.offset if known else ends[each.partition].high_watermark
    return placed
