"""From what a user says (earliest, an offset, a time) to the offsets of each partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headrace.client.cluster import Cluster
from headrace.client.offsets import list_offsets
from headrace.errors import ConfigError
from headrace.pipelines.source.offsets import LATEST, Bound, OffsetBound, TimeBound
from headrace.types import TopicPartition


def resolve_start(
    cluster: Cluster,
    bound: Bound,
    partitions: Collection[TopicPartition],
    selected: Collection[TopicPartition],
    *,
    read_committed: bool,
    latest_if_none: bool,
) -> dict[TopicPartition, int]:
    """Where the selected partitions begin, of all that the query reads.

    A time after the last record is an error, or means the end.
    """
    return _resolve(
        cluster, bound, partitions, selected, read_committed, "starting", allow_none=latest_if_none
    )


def resolve_end(
    cluster: Cluster,
    bound: Bound,
    partitions: Collection[TopicPartition],
    selected: Collection[TopicPartition],
    *,
    read_committed: bool,
) -> dict[TopicPartition, int]:
    """Where the selected partitions end. A time after the last record means the end."""
    return _resolve(cluster, bound, partitions, selected, read_committed, "ending", allow_none=True)


def _resolve(
    cluster: Cluster,
    bound: Bound,
    partitions: Collection[TopicPartition],
    selected: Collection[TopicPartition],
    read_committed: bool,
    which: str,
    *,
    allow_none: bool,
) -> dict[TopicPartition, int]:
    if isinstance(bound, TimeBound):
        each = _for_each(bound, partitions, f"{which}OffsetsByTimestamp")
        times = {partition: each[partition] for partition in selected}
        found = list_offsets(cluster, times, read_committed=read_committed)
        offsets = {partition: found[partition].offset for partition in times}
        none = sorted(partition for partition, offset in offsets.items() if offset < 0)
        if none and not allow_none:
            raise ConfigError(
                f"{none[0]} has no record of timestamp {times[none[0]]} or later to begin with: "
                "choose an earlier time, or startingOffsetsByTimestampStrategy=latest "
                "to begin at the end"
            )
        offsets |= dict.fromkeys(none, LATEST)
    else:
        each = _for_each(bound, partitions, f"{which}Offsets")
        offsets = {partition: each[partition] for partition in selected}
    symbolic = {partition: offset for partition, offset in offsets.items() if offset < 0}
    if symbolic:
        edges = list_offsets(cluster, symbolic, read_committed=read_committed)
        offsets |= {partition: edges[partition].offset for partition in symbolic}
    return offsets


def _for_each(
    bound: Bound, partitions: Collection[TopicPartition], option: str
) -> Mapping[TopicPartition, int]:
    """The bound of each partition; a user who names partitions must name all of them."""
    if bound.everywhere is not None:
        return dict.fromkeys(partitions, bound.everywhere)
    missing = sorted(set(partitions) - bound.each.keys())
    if missing:
        hint = "; use -1 for latest, -2 for earliest" if isinstance(bound, OffsetBound) else ""
        raise ConfigError(
            f"option {option} must name every partition that is read; "
            f"missing: {', '.join(map(str, missing))}{hint}"
        )
    unknown = sorted(bound.each.keys() - set(partitions))
    if unknown:
        raise ConfigError(
            f"option {option} names {', '.join(map(str, unknown))}, which the query does not read "
            "or the cluster does not have"
        )
    return bound.each
