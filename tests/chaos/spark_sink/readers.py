"""A reader of committed records, which has no word in what the sink does."""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from tests.chaos.exactly_once.client import IMPATIENT
from tests.chaos.spark_sink.values import GUARANTEES, PARTITIONS, Book

AT_ONCE = 10_000
POLL_SECONDS = 0.2
AUDIT_SECONDS = 120


class Reader:
    """Reads what comes out of both queries, from the start on, into their books."""

    def __init__(self, bootstrap: str) -> None:
        self.books = {name: Book(name) for name in GUARANTEES}
        self._at_end: set[tuple[str, int]] = set()
        self._consumer = Consumer(
            {
                **IMPATIENT,
                "bootstrap.servers": bootstrap,
                "group.id": "nobody",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "fetch.error.backoff.ms": 50,
            }
        )
        places = [(name, number) for name in GUARANTEES for number in range(PARTITIONS)]
        self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])
        self._places = len(places)

    def poll(self) -> int:
        """Take what has come; returns how many rows that was."""
        rows = 0
        for message in self._consumer.consume(AT_ONCE, POLL_SECONDS):
            error = message.error()
            topic, partition, value = message.topic(), message.partition(), message.value()
            assert topic is not None
            assert partition is not None
            if error is None:
                assert value is not None
                self.books[topic].cross_off(int(value))
                rows += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self._at_end.add((topic, partition))
            elif not error.retriable():
                raise AssertionError(f"reading {topic}: {error}")
        return rows

    def read_to_the_end(self) -> None:
        """Until every partition has shown its end and nothing more came after."""
        deadline = time.monotonic() + AUDIT_SECONDS
        while self.poll() or len(self._at_end) < self._places:
            assert time.monotonic() < deadline, "the outputs do not come to their end"

    def close(self) -> None:
        self._consumer.close()
