"""Ten topics with everything that a reader of Kafka may meet, written by librdkafka.

They are the same in every run but for the times of log append. A topic with gaps is not given away
before the cleaner is through with it: two readers, one after the other, must find the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.clients.records import CODECS, FIRST_TIMESTAMP_MS, SHAPES, incompressible

BROKER_PROPERTIES = {"log.cleaner.backoff.ms": "100"}
TIMEOUT_SECONDS = 30
HOUR_MS = 3_600_000
ROWS = 400
KEYS = 40
LARGEST_BYTES = 3_000_000
RANDOM = random.Random(5)


@dataclass(frozen=True, slots=True)
class Topic:
    """How a topic is made; `write` is given a bootstrap address and the topic's name."""

    write: Callable[[str, str], None]
    partitions: int = 3
    config: Mapping[str, str] = field(default_factory=dict)


def create_topics(bootstrap: str) -> None:
    """Make all ten, full, as every reader will find them."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [
        # Timestamps lie far in the past, and must not be the reason for a record to go.
        NewTopic(name, topic.partitions, 1, config={"retention.ms": "-1", **topic.config})
        for name, topic in TOPICS.items()
    ]
    for future in admin.create_topics(wanted).values():
        future.result(TIMEOUT_SECONDS)
    for name, topic in TOPICS.items():
        topic.write(bootstrap, name)
    _await_compaction(bootstrap, "compacted")


def producer(bootstrap: str, **settings: Any) -> Producer:
    """A producer; names of settings have `_` for the dots."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **named})


def flush(writer: Producer) -> None:
    assert writer.flush(TIMEOUT_SECONDS) == 0


def _rows(count: int) -> Iterator[dict[str, Any]]:
    """Records of all shapes, their timestamps a second apart."""
    shapes = list(SHAPES.values())
    for number in range(count):
        key, value, headers = shapes[number % len(shapes)]
        timestamp = FIRST_TIMESTAMP_MS + number * 1_000
        yield {"key": key, "value": value, "headers": list(headers), "timestamp": timestamp}


def _write_shapes(codec: str) -> Callable[[str, str], None]:
    def write(bootstrap: str, name: str) -> None:
        writer = producer(bootstrap, compression_type=codec)
        for number, row in enumerate(_rows(ROWS)):
            writer.produce(name, partition=number % TOPICS[name].partitions, **row)
        flush(writer)

    return write


def _write_times(bootstrap: str, name: str) -> None:
    """Event times that run backwards, jump and repeat, with sub-second parts."""
    writer = producer(bootstrap, compression_type="snappy")
    for number in range(ROWS):
        timestamp = FIRST_TIMESTAMP_MS + RANDOM.randrange(-(10**11), 10**11)
        timestamp = RANDOM.choice((timestamp, FIRST_TIMESTAMP_MS - number, 1, FIRST_TIMESTAMP_MS))
        writer.produce(name, b"%d" % number, b"k", partition=number % 3, timestamp=timestamp)
    flush(writer)


def _write_large(bootstrap: str, name: str) -> None:
    """Records beside which a fetch has no room for others, one above a fetch's default size."""
    writer = producer(bootstrap, compression_type="zstd", message_max_bytes=2 * LARGEST_BYTES)
    for number, size in enumerate((900_000, 10, LARGEST_BYTES, 0, 500_000, 300_000, 10)):
        value = incompressible(size) if number % 2 == 0 else b"x" * size
        writer.produce(name, value, partition=number % 2, timestamp=FIRST_TIMESTAMP_MS + number)
    flush(writer)


def _write_mixed_codecs(bootstrap: str, name: str) -> None:
    """Batch after batch of another codec in one partition, of one record and of many."""
    writers = [producer(bootstrap, compression_type=codec) for codec in CODECS]
    for turn, writer in enumerate(writers * 4):
        for row in list(_rows(turn * 3 + 1)):
            writer.produce(name, partition=0, **row)
        flush(writer)


def _transactional(bootstrap: str, name: str) -> Producer:
    """A producer whose last transaction outlives the comparison."""
    return producer(bootstrap, transactional_id=name, transaction_timeout_ms=900_000)


