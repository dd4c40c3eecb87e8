"""ProducerRecord and RecordMetadata: what an application gives, and what it gets back."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka import Message, Producer

from tests.clients.drivers.driver import TIMEOUT_SECONDS
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.java_producer import JavaProducer
from tests.clients.producer.written import records
from tests.clients.raw import Connection
from tests.clients.records import FIRST_TIMESTAMP_MS

NewJava = Callable[..., JavaProducer]
NewTopic = Callable[..., str]


@pytest.mark.spec("slides:C08", "admin:PR-02", "book1:P-12", "book1:P-13")
def test_a_record_has_four_forms(java_producers: ForeignClient) -> None:
    """Topic and value are there in each; partition, timestamp and key are not."""
    *forms, no_topic, no_partition, no_time = java_producers.call("record_forms", topic="t")
    assert forms == [
        ["t", 1, 5, "k", "v"],
        ["t", 1, None, "k", "v"],
        ["t", None, None, "k", "v"],
        ["t", None, None, None, "v"],
    ]
    assert [no_topic, no_partition, no_time] == ["refused"] * 3


@pytest.mark.spec("admin:PR-02", "book1:P-12", "slides:C08")
def test_each_form_arrives_as_it_was_given(
    new_java: NewJava, connection: Connection, new_topic: NewTopic
) -> None:
    """What a form leaves out, the producer chooses; the rest is what is stored."""
    topic = new_topic(partitions=2)
    time_ms = FIRST_TIMESTAMP_MS
    (full, placed) = new_java().send_and_get(
        {"topic": topic, "partition": 1, "timestamp_ms": time_ms, "key": "k", "value": "full"},
        {"topic": topic, "partition": 1, "key": None, "value": "no key"},
    )
    (plain,) = new_java().send_and_get({"topic": topic, "value": "topic and value"})
    assert [full["partition"], placed["partition"]] == [1, 1]
    stored = records(connection, topic, 1)
    assert (stored[0].key, stored[0].value, stored[0].timestamp) == (b"k", b"full", time_ms)
    assert (stored[1].key, stored[1].value) == (None, b"no key")
    assert records(connection, topic, plain["partition"])[-1].value == b"topic and value"


@pytest.mark.spec("book1:P-14")
def test_a_record_without_a_time_has_the_producers(
    new_java: NewJava, bootstrap: str, connection: Connection, topic: str
) -> None:
    """The producer's clock is asked when the record is given to it."""
    before_ms = int(time.time() * 1000)
    new_java().send_and_get({"topic": topic, "value": "java"})
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(topic, "librdkafka")
    assert producer.flush(TIMEOUT_SECONDS) == 0
    after_ms = int(time.time() * 1000)
    assert [before_ms <= each.timestamp <= after_ms for each in records(connection, topic)] == [
        True,
        True,
    ]


@pytest.mark.spec("slides:C07", "book1:P-15")
def test_metadata_tells_where_a_record_lies(new_java: NewJava, new_topic: NewTopic) -> None:
    """Topic, partition, offset, time, and the sizes of key and value on the wire."""
    topic = new_topic(partitions=3)
    record = {"topic": topic, "partition": 2, "timestamp_ms": FIRST_TIMESTAMP_MS}
    first, second = new_java().send_and_get(
        {**record, "key": "größe", "value": "12345"}, {**record, "value": None}
    )
    assert first == {
        "topic": topic,
        "partition": 2,
        "offset": 0,
        "timestamp_ms": FIRST_TIMESTAMP_MS,
        "key_bytes": 7,
        "value_bytes": 5,
    }
    assert (second["offset"], second["key_bytes"], second["value_bytes"]) == (1, -1, -1)


@pytest.mark.spec("slides:C07", "book1:P-15")
def test_metadata_tells_the_time_that_is_kept(
    new_java: NewJava, bootstrap: str, connection: Connection, new_topic: NewTopic
) -> None:
    """Where the broker's clock counts, the producer hears of it and not of its own."""
    topic = new_topic(config={"message.timestamp.type": "LogAppendTime"})
    record = {"topic": topic, "timestamp_ms": FIRST_TIMESTAMP_MS, "value": "v"}
    (java,) = new_java().send_and_get(record)
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    reports: list[Message] = []
    producer.produce(
        topic,
        "v",
        timestamp=FIRST_TIMESTAMP_MS,
        on_delivery=lambda _, message: reports.append(message),
    )
    assert producer.flush(TIMEOUT_SECONDS) == 0
    kept = [each.timestamp for each in records(connection, topic)]
    assert kept == [java["timestamp_ms"], reports[0].timestamp()[1]]
    assert min(kept) > FIRST_TIMESTAMP_MS
