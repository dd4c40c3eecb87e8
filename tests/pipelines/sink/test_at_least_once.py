"""At least once: no transactions, no markers; what was acknowledged is there."""

from __future__ import annotations

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from headrace.client.cluster import Cluster
from headrace.pipelines.sink.attempt import write_at_least_once
from headrace.pipelines.sink.options import sink_options
from headrace.testing import Broker
from tests.pipelines.sink.stage import (
    batch,
    new_topic,
    numbered,
    read_all,
    three_batches,
    values,
)


def write(broker: Broker, topic: str, batches: list[pa.RecordBatch], **options: str) -> int:
    parsed = sink_options(
        {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic, **options}
    )
    cluster = Cluster(parsed.settings)
    columns = tuple(batches[0].schema.names)
    try:
        return write_at_least_once(batches, columns, parsed, cluster).written.total()
    finally:
        cluster.close()


@pytest.mark.parametrize("acks", ["all", "1"])
def test_rows_arrive_with_every_kind_of_acknowledgement(headrace_broker: Broker, acks: str) -> None:
    """`kafka.acks` as Kafka's producer has it; a repetition writes again."""
    topic = new_topic(headrace_broker.bootstrap_servers)
    for _ in range(2):
        options = {"guarantee": "at-least-once", "kafka.acks": acks}
        assert write(headrace_broker, topic, list(three_batches()), **options) == 300
    assert values(headrace_broker.bootstrap_servers, topic) == sorted(numbered(300) * 2)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_by_another_client(headrace_broker: Broker, codec: str) -> None:
    """Keys, values, headers and times come back as they were, tombstones and empties too."""
    topic = new_topic(headrace_broker.bootstrap_servers, partitions=1)
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"k", None, b"", b"k"]),
            "value": pa.array([b"v" * 5000, b"w", None, b""]),
            "headers": pa.array(
                [[{"key": "a", "value": b"1"}, {"key": "a", "value": None}], None, [], []], header
            ),
            "timestamp": pa.array([1_700_000_000_123_456, 1, 0, 5_000], pa.timestamp("us", "UTC")),
        }
    )
    write(headrace_broker, topic, [rows], **{"kafka.compression.type": codec})
    found = read_all(headrace_broker.bootstrap_servers, topic)
    assert [(one.key(), one.value(), one.timestamp()[1]) for one in found] == [
        (b"k", b"v" * 5000, 1_700_000_000_123),
        (None, b"w", 0),
        (b"", None, 0),
        (b"k", b"", 5),
    ]
    assert [one.headers() for one in found] == [[("a", b"1"), ("a", None)], None, None, None]


def test_batches_are_as_large_as_batch_size_says(headrace_broker: Broker) -> None:
    """`kafka.batch.size`, before compression."""
    topic = new_topic(headrace_broker.bootstrap_servers, partitions=1)
    write(headrace_broker, topic, [batch(0, 1000)], **{"kafka.batch.size": "4096"})
    (segment,) = headrace_broker.data_dir.glob(f"{topic}-0/*.log")
    data = segment.read_bytes()
    sizes = []
    while data:
        sizes.append(int.from_bytes(data[8:12], "big") + 12)
        data = data[sizes[-1] :]
    assert len(sizes) == 5
    assert max(sizes) <= 4096 + 61


def test_keys_meet_those_of_other_producers(headrace_broker: Broker) -> None:
    """librdkafka's `murmur2_random` is the Java client's partitioner: the same for all keys."""
    topic = new_topic(headrace_broker.bootstrap_servers, partitions=7)
    keys = [b"", *(f"{number * 7919}".encode() * (number % 5) or b"x" for number in range(3000))]
    theirs: dict[bytes | None, int | None] = {}
    producer = Producer(
        {
            "bootstrap.servers": headrace_broker.bootstrap_servers,
            "partitioner": "murmur2_random",
            "linger.ms": 50,
        }
    )
    for key in keys:
        producer.produce(
            topic,
            b"",
            key,
            on_delivery=lambda _, told: theirs.update({told.key(): told.partition()}),
        )
        producer.poll(0)
    assert producer.flush(30) == 0

    own = new_topic(headrace_broker.bootstrap_servers, partitions=7)
    rows = pa.RecordBatch.from_pydict({"key": pa.array(keys), "value": pa.array([b""] * len(keys))})
    write(headrace_broker, own, [rows])
    ours = {one.key(): one.partition() for one in read_all(headrace_broker.bootstrap_servers, own)}
    assert ours == theirs