def _write_transactions(bootstrap: str, name: str) -> None:
    """Transactions side by side, committed and aborted, plain records between; one stays open."""
    writers = [_transactional(bootstrap, f"{name}-{number}") for number in range(3)]
    plain = producer(bootstrap, compression_type="lz4")
    for writer in writers:
        writer.init_transactions(TIMEOUT_SECONDS)
    for turn in range(8):
        for number, writer in enumerate(writers):
            writer.begin_transaction()
            for row in range(20):
                writer.produce(name, b"%d.%d.%d" % (turn, number, row), partition=row % 3)
            flush(writer)
        plain.produce(name, b"%d" % turn, b"plain", partition=turn % 3)
        flush(plain)
        for number, writer in enumerate(writers):
            end = writer.abort_transaction if (turn + number) % 3 else writer.commit_transaction
            end(TIMEOUT_SECONDS)
    writers[0].begin_transaction()
    writers[0].produce(name, b"never committed", partition=1)
    flush(writers[0])


def _write_keys(bootstrap: str, name: str) -> None:
    """Each key again and again. A jump of the clock closes a segment, so the cleaner can begin."""
    writer = producer(bootstrap, compression_type="gzip", batch_num_messages=25)
    for number in range(ROWS):
        timestamp = FIRST_TIMESTAMP_MS + number // 100 * 2 * HOUR_MS
        key = b"%d" % RANDOM.randrange(KEYS)
        value = None if number % 9 == 0 else b"%d" % number
        writer.produce(name, value, key, partition=number % 2, timestamp=timestamp)
    flush(writer)
    for partition in range(2):
        writer.produce(name, b"newest", b"newest", partition=partition)
    flush(writer)


def _write_and_trim(bootstrap: str, name: str) -> None:
    """The first records are deleted; one partition is left without any."""
    _write_shapes("none")(bootstrap, name)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    before = [TopicPartition(name, 0, 57), TopicPartition(name, 2, -1)]
    for future in admin.delete_records(before).values():
        future.result(TIMEOUT_SECONDS)


def _write_sparsely(bootstrap: str, name: str) -> None:
    """Many partitions: some empty, some with one record, one with most."""
    writer = producer(bootstrap)
    for number in range(ROWS):
        partition = 7 if number % 10 else number // 10 % 5 * 2
        writer.produce(name, b"%d" % number, b"", partition, timestamp=FIRST_TIMESTAMP_MS + number)
    flush(writer)


TOPICS: Mapping[str, Topic] = {
    "shapes": Topic(_write_shapes("none")),
    "shapes-gzip": Topic(_write_shapes("gzip"), partitions=1),
    "times-snappy": Topic(_write_times),
    "append-time-lz4": Topic(
        _write_shapes("lz4"), config={"message.timestamp.type": "LogAppendTime"}
    ),
    "large-zstd": Topic(
        _write_large, partitions=2, config={"max.message.bytes": str(2 * LARGEST_BYTES)}
    ),
    "mixed-codecs": Topic(_write_mixed_codecs, partitions=1),
    "transactions": Topic(_write_transactions),
    "compacted": Topic(
        _write_keys,
        partitions=2,
        config={
            "cleanup.policy": "compact",
            "segment.ms": str(HOUR_MS),
            "min.cleanable.dirty.ratio": "0.01",
        },
    ),
    "trimmed": Topic(_write_and_trim),
    "sparse": Topic(_write_sparsely, partitions=12),
}


def _await_compaction(bootstrap: str, name: str) -> None:
    """Return when each key has one record left in all but the last segment of its partition."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not _is_compacted(bootstrap, name):
        assert time.monotonic() < deadline, f"the cleaner leaves {name} alone"


def _is_compacted(bootstrap: str, name: str) -> bool:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "nobody", "enable.partition.eof": True}
    )
    try:
        partitions = range(TOPICS[name].partitions)
        consumer.assign([TopicPartition(name, number, OFFSET_BEGINNING) for number in partitions])
        seen: set[tuple[int, bytes | None]] = set()
        ended: set[int] = set()
        while len(ended) < len(partitions):
            message = consumer.poll(TIMEOUT_SECONDS)
            assert message is not None, f"{name} does not come to its end"
            error, partition = message.error(), message.partition()
            assert partition is not None
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(partition)
            elif (place := (partition, message.key())) in seen:
                return False
            else:
                seen.add(place)
        return True
    finally:
        consumer.close()
