"""The producer's buffer: how large it is, what happens when it is full, and to what stays in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.clients.contract import eventually
from tests.clients.drivers.driver import TIMEOUT_SECONDS
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Api, Gateway
from tests.clients.producer.java_producer import JavaProducer
from tests.clients.producer.written import values
from tests.clients.raw import Connection

NewJava = Callable[..., JavaProducer]
NewTopic = Callable[..., str]
LONG_LINGER_MS = 60_000


@pytest.mark.spec("slides:C22", "slides:C23", "admin:PR-05", "book1:P-21", "slides:C44")
def test_a_full_buffer_blocks_and_then_refuses(
    new_java: NewJava,
    java_producers: ForeignClient,
    gateway: Gateway,
    connection: Connection,
    topic: str,
) -> None:
    """32 MiB by default; send waits max.block.ms for room, then BufferExhaustedException.

    It is a TimeoutException too, and the records that had room arrive.
    """
    assert java_producers.call("defaults")["buffer.memory"] == "33554432"
    assert java_producers.call("defaults")["max.block.ms"] == "60000"
    producer = new_java(
        bootstrap=gateway.bootstrap, buffer_memory=40_000, batch_size=10_000, max_block_ms=4000
    )
    producer.partitions_for(topic)
    large = {"topic": topic, "partition": 0, "value": "v" * 9_000}
    with gateway.holding_answers():
        outcomes = producer.send(*(large for _ in range(5)))
    assert [each["took_ms"] < 3_990 for each in outcomes] == [True] * 4 + [False]
    told = producer.reports(5)
    refused = [each["exception"] for each in told if each["exception"]]
    assert refused == ["BufferExhaustedException"]
    assert len(values(connection, topic)) == 4
    producer.send(large)
    assert producer.reports(6)[-1]["exception"] is None


@pytest.mark.spec("slides:C23", "slides:C44")
def test_send_blocks_for_metadata_no_longer_than_it_may(new_java: NewJava, topic: str) -> None:
    """A partition that does not exist may come; after max.block.ms it is a TimeoutException."""
    producer = new_java(max_block_ms=300)
    (outcome,) = producer.send({"topic": topic, "partition": 5, "value": "v"})
    assert 290 <= outcome["took_ms"] < 10_000
    assert [each["exception"] for each in producer.reports(1)] == ["TimeoutException"]
    (interrupted,) = producer.send(
        {"topic": topic, "partition": 5, "value": "v", "interrupted": True}
    )
    assert interrupted["thrown"] == "InterruptException"


@pytest.mark.spec("admin:PR-05")
def test_a_full_queue_of_librdkafka_refuses_at_once(
    gateway: Gateway, connection: Connection, topic: str
) -> None:
    """It leaves the waiting to the application, which calls poll and tries again."""
    settings = {"bootstrap.servers": gateway.bootstrap, "log_level": 0}
    producer = Producer({**settings, "queue.buffering.max.messages": 10})
    with gateway.holding_answers():
        for number in range(10):
            producer.produce(topic, str(number), partition=0)
        with pytest.raises(BufferError):
            producer.produce(topic, "no room", partition=0)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    producer.produce(topic, "10", partition=0)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    assert values(connection, topic) == [str(number) for number in range(11)]


@pytest.mark.spec("book2:N-02")
@pytest.mark.spec("admin:PR-21")
def test_each_partition_takes_a_buffer(new_java: NewJava, new_topic: NewTopic) -> None:
    """A small record for a partition occupies a whole batch until it is sent."""
    topic = new_topic(partitions=8)
    producer = new_java(batch_size=10_000, buffer_memory=100_000, linger_ms=LONG_LINGER_MS)
    producer.partitions_for(topic)
    for partition in range(8):
        producer.send({"topic": topic, "partition": partition, "value": "v"})
        assert producer.metric("buffer-available-bytes") == 100_000 - 10_000 * (partition + 1)
    producer.flush()
    eventually(lambda: producer.metric("buffer-available-bytes") == 100_000, "all of the buffer")


@pytest.mark.spec("book1:B-21")
def test_more_partitions_fill_the_buffer_sooner(
    new_java: NewJava, gateway: Gateway, new_topic: NewTopic
) -> None:
    """Eight small records have room in one partition's batch; over eight partitions send blocks."""
    topic = new_topic(partitions=8)
    producer = new_java(
        bootstrap=gateway.bootstrap, buffer_memory=40_000, batch_size=10_000, max_block_ms=4000
    )
    producer.partitions_for(topic)
    small = [{"topic": topic, "partition": number, "value": "v"} for number in range(8)]
    with gateway.holding_answers():
        producer.send(small[0])
        gateway.await_requests(Api.PRODUCE, 1)
        together = producer.send(*[small[0]] * 8)
        apart = producer.send(*small[1:4])
    assert all(each["took_ms"] < 3_990 for each in [*together, *apart[:2]])
    assert apart[2]["took_ms"] >= 3_990
    refused = [each["exception"] for each in producer.reports(12) if each["exception"]]
    assert refused == ["BufferExhaustedException"]


@pytest.mark.spec("book1:P-22")
def test_a_record_does_not_wait_for_ever(new_java: NewJava, gateway: Gateway, topic: str) -> None:
    """What is not delivered in time is dropped from the queue and fails (KIP-91).

    The limit is delivery.timeout.ms now, which covers the queue as request.timeout.ms did once.
    """
    producer = new_java(
        bootstrap=gateway.bootstrap,
        max_in_flight_requests_per_connection=1,
        linger_ms=0,
        request_timeout_ms=600,
        delivery_timeout_ms=600,
    )
    producer.partitions_for(topic)
    with gateway.holding_answers():
        producer.send({"topic": topic, "value": "under way"})
        gateway.await_requests(Api.PRODUCE, 1)
        producer.send({"topic": topic, "value": "in the queue"})
        told = producer.reports(2)
    assert {each["exception"] for each in told} == {"TimeoutException"}


@pytest.mark.spec("book1:P-22")
def test_a_record_of_librdkafka_does_not_wait_for_ever(gateway: Gateway, topic: str) -> None:
    """The same limit under either of its names."""
    settings = {"bootstrap.servers": gateway.bootstrap, "log_level": 0, "linger.ms": 0}
    errors: list[KafkaError | None] = []

    def note(error: KafkaError | None, _: Message) -> None:
        errors.append(error)

    for name in ("delivery.timeout.ms", "message.timeout.ms"):
        producer = Producer({**settings, name: 600})
        with gateway.holding_answers():
            producer.produce(topic, "v", partition=0, on_delivery=note)
            assert producer.flush(TIMEOUT_SECONDS) == 0
    assert [error and error.code() for error in errors] == [KafkaError._MSG_TIMED_OUT] * 2
