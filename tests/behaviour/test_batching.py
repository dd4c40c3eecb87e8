"""What a producer's buffers do to the log, and a consumer's to its reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.records.batch import BatchHeader
from headrace.records.compression import Codec
from headrace.testing import Broker
from tests.behaviour.application import (
    TIMEOUT_SECONDS,
    new_producer,
    numbered,
    read,
    reader,
    take,
    values,
    write,
)
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_headers
from tests.clients.requests import LATEST, fetched, offset_at

LONG_LINGER_MS = 60_000
CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
# Much alike and yet all different, as events are.
EVENTS = [b'{"name": "IBM", "dollars": 68, "number": %d}' % number for number in range(1000)]


def batches(connection: Connection, topic: str) -> list[BatchHeader]:
    return batch_headers(fetched(connection, topic, 0, partition_max_bytes=1 << 24).records)


@pytest.mark.spec("book1:B-24")
@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_a_larger_batch_size_makes_fewer_batches(
    broker: Broker, connection: Connection, new_topic: Callable[..., str], acks: str
) -> None:
    """The same records in the same order, whatever the knob says; with each kind of acks."""
    counts = {}
    for batch_size in (1_000, 10_000, 1_000_000):
        topic = new_topic()
        settings: dict[str, Any] = {
            "batch_size": batch_size,
            "linger_ms": LONG_LINGER_MS,
            "acks": acks,
        }
        write(broker.bootstrap_servers, topic, EVENTS, know_leader=True, **settings)
        assert values(read(broker.bootstrap_servers, topic, len(EVENTS))) == EVENTS
        found = batches(connection, topic)
        assert max(header.size for header in found) <= batch_size
        counts[batch_size] = len(found)
    assert counts[1_000] > 4 * counts[10_000] > 4 * counts[1_000_000]


@pytest.mark.spec("book1:P-09")
def test_a_full_batch_does_not_wait(broker: Broker, connection: Connection, topic: str) -> None:
    """With an endless linger a batch leaves when it is full, and the rest stays in the buffer."""
    producer = new_producer(
        broker.bootstrap_servers, linger_ms=LONG_LINGER_MS, batch_num_messages=10
    )
    for value in numbered(25):
        producer.produce(topic, value, partition=0)
    eventually(lambda: offset_at(connection, topic, LATEST).offset == 20, "two full batches")
    assert [header.record_count for header in batches(connection, topic)] == [10, 10]
    assert len(producer) >= 5
    assert producer.flush(TIMEOUT_SECONDS) == 0
    assert offset_at(connection, topic, LATEST).offset == 25


@pytest.mark.spec("book1:P-09", "book2:N-07")
def test_an_unfilled_batch_leaves_when_it_has_lingered(
    broker: Broker, connection: Connection, topic: str
) -> None:
    """Nobody flushes: the producer itself sends what it has after linger.ms, as one batch."""
    producer = new_producer(broker.bootstrap_servers, linger_ms=200)
    producer.list_topics(topic, timeout=TIMEOUT_SECONDS)
    for value in numbered(5):
        producer.produce(topic, value, partition=0)
    eventually(lambda: offset_at(connection, topic, LATEST).offset == 5, "the linger")
    assert [header.record_count for header in batches(connection, topic)] == [5]
    assert producer.flush(TIMEOUT_SECONDS) == 0


@pytest.mark.spec("book1:B-24", "book1:P-26", "slides:C29", "admin:PR-07", "book2:N-05")
@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())
def test_a_batch_is_compressed_once_and_stays_so(
    broker: Broker, connection: Connection, new_topic: Callable[..., str], codec: Codec
) -> None:
    """The producer's codec is on disk and at the reader; larger batches shrink further."""
    sizes = {}
    for name, batch_messages in (
        (codec.name.lower(), 1000),
        (codec.name.lower(), 20),
        ("none", 1000),
    ):
        topic = new_topic()
        settings: dict[str, Any] = {
            "compression_type": name,
            "batch_num_messages": batch_messages,
            "linger_ms": LONG_LINGER_MS,
        }
        write(broker.bootstrap_servers, topic, EVENTS, know_leader=True, **settings)
        found = batches(connection, topic)
        assert {header.compression for header in found} == {Codec[name.upper()]}
        assert sum(header.record_count for header in found) == len(EVENTS)
        (segment,) = (broker.data_dir / f"{topic}-0").glob("*.log")
        sizes[name, batch_messages] = segment.stat().st_size
        assert values(read(broker.bootstrap_servers, topic, len(EVENTS))) == EVENTS
    large, small, plain = sizes.values()
    assert large < small < plain
    assert large < plain / 2


@pytest.mark.spec("book1:B-19")
def test_both_sides_keep_a_buffer() -> None:
    """A thousand sends are one write; one fetch feeds a reader that has lost its broker."""
    with Broker() as broker:
        with Connection(broker.bootstrap_servers) as connection:
            settings: dict[str, Any] = {"linger_ms": LONG_LINGER_MS, "know_leader": True}
            write(broker.bootstrap_servers, "buffered", EVENTS, **settings)
            assert [header.record_count for header in batches(connection, "buffered")] == [1000]
        with reader(broker.bootstrap_servers, "buffered") as consumer:
            first = take(consumer, 1)
            broker.kill()
            assert values(first + take(consumer, 999)) == EVENTS
