"""A producer and a consumer as applications use them: librdkafka, every wait with an end.

Consumers are assigned their partitions by hand and keep their own place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

TIMEOUT_SECONDS = 30


def new_producer(bootstrap: str, **settings: Any) -> Producer:
    """A producer; settings with `_` for `.`, as in `linger_ms=20`."""
    return Producer({"bootstrap.servers": bootstrap, "log_level": 0, **_dotted(settings)})


def write(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes],
    *,
    partition: int = 0,
    know_leader: bool = False,
    **settings: Any,
) -> list[Message]:
    """Write values with a producer that is gone afterwards; what it was told about each.

    A producer that knows the leader beforehand has all values in its buffer when it is flushed,
    so that the batches depend on its settings alone.
    """
    producer = new_producer(bootstrap, **settings)
    if know_leader:
        producer.list_topics(topic, timeout=TIMEOUT_SECONDS)
    reports: list[Message] = []

    def note(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        reports.append(message)

    for value in values:
        producer.produce(topic, value, partition=partition, on_delivery=note)
    unsent = producer.flush(TIMEOUT_SECONDS)
    assert unsent == 0, f"{unsent} records were not delivered in time"
    return reports


@contextlib.contextmanager
def reader(
    bootstrap: str, topic: str, *, partition: int = 0, offset: int = 0, **settings: Any
) -> Iterator[Consumer]:
    """A consumer at one offset of one partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            # confluent-kafka insists on a group; a consumer that is assigned never joins it.
            "group.id": "never-joined",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 50,  # a seek waits for the fetch that is under way
            **_dotted(settings),
        }
    )
    consumer.assign([TopicPartition(topic, partition, offset)])
    try:
        yield consumer
    finally:
        consumer.close()


def take(consumer: Consumer, count: int) -> list[Message]:
    """The next `count` records, one at a time, so that the consumer's place is exact."""
    found: list[Message] = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT_SECONDS)
        assert message is not None, f"{len(found)} of {count} records came in time"
        assert message.error() is None, message.error()
        found.append(message)
    return found


def read(bootstrap: str, topic: str, count: int, **place: Any) -> list[Message]:
    """`count` records with a consumer that is gone afterwards."""
    with reader(bootstrap, topic, **place) as consumer:
        return take(consumer, count)


def values(messages: Iterable[Message]) -> list[bytes]:
    return [message.value() or b"" for message in messages]


def offsets(messages: Iterable[Message]) -> list[int]:
    return [-1 if (offset := message.offset()) is None else offset for message in messages]


def numbered(count: int, *, start: int = 0) -> list[bytes]:
    """Values that say their number."""
    return [str(number).encode() for number in range(start, start + count)]


def _dotted(settings: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in settings.items()}
