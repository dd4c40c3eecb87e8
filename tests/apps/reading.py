"""What is in a topic, for tests: everything committed, up to the end."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

TIMEOUT_S: Final = 30.0


class Found(NamedTuple):
    key: bytes | None
    value: bytes | None
    partition: int
    offset: int
    timestamp_ms: int

    @property
    def text(self) -> str:
        return (self.value or b"").decode()


def read_topic(servers: str, topic: str) -> list[Found]:
    """All records of all partitions, in the order of partitions and offsets."""
    consumer: Any = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "test-reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    partitions = consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    found: list[Found] = []
    ended: set[int] = set()
    until = time.monotonic() + TIMEOUT_S
    while ended != set(partitions):
        assert time.monotonic() < until, f"{topic} could not be read to its end"
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            ended.add(message.partition())
            continue
        place = (message.partition(), message.offset(), message.timestamp()[1])
        found.append(Found(message.key(), message.value(), *place))
    consumer.close()
    return sorted(found, key=lambda record: (record.partition, record.offset))


def texts(servers: str, topic: str) -> list[str]:
    return [record.text for record in read_topic(servers, topic)]


def latest(servers: str, topic: str) -> dict[str, bytes]:
    """The topic as a table: the last value of each key, without those that were removed."""
    table: dict[str, bytes] = {}
    for record in read_topic(servers, topic):
        assert record.key is not None
        if record.value is None:
            table.pop(record.key.decode(), None)
        else:
            table[record.key.decode()] = record.value
    return table


def committed(servers: str, group: str, topic: str) -> dict[int, int]:
    """The offsets that a group has committed."""
    consumer: Any = Consumer({"bootstrap.servers": servers, "group.id": group})
    partitions = consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions
    places = [TopicPartition(topic, partition) for partition in partitions]
    offsets = {place.partition: place.offset for place in consumer.committed(places, TIMEOUT_S)}
    consumer.close()
    return {partition: offset for partition, offset in offsets.items() if offset >= 0}
