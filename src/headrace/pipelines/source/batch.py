"""What a batch read covers: the offset ranges that are there when it is asked for."""

from __future__ import annotations

from collections.abc import Collection

from headrace.client.cluster import Cluster
from headrace.client.offsets import LATEST, list_offsets
from headrace.errors import ConfigError
from headrace.pipelines.source.filters import Narrowing, cut
from headrace.pipelines.source.gaps import Cause, Loss, report
from headrace.pipelines.source.options import SourceOptions
from headrace.pipelines.source.resolve import resolve_end, resolve_start
from headrace.pipelines.source.split import OffsetRange, split_ranges
from headrace.pipelines.source.subscription import partitions_of, topic_ids, topics_at_start
from headrace.types import TopicPartition

Offsets = dict[TopicPartition, int]


def plan_batch(cluster: Cluster, options: SourceOptions, narrowing: Narrowing) -> list[OffsetRange]:
    """The ranges of a batch read, one or more for each task."""
    return split_ranges(
        ranges_now(cluster, options, narrowing),
        min_partitions=options.min_partitions,
        max_records_per_partition=options.max_records_per_partition,
    )


def ranges_now(cluster: Cluster, options: SourceOptions, narrowing: Narrowing) -> list[OffsetRange]:
    """What there is to read now, one range for each partition that the narrowing selects."""
    topics = topics_at_start(cluster, options.subscription)
    wanted = partitions_of(options.subscription, topics)
    selected = {partition for partition in wanted if narrowing.selects(partition)}
    start = resolve_start(
        cluster,
        options.starting,
        wanted,
        selected,
        read_committed=options.read_committed,
        latest_if_none=options.latest_if_no_start,
    )
    end = _ends(cluster, options, wanted, selected)
    for partition in sorted(selected):
        if start[partition] > end[partition]:
            raise ConfigError(
                f"{partition} would be read backwards: it begins at offset {start[partition]} "
                f"and ends at {end[partition]}; change startingOffsets or endingOffsets"
            )
    ids = topic_ids(topics)
    young = _first_young(cluster, options, narrowing, selected)
    return [
        OffsetRange(partition.topic, partition.partition, first, last, ids.get(partition.topic))
        for partition, (first, last) in sorted(cut(narrowing, start, end, young).items())
    ]


def _ends(
    cluster: Cluster,
    options: SourceOptions,
    partitions: Collection[TopicPartition],
    selected: Collection[TopicPartition],
) -> Offsets:
    """Where the read ends; an end that the log has not reached is a loss."""
    ends = resolve_end(
        cluster, options.ending, partitions, selected, read_committed=options.read_committed
    )
    if not options.ending.each:
        return ends
    latest = list_offsets(
        cluster, dict.fromkeys(selected, LATEST), read_committed=options.read_committed
    )
    losses = [
        Loss(
            Cause.TRUNCATED,
            partition.topic,
            partition.partition,
            latest[partition].offset,
            ends[partition],
            f"the log ends at offset {latest[partition].offset}",
        )
        for partition in sorted(ends)
        if ends[partition] > latest[partition].offset
    ]
    report(losses, fail=options.fail_on_data_loss)
    return {partition: min(end, latest[partition].offset) for partition, end in ends.items()}


def _first_young(
    cluster: Cluster,
    options: SourceOptions,
    narrowing: Narrowing,
    partitions: Collection[TopicPartition],
) -> Offsets:
    """The first offset of each partition that is young enough for the filters, -1: there is none.

    To be asked after the ends are known: then a record that comes later cannot be missed.
    """
    if narrowing.min_timestamp is None:
        return {}
    found = list_offsets(
        cluster,
        dict.fromkeys(partitions, narrowing.min_timestamp),
        read_committed=options.read_committed,
    )
    return {partition: found[partition].offset for partition in partitions}
