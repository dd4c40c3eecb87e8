"""The rows of a task on their way: gathered, routed, encoded and handed to a producer.

The module refuses to know transactions: whoever calls has begun what must be begun, and ends it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from random import SystemRandom
from typing import Final

import pyarrow as pa

from headrace.client.cluster import Cluster
from headrace.client.producing import RawProducer, RecordsPayload
from headrace.pipelines.columns.binary_fields import UnwritableRows
from headrace.pipelines.columns.encode import WritableRows
from headrace.pipelines.new_topics import create_topics
from headrace.pipelines.sink.faults import WrongRow
from headrace.pipelines.sink.options import SinkOptions
from headrace.pipelines.sink.routing import Destination, Router
from headrace.pipelines.sink.rows import gathered
from headrace.types import TopicPartition

GATHER_BYTES: Final = 4 << 20
"""How many bytes of rows are routed at once. Spread over a dozen partitions they still make
batches of some hundred kilobytes; more would only let the broker wait."""


def deliver(
    batches: Iterable[pa.RecordBatch],
    columns: tuple[str, ...],
    options: SinkOptions,
    cluster: Cluster,
    producer: RawProducer,
) -> Counter[TopicPartition]:
    """Send every row, and say how many went where. They are acknowledged after a `flush`."""
    counts = _PartitionCounts(cluster)
    router = Router(
        options.topic,
        counts,
        ignore_keys=options.ignore_keys,
        turn=SystemRandom().randrange(1 << 16),
    )
    written: Counter[TopicPartition] = Counter()
    for rows in gathered(batches, columns, GATHER_BYTES):
        destinations = router.route(rows)
        try:
            _send(rows, destinations, options, producer)
        except UnwritableRows as fault:
            first = written.total()
            raise WrongRow(f"{fault} (row 0 is row {first} of this task)") from fault
        for topic, partition, order in destinations:
            written[TopicPartition(topic, partition)] += len(order)
    return written


def _send(
    rows: pa.RecordBatch,
    destinations: list[Destination],
    options: SinkOptions,
    producer: RawProducer,
) -> None:
    writable = WritableRows(rows, now_ms=time.time_ns() // 1_000_000)
    for topic, partition, order in destinations:
        for payload in writable.payloads(
            order, codec=options.codec, level=options.level, max_batch_bytes=options.batch_bytes
        ):
            _check_size(topic, partition, payload, options.request_bytes)
            producer.send(topic, partition, payload)


class _PartitionCounts:
    """How many partitions a topic has, asked once in a write."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[str, int] = {}

    def __call__(self, names: Collection[str]) -> Mapping[str, int]:
        missing = [name for name in names if name not in self._known]
        if missing:
            found = self._cluster.topics(missing)
            absent = [name for name in missing if name not in found]
            if absent:
                found |= create_topics(self._cluster, absent)
            self._known.update((name, len(topic.partitions)) for name, topic in found.items())
        return self._known


def _check_size(topic: str, partition: int, payload: RecordsPayload, max_bytes: int) -> None:
    size = len(payload.records)
    if size > max_bytes:
        raise WrongRow(
            f"a batch of {payload.count} records for {topic}-{partition} "
            f"takes {size} bytes, more than kafka.max.request.size = {max_bytes} allows; raise it "
            "(and max.message.bytes of the topic), or make the records smaller"
        )
