"""KafkaSimpleSource: topics as sources, a work unit for each partition, values as bytes."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from headrace.client.cluster import Cluster
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import ConfigError
from headrace.java.regex import compile_java
from headrace.pipelines.lake.gobblin.stages import Settings, Slice, State, WorkUnit
from headrace.pipelines.lake.jobs.properties import Properties
from headrace.pipelines.source.options import SourceOptions
from headrace.pipelines.source.reading import read_range
from headrace.pipelines.source.split import OffsetRange
from headrace.pipelines.source.subscription import TopicNames
from headrace.types import TopicPartition

_CLIENT: Final = ("security.protocol", "sasl.", "ssl.")
_STARTS: Final = ("earliest", "latest", "skip")
_RESETS: Final = ("nearest", "earliest", "latest", "skip")


class KafkaSimpleSource:
    """Partitions that the state does not know begin at `bootstrap.with.offset`."""

    def __init__(self, settings: Settings) -> None:
        read = Properties(settings, "the job")
        self._client = _client(read)
        self._wanted = _topics(read, "topic.whitelist") or re.compile(".*")
        self._unwanted = _topics(read, "topic.blacklist")
        self._start = read.choice("bootstrap.with.offset", "latest", _STARTS)
        self._reset = read.choice("reset.on.offset.out.of.range", "nearest", _RESETS)

    def work_units(self, state: State) -> Sequence[WorkUnit]:
        cluster = Cluster(self._client)
        try:
            topics = {
                name: topic
                for name, topic in cluster.topics().items()
                if not topic.is_internal
                and self._wanted.fullmatch(name)
                and not (self._unwanted and self._unwanted.fullmatch(name))
            }
            if not topics:
                raise ConfigError(
                    "no topic of the cluster matches topic.whitelist and is not in "
                    "topic.blacklist: correct them, or create the topic"
                )
            places = [TopicPartition(name, n) for name in topics for n in topics[name].partitions]
            first = list_offsets(cluster, dict.fromkeys(places, EARLIEST), read_committed=True)
            end = list_offsets(cluster, dict.fromkeys(places, LATEST), read_committed=True)
        finally:
            cluster.close()
        units = []
        for place in sorted(places):
            start = self._begin(state.get(str(place)), first[place].offset, end[place].offset)
            if start is not None:
                units.append(WorkUnit(str(place), *place, start, end[place].offset))
        return units

    def extractor(self, unit: WorkUnit) -> KafkaExtractor:
        return KafkaExtractor(self._client, unit)

    def _begin(self, kept: Mapping[str, object] | None, first: int, end: int) -> int | None:
        """Where a partition goes on; None to leave it alone."""
        if kept is None:
            return {"earliest": first, "latest": end, "skip": None}[self._start]
        offset = int(str(kept["offset"]))
        if first <= offset <= end:
            return offset
        nearest = first if offset < first else end
        return {"nearest": nearest, "earliest": first, "latest": end, "skip": None}[self._reset]


class KafkaExtractor:
    """The values of a range of offsets."""

    def __init__(self, client: ClientSettings, unit: WorkUnit) -> None:
        # A thread has connections of its own, which the next unit finds by its name.
        client_id = f"{client.client_id}-{threading.current_thread().name}"
        self._client = replace(client, client_id=client_id)
        self._unit = unit

    def slices(self) -> Iterator[Slice]:
        unit = self._unit
        wanted = OffsetRange(unit.table, unit.partition, unit.start, unit.end)
        options = SourceOptions(self._client, TopicNames(frozenset({unit.table})))
        for rows in read_range(options, wanted):
            micros = rows.column("timestamp").cast(pa.int64()).to_numpy(zero_copy_only=False)
            times = pa.array(np.floor_divide(micros, 1000), pa.int64())
            yield Slice(rows.column("value"), rows.column("offset"), times)

    def watermark(self) -> Mapping[str, object]:
        return {"offset": self._unit.end}


def _client(read: Properties) -> ClientSettings:
    servers = read.required("kafka.brokers", "the brokers, as host:port, several by commas")
    properties = {name: read[name] for name in read if name.lower().startswith(_CLIENT)}
    settings, _ = client_settings(
        {"bootstrap.servers": servers, "client.id": "gobblin", **properties}
    )
    return settings


def _topics(read: Properties, key: str) -> re.Pattern[str] | None:
    names = read.names(key)
    if not names:
        return None
    try:
        return compile_java("|".join(f"(?:{name})" for name in names))
    except (ValueError, re.error) as fault:
        raise ConfigError(f"{key} is {read[key]!r}: {fault}") from None
