"""Two thousand records without keys, sent without waiting, dealt to the partitions in turn.

    python -m examples.clients.demo_producer [-b HOST:PORT]

The settings are those of two Java programs, under their Java names: what librdkafka does not know
of them is said and left out. The producer is closed once, after the last record.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from confluent_kafka import KafkaError, Producer

from examples.java_settings import open_client
from examples.topics import broker, named_servers, provide

TOPIC: Final = "test1"
RECORDS: Final = 2_000
STRING: Final = "org.apache.kafka.common.serialization.StringSerializer"
FLUSH_TIMEOUT_S: Final = 30.0


class Program(NamedTuple):
    """Settings and texts of one of the two programs."""

    settings: Mapping[str, str]
    first: int
    text: str


JAVA: Final = Program(
    {
        "acks": "all",
        "retries": "1",
        "batch.size": "20000",
        "linger.ms": "1",
        "buffer.memory": "24568545",
    },
    0,
    "Hello this is record {}",
)
SCALA: Final = Program(
    {
        "client.id": "SampleProducer",
        "acks": "all",
        "retries": "1",
        "batch.size": "16384",
        "linger.ms": "1",
        "buffer.memory": "133554432",
    },
    1,
    "Hello this is record{}",
)


def produce(servers: str, program: Program = JAVA) -> list[str]:
    """Send all records; returns the errors of those that were not taken."""
    producer = open_client(
        Producer,
        {
            "bootstrap.servers": servers,
            "key.serializer": STRING,
            "value.serializer": STRING,
            **program.settings,
        },
    )
    errors: list[str] = []

    def on_delivery(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            errors.append(error.str())

    partitions = len(producer.list_topics(TOPIC, FLUSH_TIMEOUT_S).topics[TOPIC].partitions)
    for number in range(program.first, program.first + RECORDS):
        producer.produce(
            TOPIC,
            program.text.format(number),
            partition=number % partitions,
            on_delivery=on_delivery,
        )
    left = producer.flush(FLUSH_TIMEOUT_S)
    producer.close()
    return errors + ["time-out"] * left


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with broker(named_servers(__doc__)) as servers:
        provide(TOPIC, partitions=4)
        errors = produce(servers)
    print(f"{RECORDS - len(errors)} records sent to {TOPIC}")


if __name__ == "__main__":
    main()
