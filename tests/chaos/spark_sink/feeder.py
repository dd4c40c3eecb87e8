"""Writes numbered rows into the input for as long as it is let, through every death of a broker."""

from __future__ import annotations

import threading

from confluent_kafka import Producer

from tests.chaos.exactly_once.client import IMPATIENT
from tests.chaos.spark_sink.values import INPUT, PARTITIONS

PATIENCE_SECONDS = 120


class Feeder:
    """A thread with an idempotent producer; `count` rows have been handed to it so far."""

    def __init__(self, bootstrap: str, *, rows_per_second: int) -> None:
        self.count = 0
        self._pause_seconds = 0.05
        self._rows_per_turn = max(1, round(rows_per_second * self._pause_seconds))
        self._ended = threading.Event()
        self._producer = Producer(
            {
                **IMPATIENT,
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 2,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._pause_seconds):
            for _ in range(self._rows_per_turn):
                value = str(self.count).encode()
                self._producer.produce(INPUT, value, value, self.count % PARTITIONS)
                self.count += 1
            self._producer.poll(0)

    def end(self) -> int:
        """Stop, wait until everything is acknowledged, and say how many rows there are."""
        self._ended.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_SECONDS) == 0, "rows of the input are not acknowledged"
        return self.count
