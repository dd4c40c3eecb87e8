"""Tasks of a plan that may be used again: what each reads is looked up when it runs.

Outside of the rule of `scans`, Spark keeps the first plan of a DataFrame for every query over it. A
task of such a plan therefore holds no offsets that come from the log. It holds its portion of
whatever there is: a partition, or the part of it on one side of a fixed offset. All portions
together are everything, whatever has come or gone since the plan was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from headrace.pipelines.source.filters import MAX_INT64, Narrowing
from headrace.pipelines.source.split import OffsetRange
from headrace.types import TopicPartition

Portion: TypeAlias = tuple[Narrowing, ...]


def portions_of(ranges: Sequence[OffsetRange]) -> list[Portion]:
    """A portion for each range, in their order; the first also has the partitions without one.

    Where a partition is divided, its ranges are neighbours.
    """
    places = [TopicPartition(each.topic, each.partition) for each in ranges]
    neighbours = zip([None, *places], places, [*places[1:], None], strict=False)
    narrowings = [
        Narrowing(
            topics=frozenset({place.topic}),
            partitions=frozenset({place.partition}),
            first_offset=each.start if before == place else 0,
            last_offset=each.end - 1 if after == place else MAX_INT64,
        )
        for each, (before, place, after) in zip(ranges, neighbours, strict=True)
    ]
    others = Narrowing(apart_from=frozenset(places))
    return [(*narrowings[:1], others), *((each,) for each in narrowings[1:])]
