"""Transactional producers and readers as applications write them, with confluent-kafka."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_STORED,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

TIMEOUT_SECONDS = 30
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"


def transactional(bootstrap: str, transactional_id: str, **settings: Any) -> Producer:
    """A producer that may begin a transaction; settings with `_` for `.`."""
    wanted = {"bootstrap.servers": bootstrap, "log_level": 0, "transactional.id": transactional_id}
    producer = Producer({**wanted, **_dotted(settings)})
    producer.init_transactions(TIMEOUT_SECONDS)
    return producer


def produce(producer: Producer, topic: str, *values: str, partition: int = 0) -> None:
    """Write values and wait until the broker has them."""
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(TIMEOUT_SECONDS) == 0


@contextlib.contextmanager
def worker(bootstrap: str, group: str, topic: str, **settings: Any) -> Iterator[Consumer]:
    """A consumer that goes on where its group has committed, in all partitions of a topic.

    It is assigned by hand: what the group remembers is the point here, not who its members are.
    """
    wanted = {
        "bootstrap.servers": bootstrap,
        "log_level": 0,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 50,
        **_dotted(settings),
    }
    consumer = Consumer(wanted)
    try:
        partitions = consumer.list_topics(topic, TIMEOUT_SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, index, OFFSET_STORED) for index in partitions])
        yield consumer
    finally:
        consumer.close()


def arriving(consumer: Consumer, topic: str) -> Iterator[Message]:
    """What is there for a worker, one after the other, up to the end of every partition."""
    ended: set[int | None] = set()
    partitions = {each.partition for each in consumer.assignment()}
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while ended != partitions:
        message = consumer.poll(1)
        assert time.monotonic() < deadline, f"{topic} did not end in time"
        if message is None:
            continue
        error = message.error()
        if error is None:
            yield message
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition())


def visible(bootstrap: str, topic: str, isolation: str = COMMITTED) -> list[str]:
    """All values that a reader with this isolation.level gets, partition by partition."""
    with worker(bootstrap, "nobody", topic, isolation_level=isolation) as consumer:
        consumer.assign(
            [
                TopicPartition(topic, each.partition, OFFSET_BEGINNING)
                for each in consumer.assignment()
            ]
        )
        found = sorted(
            arriving(consumer, topic),
            key=lambda message: (message.partition() or 0, message.offset() or 0),
        )
    return [(message.value() or b"").decode() for message in found]


def _dotted(settings: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in settings.items()}
