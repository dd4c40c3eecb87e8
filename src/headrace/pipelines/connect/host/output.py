"""Rows into topics: routed as every producer of Kafka routes them, encoded, sent, acknowledged.

A topic that is missing is created: by the connector's `topic.creation.*` if it has any for it,
otherwise by the broker, if `auto.create.topics.enable` lets it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from random import SystemRandom
from typing import Final

import pyarrow as pa

from headrace.client.cluster import Cluster
from headrace.client.producing import RawProducer
from headrace.pipelines.columns.encode import WritableRows
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.host.source_records import Written
from headrace.pipelines.new_topics import create_topics
from headrace.pipelines.sink.routing import Router
from headrace.records.compression import Codec

Create = Callable[[str], bool]
"""Create a topic by the connector's own settings; false if it has none for this topic."""


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """What a producer may be told."""

    codec: Codec = Codec.NONE
    level: int | None = None
    batch_bytes: int = 256 << 10
    request_bytes: int = 1 << 20


_CHANCE: Final = SystemRandom()


class Output:
    """What one task writes. `flush` returns when all of it is acknowledged."""

    def __init__(
        self,
        cluster: Cluster,
        producer: RawProducer,
        settings: OutputSettings,
        create: Create = lambda topic: False,
    ) -> None:
        self._cluster = cluster
        self.producer = producer
        self._settings = settings
        self._create = create
        self._partitions: dict[str, int] = {}
        self._routers: dict[str, Router] = {}

    def send(self, written: Written) -> None:
        """Queue rows; may wait for room."""
        rows = written.rows
        if written.partition is not None:
            chosen = pa.array([written.partition] * rows.num_rows, pa.int32())
            rows = rows.append_column("partition", chosen)
        writable = WritableRows(rows, now_ms=time.time_ns() // 1_000_000)
        settings = self._settings
        for topic, partition, order in self._router(written.topic).route(rows):
            for payload in writable.payloads(
                order,
                codec=settings.codec,
                level=settings.level,
                max_batch_bytes=settings.batch_bytes,
            ):
                if len(payload.records) > settings.request_bytes:
                    raise ConnectException(
                        f"a record for {topic}-{partition} takes {len(payload.records)} bytes, "
                        f"more than max.request.size = {settings.request_bytes} allows: raise "
                        "producer.override.max.request.size, and max.message.bytes of the topic"
                    )
                self.producer.send(topic, partition, payload)

    def flush(self) -> None:
        """Return when everything sent is acknowledged."""
        self.producer.flush()

    def close(self) -> None:
        """Give up what is not acknowledged."""
        self.producer.close()
        self._cluster.close()

    def _router(self, topic: str) -> Router:
        found = self._routers.get(topic)
        if found is None:
            turn = _CHANCE.randrange(1 << 16)
            found = self._routers[topic] = Router(topic, self._counts, turn=turn)
        return found

    def _counts(self, names: Collection[str]) -> Mapping[str, int]:
        for name in names:
            if name not in self._partitions:
                known = self._cluster.topics([name])
                if name not in known and self._create(name):
                    known = {name: self._cluster.topic(name)}
                found = known.get(name) or create_topics(self._cluster, [name])[name]
                self._partitions[name] = len(found.partitions)
        return self._partitions
