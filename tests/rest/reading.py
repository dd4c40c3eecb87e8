"""What is really in a topic, read by librdkafka."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from headrace.testing import Broker

if TYPE_CHECKING:
    from confluent_kafka import Message


def read_all(broker: Broker, topic: str, count: int, *, partition: int = 0) -> list[Message]:
    """The first `count` records of a partition."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    found: list[Message] = []
    deadline = time.monotonic() + 30
    try:
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} records"
            for message in consumer.consume(count - len(found), 0.5):
                assert message.error() is None, message.error()
                found.append(message)
    finally:
        consumer.close()
    return found
