"""From bytes to objects: deserializers, what they are told, and what happens when they refuse."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from confluent_kafka import Consumer, DeserializingConsumer, TopicPartition
from confluent_kafka.error import ValueDeserializationError
from confluent_kafka.serialization import IntegerDeserializer, StringDeserializer

from tests.clients.consumer.application import TIMEOUT_SECONDS, write
from tests.clients.drivers.driver import Refused
from tests.clients.drivers.java_consumer import OpenedConsumers

LONG = "org.apache.kafka.common.serialization.LongDeserializer"
LOUD = "JavaConsumer$LoudDeserializer"
SIEVE = "JavaConsumer$Sieve"


@pytest.mark.spec("admin:CO-21", "book1:C-10")
def test_the_counterpart_of_the_serializer_gives_the_object_back(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str
) -> None:
    """Eight big-endian bytes are a long again, UTF-8 is text again."""
    write(bootstrap, topic, [struct.pack(">q", -42)], key="Grüße".encode())
    consumer = java_consumers.open(value_deserializer=LONG)
    consumer.call("assign", partitions=[(topic, 0)])
    (record,) = consumer.take(1)
    assert (record["key"], record["value"]) == ("Grüße", -42)


@pytest.mark.spec("book1:C-10")
def test_bytes_of_another_kind_are_a_serialization_exception(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str
) -> None:
    """Three bytes are no long: the Java client raises where the record is, and can go past it."""
    write(bootstrap, topic, [b"abc", struct.pack(">q", 7)])
    consumer = java_consumers.open(value_deserializer=LONG)
    consumer.call("assign", partitions=[(topic, 0)])
    consumer.call("seek", partitions=[(topic, 0)], offset=0)
    told = consumer.refusal("poll_once", timeout_ms=5000)
    assert "DeserializationException" in told
    assert "offset 0" in told
    assert consumer.call("position", partitions=[(topic, 0)]) == [0]
    consumer.call("seek", partitions=[(topic, 0)], offset=1)
    assert [each["value"] for each in consumer.take(1)] == [7]


@pytest.mark.spec("admin:CO-21", "book1:C-10")
def test_confluent_kafka_decodes_too(bootstrap: str, topic: str, group: str) -> None:
    """DeserializingConsumer calls the deserializers of keys and values, and raises theirs."""
    write(bootstrap, topic, [struct.pack(">i", 12), b"no number"], key=b"key")
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "log_level": 0,
        "group.id": group,
        "key.deserializer": StringDeserializer("utf_8"),
        "value.deserializer": IntegerDeserializer(),
    }
    consumer = DeserializingConsumer(settings)
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(TIMEOUT_SECONDS)
        assert message is not None
        found: tuple[Any, Any] = (message.key(), message.value())
        assert found == ("key", 12)
        with pytest.raises(ValueDeserializationError):
            consumer.poll(TIMEOUT_SECONDS)
    finally:
        consumer.close()


@pytest.mark.spec("slides:D39")
def test_what_a_deserializer_is_told(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str
) -> None:
    """configure with every setting and which side it is on, deserialize with the topic, close."""
    write(bootstrap, topic, [b"loud"], key=b"quiet")
    program = java_consumers.program
    program.call("plugin_events")
    consumer = java_consumers.open(key_deserializer=LOUD, value_deserializer=LOUD, loud_suffix="!")
    consumer.call("assign", partitions=[(topic, 0)])
    (record,) = consumer.take(1)
    assert (record["key"], record["value"]) == ("QUIET!", "LOUD!")
    consumer.close()
    assert program.call("plugin_events") == [
        ["configure", True, "!"],
        ["configure", False, "!"],
        ["deserialize", topic],
        ["deserialize", topic],
        ["close"],
        ["close"],
    ]


def test_an_interceptor_sees_records_and_commits(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """Between fetch and application it may drop records; commits are told to it (KIP-42)."""
    write(bootstrap, topic, [b"keep", b"drop", b"keep"])
    program = java_consumers.program
    program.call("plugin_events")
    consumer = java_consumers.open(group_id=group, interceptor_classes=SIEVE)
    consumer.call("assign", partitions=[(topic, 0)])
    assert [(each["offset"], each["value"]) for each in consumer.take(2)] == [
        (0, "keep"),
        (2, "keep"),
    ]
    consumer.call("commit_sync")
    consumer.close()
    assert program.call("plugin_events") == [["configure", group], ["commit", 3], ["close"]]


@pytest.mark.spec("slides:D47")
def test_what_a_consumer_cannot_do_without(
    java_consumers: OpenedConsumers, bootstrap: str, topic: str
) -> None:
    """Both deserializers, and a group for whoever subscribes or commits."""
    for missing in ("key_deserializer", "value_deserializer"):
        told = f"Invalid value null for configuration {missing.replace('_', '.')}"
        with pytest.raises(Refused, match=told):
            java_consumers.open(**{missing: None})
    consumer = java_consumers.open()
    assert "InvalidGroupIdException" in consumer.refusal("subscribe", topics=[topic])
    consumer.call("assign", partitions=[(topic, 0)])
    assert "InvalidGroupIdException" in consumer.refusal("commit_sync")
    with pytest.raises(ValueError, match=r"group\.id must be set"):
        Consumer({"bootstrap.servers": bootstrap, "log_level": 0})
