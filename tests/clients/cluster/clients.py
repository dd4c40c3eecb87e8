"""librdkafka as applications use it, with what a test wants to know of every message."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer

TIMEOUT_S = 40
_QUIET = {
    "log_level": 0,
    "reconnect.backoff.max.ms": 500,
    # Who is frozen keeps its connections: only a time-out tells.
    "socket.timeout.ms": 2000,
    "topic.metadata.refresh.interval.ms": 2000,
}


class Writer:
    """A producer that remembers what was acknowledged, and why something was not."""

    def __init__(self, bootstrap: str, topic: str, **settings: Any) -> None:
        chosen = {"acks": "all", "enable.idempotence": True, "linger.ms": 2}
        chosen |= {name.replace("_", "."): value for name, value in settings.items()}
        self.producer = Producer({"bootstrap.servers": bootstrap, **_QUIET, **chosen})
        self.topic = topic
        self.acknowledged: list[bytes] = []
        self.failed: list[KafkaError] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged.append(message.value() or b"")
        else:
            self.failed.append(error)

    def write(self, *values: bytes, **where: Any) -> None:
        """Write and wait for the answers."""
        for value in values:
            self.producer.produce(self.topic, value, on_delivery=self._on_delivery, **where)
        assert self.producer.flush(TIMEOUT_S) == 0, "no answer"

    def begin(self, *, per_second: int = 500) -> Writer:
        """Write without end, from a thread of its own."""

        def run() -> None:
            number = 0
            while not self._stop.is_set():
                self.producer.produce(
                    self.topic, b"%d" % number, b"%d" % number, on_delivery=self._on_delivery
                )
                self.producer.poll(0)
                number += 1
                self._stop.wait(1 / per_second)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        return self

    def end(self) -> None:
        """Write no more, and wait for the answers."""
        assert self._thread is not None
        self._stop.set()
        self._thread.join(TIMEOUT_S)
        assert self.producer.flush(TIMEOUT_S) == 0, "no answer"

    def await_progress(self, count: int = 200) -> None:
        """Return when so many more have been acknowledged."""
        wanted = len(self.acknowledged) + count
        deadline = time.monotonic() + TIMEOUT_S
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < deadline, f"no progress; failed: {self.failed[:3]}"
            self._stop.wait(0.01)


def read_all(bootstrap: str, topic: str, wanted: int, **settings: Any) -> Counter[bytes]:
    """What a consumer without history finds in a topic, until it has found so many values."""
    chosen = {"group.id": f"readers-of-{topic}", "auto.offset.reset": "earliest"}
    chosen |= {name.replace("_", "."): value for name, value in settings.items()}
    consumer = Consumer({"bootstrap.servers": bootstrap, **_QUIET, **chosen})
    consumer.subscribe([topic])
    found: Counter[bytes] = Counter()
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while len(found) < wanted and time.monotonic() < deadline:
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    found[message.value() or b""] += 1
    finally:
        consumer.close()
    return found
