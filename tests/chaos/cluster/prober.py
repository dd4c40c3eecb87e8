"""A prober: one record in flight per partition, all the time.

Whatever delays a partition delays the acknowledgement of its one record and nothing else, so the
journal shows how long each partition was unavailable to an idempotent producer with acks=all.
"""

from __future__ import annotations

from confluent_kafka import KafkaError, Message, Producer

from tests.chaos.cluster.topics import PARTITIONS, PROBE
from tests.chaos.exactly_once.client import IMPATIENT, Life, begin_life, now_ms
from tests.chaos.history.operation import Kind, Outcome, Record

PAUSE_SECONDS = 0.05
LAST_WAIT_SECONDS = 30


class Prober:
    def __init__(self, life: Life) -> None:
        self._life = life
        self._count = 0
        self._in_flight: dict[int, tuple[int, Record]] = {}
        self._producer = Producer(
            {
                **IMPATIENT,
                "bootstrap.servers": life.bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 0,
            }
        )

    def run(self) -> None:
        while not self._life.asked_to_end.is_set():
            for partition in range(PARTITIONS):
                if partition not in self._in_flight:
                    self._send(partition)
            self._producer.poll(PAUSE_SECONDS)
            self._life.asked_to_end.wait(PAUSE_SECONDS)
        self._producer.flush(LAST_WAIT_SECONDS)

    def _send(self, partition: int) -> None:
        self._count += 1
        record = Record(f"{PROBE}/{partition}", None, f"{self._life.process}.{self._count}")
        number = self._life.journal.begin(Kind.SEND, now_ms(), sent=[record])
        self._in_flight[partition] = number, record
        self._producer.produce(
            PROBE, record.value.encode(), partition=partition, on_delivery=self._on_delivery
        )

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        partition = message.partition()
        assert partition is not None
        number, record = self._in_flight.pop(partition)
        if error is None:
            record = record._replace(offset=message.offset())
        outcome = Outcome.OK if error is None else Outcome.INFO
        self._life.journal.end(number, outcome, now_ms(), sent=[record])


if __name__ == "__main__":
    Prober(begin_life()).run()
