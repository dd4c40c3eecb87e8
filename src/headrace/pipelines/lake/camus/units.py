"""What a run is to copy: a range of offsets for each partition, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.client.cluster import Cluster
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.errors import ConfigError
from headrace.pipelines.lake.camus import settings as keys
from headrace.pipelines.lake.camus.settings import CamusSettings
from headrace.pipelines.source.split import OffsetRange
from headrace.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a unit. With a fault, nothing of it was published."""

    unit: OffsetRange
    next_offset: int
    messages: int = 0
    skipped: int = 0
    errors: tuple[Mapping[str, object], ...] = field(default=())
    fault: str | None = None


def plan(
    cluster: Cluster, settings: CamusSettings, known: Mapping[TopicPartition, int]
) -> tuple[list[OffsetRange], list[Outcome]]:
    """A range for each partition, from `known` or the beginning of the log to its end now.

    Partitions whose log does not hold the offset at which the job goes on have failed already.
    """
    topics = {
        name: topic
        for name, topic in cluster.topics().items()
        if not topic.is_internal
        and settings.whitelist.fullmatch(name)
        and not (settings.blacklist and settings.blacklist.fullmatch(name))
    }
    if not topics:
        raise ConfigError(
            f"no topic of the cluster matches {keys.WHITELIST}="
            f"{settings.given.get(keys.WHITELIST, '')} and is not in {keys.BLACKLIST}: correct "
            "them, or create the topic"
        )
    places = [
        TopicPartition(name, number)
        for name in sorted(topics)
        for number in topics[name].partitions
    ]
    first = list_offsets(cluster, dict.fromkeys(places, EARLIEST), read_committed=True)
    end = list_offsets(cluster, dict.fromkeys(places, LATEST), read_committed=True)
    units: list[OffsetRange] = []
    failed: list[Outcome] = []
    for place in places:
        lowest, highest = first[place].offset, end[place].offset
        start = known.get(place, lowest)
        fault = None
        if not lowest <= start <= highest:
            if settings.to_earliest:
                start = lowest
            else:
                fault = _gone(place, start, lowest, highest)
        unit = OffsetRange(*place, start, highest, topics[place.topic].topic_id)
        if fault is None:
            units.append(unit)
        else:
            failed.append(Outcome(unit, start, fault=fault))
    return units, failed


def _gone(place: TopicPartition, start: int, first: int, end: int) -> str:
    cause = (
        f"retention deleted offsets {start} to {first - 1} before they were copied"
        if start < first
        else f"the log ends at offset {end}: the topic may have been created again"
    )
    return (
        f"{place} is to be copied from offset {start} on, but {cause}; "
        f"{keys.TO_EARLIEST}=true goes on at offset {first}, where the log begins now"
    )
