"""A producer that never gives up, and knows for how long it was kept waiting.

It keeps one record in flight per partition, so the time between two acknowledgements of a
partition is the time for which that partition did not serve it.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType

from confluent_kafka import KafkaError, Message, Producer

_POLL_S = 0.01
_END_TIMEOUT_S = 60


class UnbrokenProducer:
    """Sends from a thread of its own until the `with` block is left."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._waiting = set(range(partitions))
        self._acknowledged: dict[int, list[float]] = {each: [] for each in range(partitions)}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 0,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 10,
                "retry.backoff.max.ms": 200,
                "topic.metadata.refresh.fast.interval.ms": 50,
                "log_level": 0,
            }
        )

    def __enter__(self) -> UnbrokenProducer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._thread.join(_END_TIMEOUT_S)

    def run(self, seconds: float) -> None:
        """Let it send for a while."""
        time.sleep(seconds)

    def longest_gap_s(self) -> float:
        """The longest wait of any partition, one that still goes on included."""
        now = time.monotonic()
        gaps = (
            after - before
            for times in self._acknowledged.values()
            for before, after in zip(times, [*times[1:], now], strict=False)
        )
        return max(gaps, default=0.0)

    def _send(self) -> None:
        while not self._ending.is_set():
            for partition in sorted(self._waiting):
                self._waiting.discard(partition)
                self._producer.produce(
                    self._topic, b"x" * 100, partition=partition, on_delivery=self._on_delivery
                )
            self._producer.poll(_POLL_S)
        self._producer.purge()
        self._producer.poll(0)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        partition = message.partition()
        if error is None and partition is not None:
            self._acknowledged[partition].append(time.monotonic())
            self._waiting.add(partition)
