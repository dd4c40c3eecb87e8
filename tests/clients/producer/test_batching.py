"""Batches: when they close, what they hold, and how they travel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.records.compression import Codec
from tests.clients.contract import eventually
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Api, Gateway
from tests.clients.producer.java_producer import JavaProducer
from tests.clients.producer.written import batches, end_of, values
from tests.clients.raw import Connection

NewJava = Callable[..., JavaProducer]
NewTopic = Callable[..., str]
LONG_LINGER_MS = 60_000
# Much alike and yet all different, as events are.
EVENTS = [f'{{"name": "IBM", "dollars": 68, "number": {number}}}' for number in range(500)]


def write(producer: JavaProducer, topic: str, texts: list[str], partition: int = 0) -> None:
    """Write with the leader known beforehand, so that batches depend on the settings alone."""
    producer.partitions_for(topic)
    producer.send(*({"topic": topic, "partition": partition, "value": text} for text in texts))
    producer.flush()
    assert {each["exception"] for each in producer.reports(len(texts))} == {None}


@pytest.mark.spec("slides:C24", "admin:PR-06")
def test_a_batch_closes_when_it_is_full(
    new_java: NewJava, java_producers: ForeignClient, connection: Connection, topic: str
) -> None:
    """batch.size bounds what records share; a record that is larger goes alone."""
    assert java_producers.call("defaults")["batch.size"] == "16384"
    texts = ["small" * 10] * 100 + ["large" * 500] + ["small" * 10] * 100
    write(new_java(batch_size=1_000, linger_ms=LONG_LINGER_MS), topic, texts)
    found = batches(connection, topic)
    assert values(connection, topic) == texts
    large = [header for header in found if header.size > 1_000]
    assert [header.record_count for header in large] == [1]
    assert len(found) < 20


@pytest.mark.spec("book2:N-06")
@pytest.mark.spec("slides:C24", "admin:PR-20")
def test_without_batches_each_record_is_a_request(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str
) -> None:
    """batch.size=0 and no linger are for latency: nothing waits for anything else."""
    producer = new_java(bootstrap=gateway.bootstrap, batch_size=0, linger_ms=0)
    producer.partitions_for(topic)
    producer.send(*({"topic": topic, "partition": 0, "value": "v" * 50} for _ in range(10)))
    producer.reports(10)  # nobody flushes
    assert [header.record_count for header in batches(connection, topic)] == [1] * 10
    assert len(gateway.of(Api.PRODUCE)) == 10


@pytest.mark.spec("slides:C25", "admin:PR-06", "admin:PR-20", "book1:P-30")
def test_one_request_carries_a_batch_for_each_partition(
    new_java: NewJava, gateway: Gateway, connection: Connection, new_topic: NewTopic
) -> None:
    """A long linger and one flush are for throughput: 400 records, one request, four batches."""
    topic = new_topic(partitions=4)
    producer = new_java(bootstrap=gateway.bootstrap, linger_ms=LONG_LINGER_MS)
    producer.partitions_for(topic)
    producer.send(*({"topic": topic, "partition": n % 4, "value": str(n)} for n in range(400)))
    producer.flush()
    (request,) = gateway.of(Api.PRODUCE)
    (data,) = request.message.topic_data
    assert sorted(each.index for each in data.partition_data) == [0, 1, 2, 3]
    for partition in range(4):
        (batch,) = batches(connection, topic, partition)
        assert batch.record_count == 100


@pytest.mark.spec("slides:C26", "admin:PR-06")
def test_a_batch_leaves_when_it_is_full_or_has_lingered(
    new_java: NewJava, java_producers: ForeignClient, connection: Connection, topic: str
) -> None:
    """Whichever comes first; 5 ms unless said otherwise since Kafka 4.0 (KIP-1030)."""
    assert java_producers.call("defaults")["linger.ms"] == "5"
    patient = new_java(linger_ms=LONG_LINGER_MS, batch_size=1_000)
    patient.partitions_for(topic)
    patient.send(*({"topic": topic, "partition": 0, "value": "v" * 100} for _ in range(12)))
    eventually(lambda: end_of(connection, topic) > 0, "the full batch")
    full = end_of(connection, topic)
    assert full < 12
    assert len(patient.reports(full)) == full
    patient.close(timeout_ms=0)
    brief = new_java(linger_ms=200)
    brief.partitions_for(topic)
    brief.send(*({"topic": topic, "partition": 0, "value": "v"} for _ in range(5)))
    brief.reports(5)  # nobody flushes
    assert batches(connection, topic)[-1].record_count == 5


@pytest.mark.spec("slides:C27")
def test_what_arrives_during_a_send_shares_a_batch(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str
) -> None:
    """Even without any linger: while a request is under way, records gather."""
    producer = new_java(
        bootstrap=gateway.bootstrap, linger_ms=0, max_in_flight_requests_per_connection=1
    )
    producer.partitions_for(topic)
    with gateway.holding_answers():
        producer.send({"topic": topic, "value": "first"})
        gateway.await_requests(Api.PRODUCE, 1)
        producer.send(*({"topic": topic, "value": "later"} for _ in range(10)))
    producer.reports(11)
    assert [header.record_count for header in batches(connection, topic)] == [1, 10]


@pytest.mark.spec("slides:C28")
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_are_compressed(
    new_java: NewJava,
    java_producers: ForeignClient,
    connection: Connection,
    new_topic: NewTopic,
    codec: str,
) -> None:
    """A codec for the whole batch, none by default; larger batches become smaller."""
    assert java_producers.call("defaults")["compression.type"] == "none"
    sizes = {}
    for name, batch_size in ((None, 100_000), (codec, 2_000), (codec, 100_000)):
        topic = new_topic()
        settings = {} if name is None else {"compression_type": name}
        producer = new_java(linger_ms=LONG_LINGER_MS, batch_size=batch_size, **settings)
        write(producer, topic, EVENTS)
        found = batches(connection, topic)
        assert {header.compression for header in found} == {Codec[(name or "none").upper()]}
        assert values(connection, topic) == EVENTS
        sizes[name, batch_size] = sum(header.size for header in found)
    plain, small, large = sizes.values()
    assert large < small < plain


@pytest.mark.spec("slides:C48")
def test_the_first_tuned_sample(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str
) -> None:
    """linger 200, batch 65536, buffer 64 MiB, snappy, one in flight, two retries, 15 s, 1 s."""
    producer = new_java(
        bootstrap=gateway.bootstrap,
        linger_ms=200,
        batch_size=65536,
        buffer_memory=67108864,
        compression_type="snappy",
        max_in_flight_requests_per_connection=1,
        retries=2,
        request_timeout_ms=15000,
        retry_backoff_ms=1000,
    )
    write(producer, topic, EVENTS * 8)
    found = batches(connection, topic)
    assert values(connection, topic) == EVENTS * 8
    assert {header.compression for header in found} == {Codec.SNAPPY}
    assert max(header.size for header in found) <= 65536
    assert {each.message.timeout_ms for each in gateway.of(Api.PRODUCE)} == {15000}
    assert gateway.peak_in_flight == 1
    assert producer.metric("buffer-total-bytes") == 67108864


@pytest.mark.spec("slides:C49")
def test_the_second_tuned_sample(new_java: NewJava, connection: Connection, topic: str) -> None:
    """batch 32768, linger 20, buffer 64 MiB; after one second without metadata send gives up."""
    producer = new_java(batch_size=32768, linger_ms=20, buffer_memory=67108864, max_block_ms=1000)
    write(producer, topic, EVENTS)
    assert values(connection, topic) == EVENTS
    assert 8_192 < max(header.size for header in batches(connection, topic)) <= 32768
    assert producer.metric("buffer-total-bytes") == 67108864
    (nowhere,) = producer.send({"topic": topic, "partition": 99, "value": "v"})
    assert 900 <= nowhere["took_ms"] < 10_000
    assert producer.reports()[-1]["exception"] == "TimeoutException"
