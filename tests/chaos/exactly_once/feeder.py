"""A feeder: an idempotent producer that writes numbered records and notes their offsets."""

from __future__ import annotations

import functools

from confluent_kafka import Producer

from tests.chaos.exactly_once.client import IMPATIENT, Deliveries, Life, begin_life, now_ms
from tests.chaos.exactly_once.values import INPUT, key_of, split_key
from tests.chaos.history.operation import Kind, Outcome, Record

BATCH = 10
PAUSE_SECONDS = 0.1
PATIENCE_SECONDS = 600


def main() -> None:
    life = begin_life()
    producer = Producer(
        {
            **IMPATIENT,
            "bootstrap.servers": life.bootstrap,
            "enable.idempotence": True,
            "message.timeout.ms": 0,
            "linger.ms": 2,
        }
    )
    count = 0
    while not life.asked_to_end.wait(PAUSE_SECONDS):
        values = [f"{life.process}.{count + number}" for number in range(BATCH)]
        count += BATCH
        _send(life, producer, values)


def _send(life: Life, producer: Producer, values: list[str]) -> None:
    records = [Record(key_of(INPUT, value), None, value) for value in values]
    number = life.journal.begin(Kind.SEND, now_ms(), sent=records)
    deliveries = Deliveries(records)
    for at, record in enumerate(records):
        topic, partition = split_key(record.key)
        on_delivery = functools.partial(deliveries.on_delivery, at)
        producer.produce(topic, record.value.encode(), partition=partition, on_delivery=on_delivery)
    unsent = producer.flush(PATIENCE_SECONDS)
    complete = unsent == 0 and all(record.offset is not None for record in deliveries.records)
    outcome = Outcome.OK if complete else Outcome.INFO
    life.journal.end(number, outcome, now_ms(), sent=deliveries.records)


if __name__ == "__main__":
    main()
