"""Offsets that bring no row: why they do not, and whether that is a loss.

Compaction, aborted transactions and markers are how a log is meant to be. Records that retention
took before they were read, a log that ends before the query's position, a topic that was deleted
or made anew, are losses: they stop a query, or are logged if it was told to go on. Everything here
is decided from numbers; nothing is asked of a broker.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final
from uuid import UUID

from headrace.errors import HeadraceError
from headrace.pipelines.source.offsets import Position
from headrace.pipelines.source.subscription import Subscription
from headrace.types import TopicPartition, uuid_to_text

LOGGER: Final = logging.getLogger("headrace.pipelines.source")


class Cause(Enum):
    """Why data that a query should have read is not there, and what to do about it."""

    RETENTION = "retention or a deletion of records took them before they were read"
    TRUNCATED = "the log ends before the position of the query"
    RECREATED = "the topic was deleted and created again"
    DELETED = "the topic or partition was deleted"
    NOT_SUBSCRIBED = "the checkpoint has a position for it, but the query does not read it"


_REMEDIES: Final = {
    Cause.RETENTION: "give the topic a longer retention.ms or retention.bytes, or the query more "
    "cores or a shorter trigger; failOnDataLoss=false goes on at the beginning of the log",
    Cause.TRUNCATED: "was it another topic or cluster that this checkpoint was written for, or did "
    "an unclean leader election lose records? A new checkpointLocation starts over; "
    "failOnDataLoss=false goes on at the end of the log",
    Cause.RECREATED: "a new checkpointLocation starts over with startingOffsets; "
    "failOnDataLoss=false goes on at the beginning of the new topic",
    Cause.DELETED: "create the topic again and use a new checkpointLocation, or leave it out of "
    "the subscription; failOnDataLoss=false goes on without it",
    Cause.NOT_SUBSCRIBED: "use the checkpointLocation that belongs to this query, or a new one; "
    "failOnDataLoss=false forgets the position",
}


class DataLost(HeadraceError):
    """The query cannot read what it should have read; the text names it, the cause, a remedy."""

    def __init__(self, losses: list[Loss]) -> None:
        super().__init__("; ".join(loss.describe(remedy=True) for loss in losses))
        self.losses = losses


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets of one partition from `start` up to `end`, or of unknown number if `end` is None."""

    cause: Cause
    topic: str
    partition: int
    start: int
    end: int | None = None
    detail: str = ""

    def describe(self, *, remedy: bool) -> str:
        where = f"topic {self.topic}, partition {self.partition}"
        if self.end is None:
            what = f"everything from offset {self.start} on is"
        else:
            what = f"offsets {self.start} to {self.end - 1} ({self.end - self.start} in all) are"
        text = f"{where}: {what} not there to be read, because {self.cause.value}"
        if self.detail:
            text += f" ({self.detail})"
        return f"{text}. Remedy: {_REMEDIES[self.cause]}" if remedy else text


def report(losses: Iterable[Loss], *, fail: bool) -> None:
    """Stop at a loss, or say it and let the query go on."""
    found = list(losses)
    if found and fail:
        raise DataLost(found)
    for loss in found:
        LOGGER.warning("data was lost: %s", loss.describe(remedy=False))


def out_of_range(
    topic: str, partition: int, *, start: int, end: int, log_start: int, log_end: int
) -> Loss:
    """What a reader of `start` to `end` misses when the log holds `log_start` to `log_end`."""
    if start < log_start:
        detail = f"the log begins at offset {log_start}"
        return Loss(Cause.RETENTION, topic, partition, start, min(end, log_start), detail)
    detail = f"the log ends at offset {log_end}"
    return Loss(Cause.TRUNCATED, topic, partition, max(start, log_end), end, detail)


def position_losses(
    position: Position,
    subscription: Subscription,
    ends: Mapping[TopicPartition, int],
    topic_ids: Mapping[str, UUID],
) -> list[Loss]:
    """What a query at this position misses in a cluster with these ends and topics."""
    losses = []
    for partition in sorted(position.offsets):
        topic, number = partition
        offset = position.offsets[partition]
        if not subscription.covers(partition):
            detail = str(subscription)
            losses.append(Loss(Cause.NOT_SUBSCRIBED, topic, number, offset, detail=detail))
        elif is_recreated(topic, position.topic_ids, topic_ids):
            detail = (
                f"its id was {uuid_to_text(position.topic_ids[topic])}, "
                f"now it is {uuid_to_text(topic_ids[topic])}"
            )
            losses.append(Loss(Cause.RECREATED, topic, number, offset, detail=detail))
        elif partition not in ends:
            losses.append(Loss(Cause.DELETED, topic, number, offset))
        elif ends[partition] < offset:
            detail = f"the query stands at offset {offset}, the log ends at {ends[partition]}"
            losses.append(Loss(Cause.TRUNCATED, topic, number, ends[partition], offset, detail))
    return losses


def is_recreated(topic: str, before: Mapping[str, UUID], now: Mapping[str, UUID]) -> bool:
    """Whether the name stands for another topic than before, as far as ids are known."""
    return topic in before and topic in now and before[topic] != now[topic]


@dataclass(slots=True)
class Unfilled:
    """Offsets of a range that hold no row although nothing was lost, by their reason."""

    compacted: int = 0
    aborted: int = 0
    markers: int = 0

    def __bool__(self) -> bool:
        return bool(self.compacted or self.aborted or self.markers)

    def __str__(self) -> str:
        return (
            f"{self.compacted} removed by compaction, {self.aborted} of aborted transactions, "
            f"{self.markers} transaction markers"
        )
