"""Where each batch of a streaming query begins and ends.

The planner lives in a process of its own as long as the query. It holds what a query needs between
two triggers: the topics as last seen, the ends of their partitions, the target of an AvailableNow
run. The ends of a batch are never older than the question: who calls `processAllAvailable` after
writing a record must find it read. Spark may ask a hundred times a second when nothing comes, so
the answer is given at most once in a while.

A position in the checkpoint names the topic's id too. What it promises and the cluster no longer
has is a loss: a second look makes sure, `gaps` puts it into words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from headrace.client.cluster import Cluster, TopicMetadata
from headrace.client.faults import UnknownTopic
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.pipelines.source.admission import MinimumRows, backlog, limit_rows
from headrace.pipelines.source.gaps import Cause, Loss, is_recreated, position_losses, report
from headrace.pipelines.source.offsets import Position
from headrace.pipelines.source.options import SourceOptions
from headrace.pipelines.source.progress import GroupProgress, choose_group
from headrace.pipelines.source.resolve import resolve_start
from headrace.pipelines.source.split import OffsetRange, split_ranges
from headrace.pipelines.source.subscription import (
    find_topics,
    partitions_of,
    topic_ids,
    topics_at_start,
)
from headrace.runtime.clock import Clock
from headrace.types import TopicPartition

_TOPICS_AGE_MS: Final = 1_000
_LOOK_EVERY_MS: Final = 40

Offsets = dict[TopicPartition, int]


@dataclass(slots=True)
class _Seen:
    """The cluster at one moment: its topics, and how far each partition can be read."""

    topics: dict[str, TopicMetadata]
    ends: Offsets
    topics_at_ms: int
    ends_at_ms: int

    @property
    def topic_ids(self) -> dict[str, UUID]:
        return topic_ids(self.topics)


class Planner:
    """Decides the batches of one streaming query."""

    def __init__(
        self,
        options: SourceOptions,
        cluster: Cluster,
        clock: Clock,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._clock = clock
        self._pause = pause
        self._seen: _Seen | None = None
        self._target: Offsets | None = None
        self._group: str | None = None
        self._progress = GroupProgress(options.client, clock)
        self._minimum = (
            MinimumRows(options.min_offsets_per_trigger, options.max_trigger_delay_ms)
            if options.min_offsets_per_trigger is not None
            else None
        )

    # -- where a query begins -----------------------------------------------------------------

    def initial(self) -> Position:
        """The position of a query that has no checkpoint yet."""
        options = self._options
        topics = topics_at_start(self._cluster, options.subscription)
        partitions = partitions_of(options.subscription, topics)
        offsets = resolve_start(
            self._cluster,
            options.starting,
            partitions,
            partitions,
            read_committed=options.read_committed,
            latest_if_none=options.latest_if_no_start,
        )
        return self._position(offsets, topic_ids(topics), None)

    def aim_at_now(self) -> None:
        """Trigger.AvailableNow: what is there now is all that this run will read."""
        self._target = dict(self._look(topics_too=True).ends)

    # -- where a batch ends -------------------------------------------------------------------

    def next_end(self, start: Position, max_rows: int | None, *, hold_back: bool) -> Position:
        """The end of the batch that begins at `start`; equal to it if there is nothing to do."""
        seen = self._look_in_time()
        self._show_progress(start, seen)
        seen = self._without_loss(start, seen)
        ends = self._ends(seen)
        begin = self._begin(start, seen, ends)
        waiting = sum(backlog(begin, ends).values())
        if (
            hold_back
            and self._minimum is not None
            and self._target is None
            and not self._minimum.admits(waiting, self._clock.monotonic_ms())
        ):
            return start
        if max_rows is not None:
            ends = limit_rows(max_rows, begin, ends)
        end = self._position(ends, seen.topic_ids, start.group)
        return start if _same_place(start, end) else end

    def _show_progress(self, reached: Position, seen: _Seen) -> None:
        """Everything below this position is processed: Spark would not plan on if it were not."""
        if self._options.commit_offsets:
            group = self._options.group_id or self._own_group(reached.group)
            # A coordinator takes no offset for what was deleted, and lets a client wait for it.
            existing = {
                partition: offset
                for partition, offset in reached.offsets.items()
                if partition in seen.ends
            }
            self._progress.reached(group, existing)

    def high_watermarks(self) -> Offsets:
        """The ends as lag tools see them: open transactions count."""
        seen = self._last_seen()
        if not self._options.read_committed:
            return seen.ends
        try:
            return self._edges(seen.ends, LATEST, read_committed=False)
        except UnknownTopic:
            return self._edges(self._look(topics_too=True).ends, LATEST, read_committed=False)

    # -- what the tasks of a batch read -------------------------------------------------------

    def ranges(self, start: Position, end: Position) -> list[OffsetRange]:
        """The batch between two positions, for its tasks; the same for the same positions."""
        options = self._options
        begin = {
            partition: offset
            for partition, offset in start.offsets.items()
            if partition in end.offsets
            and not is_recreated(partition.topic, start.topic_ids, end.topic_ids)
        }
        begin |= self._first_offsets(start, end, end.offsets.keys() - begin.keys())
        return split_ranges(
            [
                OffsetRange(
                    partition.topic,
                    partition.partition,
                    begin[partition],
                    end.offsets[partition],
                    end.topic_ids.get(partition.topic),
                )
                for partition in sorted(begin)
            ],
            min_partitions=options.min_partitions,
            max_records_per_partition=options.max_records_per_partition,
        )

    def _first_offsets(self, start: Position, end: Position, new: Set[TopicPartition]) -> Offsets:
        """Where partitions begin that are new to the query; they may have lost records by now."""
        if not new:
            return {}
        existing = new & self._last_seen().ends.keys()
        first = self._edges(existing, EARLIEST)
        losses = [
            Loss(Cause.DELETED, partition.topic, partition.partition, 0, end.offsets[partition])
            for partition in sorted(new - existing)
        ]
        detail = "the partition is new to the query and begins there"
        losses += [
            Loss(Cause.RETENTION, partition.topic, partition.partition, 0, offset, detail)
            for partition, offset in sorted(first.items())
            if offset > 0 and partition not in start.offsets
        ]
        report(losses, fail=self._options.fail_on_data_loss)
        return first

    # -- looking at the cluster ---------------------------------------------------------------

    def _look_in_time(self) -> _Seen:
        """The ends as they are now, after a pause if the last look was just before."""
        if self._seen is not None and self._target is None:
            left_ms = self._seen.ends_at_ms + _LOOK_EVERY_MS - self._clock.monotonic_ms()
            if left_ms > 0:
                self._pause(left_ms / 1_000)
        return self._look()

    def _last_seen(self) -> _Seen:
        return self._seen or self._look()

    def _look(self, *, topics_too: bool = False) -> _Seen:
        now_ms = self._clock.monotonic_ms()
        seen = self._seen
        if seen is None or topics_too or now_ms - seen.topics_at_ms >= _TOPICS_AGE_MS:
            self._seen = seen = self._look_at_all(now_ms)
            return seen
        try:
            seen.ends, seen.ends_at_ms = self._read_ends(seen.topics), now_ms
        except UnknownTopic:
            return self._look(topics_too=True)
        return seen

    def _look_at_all(self, now_ms: int) -> _Seen:
        tries_left = self._options.retries
        while True:
            topics = find_topics(self._cluster, self._options.subscription)
            try:
                return _Seen(topics, self._read_ends(topics), now_ms, now_ms)
            except UnknownTopic:
                # A topic went away between the two questions; the next look will not show it.
                tries_left -= 1
                if tries_left <= 0:
                    raise

    def _read_ends(self, topics: Mapping[str, TopicMetadata]) -> Offsets:
        return self._edges(partitions_of(self._options.subscription, topics), LATEST)

    def _without_loss(self, start: Position, seen: _Seen) -> _Seen:
        """The cluster as it is, once it is certain that what seems to be lost is lost.

        A broker that just started, or just came to lead a partition, may not know all yet.
        """
        losses = self._losses(start, seen)
        for _ in range(self._options.retries):
            if not losses:
                return seen
            seen = self._look(topics_too=True)
            losses = self._losses(start, seen)
            if losses and not _are_certain(losses):
                self._pause(self._options.retry_interval_ms / 1_000)
        report(losses, fail=self._options.fail_on_data_loss)
        return seen

    def _losses(self, start: Position, seen: _Seen) -> list[Loss]:
        subscription = self._options.subscription
        losses = position_losses(start, subscription, seen.ends, seen.topic_ids)
        if self._options.read_committed and any(loss.cause is Cause.TRUNCATED for loss in losses):
            # A query that once read uncommitted records may stand inside an open transaction: it
            # waits there for the transaction to end.
            written = self._edges(seen.ends, LATEST, read_committed=False)
            for partition, offset in start.offsets.items():
                if seen.ends.get(partition, offset) < offset <= written[partition]:
                    seen.ends[partition] = offset
            losses = position_losses(start, subscription, seen.ends, seen.topic_ids)
        return losses

    def _ends(self, seen: _Seen) -> Offsets:
        if self._target is None:
            return seen.ends
        # A partition that came after the aim was taken waits for the next run.
        return {
            partition: min(end, self._target[partition])
            for partition, end in seen.ends.items()
            if partition in self._target
        }

    def _begin(self, start: Position, seen: _Seen, ends: Offsets) -> Offsets:
        """Where each partition of the batch begins: new ones, and new lives, at their earliest."""
        known = {
            partition: start.offsets[partition]
            for partition in ends
            if partition in start.offsets
            and not is_recreated(partition.topic, start.topic_ids, seen.topic_ids)
        }
        return known | self._edges(ends.keys() - known.keys(), EARLIEST)

    def _edges(
        self, partitions: Collection[TopicPartition], edge: int, *, read_committed: bool = True
    ) -> Offsets:
        if not partitions:
            return {}
        found = list_offsets(
            self._cluster,
            dict.fromkeys(partitions, edge),
            read_committed=read_committed and self._options.read_committed,
        )
        return {partition: found[partition].offset for partition in partitions}

    # -- the group ----------------------------------------------------------------------------

    def _position(self, offsets: Offsets, ids: Mapping[str, UUID], group: str | None) -> Position:
        if self._options.commit_offsets and self._options.group_id is None:
            group = self._own_group(group)
        else:
            group = None
        read = {topic for topic, _ in offsets}
        known = {topic: ids[topic] for topic in read if topic in ids}
        return Position(dict(offsets), known, group)

    def _own_group(self, remembered: str | None) -> str:
        """The same group through all restarts: the checkpoint carries its name."""
        if self._group is None or remembered is not None:
            self._group = choose_group(self._options.group_id_prefix, remembered or self._group)
        return self._group


def _same_place(start: Position, end: Position) -> bool:
    return start.offsets == end.offsets and not any(
        is_recreated(topic, start.topic_ids, end.topic_ids) for topic in end.topic_ids
    )


def _are_certain(losses: list[Loss]) -> bool:
    """Whether no further look can change the verdict."""
    return all(loss.cause in (Cause.RECREATED, Cause.NOT_SUBSCRIBED) for loss in losses)
