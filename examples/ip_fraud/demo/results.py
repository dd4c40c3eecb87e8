"""What the pipeline has found so far, read from its topics as any other application would."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from examples.ip_fraud.on_spark import FRAUD_TOPIC, HITS_TOPIC, SHARE_TOPIC

TIMEOUT_S: Final = 30.0


@dataclass(slots=True)
class Figures:
    """Fraud rows, hits by address, and by second the records and the fraud among them."""

    fraud: Counter[str] = field(default_factory=Counter)
    hits: dict[str, int] = field(default_factory=dict)
    by_second: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def records(self) -> int:
        return sum(records for records, _ in self.by_second.values())

    @property
    def fraud_records(self) -> int:
        return sum(fraud for _, fraud in self.by_second.values())

    def take(self, topic: str, key: str, value: str) -> None:
        if topic == FRAUD_TOPIC:
            self.fraud[value] += 1
        elif topic == HITS_TOPIC:
            self.hits[key] = int(value)
        else:
            counted = json.loads(value)
            self.by_second[int(key)] = (counted["records"], counted["fraud"])


class Results:
    """Reads the three topics from their beginning; committed records only."""

    def __init__(self, servers: str) -> None:
        self.figures = Figures()
        self._ended: set[tuple[str, int]] = set()
        self._consumer: Any = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "demo",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        topics = self._consumer.list_topics(timeout=TIMEOUT_S).topics
        self._places = [
            TopicPartition(topic, partition, 0)
            for topic in (FRAUD_TOPIC, HITS_TOPIC, SHARE_TOPIC)
            for partition in topics[topic].partitions
        ]
        self._consumer.assign(self._places)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def read(self, seconds: float) -> None:
        """Take in what comes within this time."""
        for message in self._consumer.consume(5_000, seconds):
            place = (message.topic(), message.partition())
            if message.error() is None:
                self._ended.discard(place)
                key = (message.key() or b"").decode()
                self.figures.take(message.topic(), key, message.value().decode())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                self._ended.add(place)
            else:
                raise KafkaException(message.error())

    def read_rest(self) -> None:
        """Read on until the end of every partition was seen once more."""
        self._ended.clear()
        for place in self._consumer.position(self._places):
            self._consumer.seek(place)
        until = time.monotonic() + TIMEOUT_S
        while len(self._ended) < len(self._places) and time.monotonic() < until:
            self.read(0.2)
