"""A client that takes all that it is given: `python -m benchmarks.greedy_client LOAD`.

It produces, or consumes, as fast as librdkafka can, and counts from the moment it is told to go.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from confluent_kafka import Consumer, Producer, TopicPartition

_VALUE = bytes(1_000)


@dataclass(frozen=True, slots=True)
class GreedyLoad:
    """`settle_s` is how long it may take what it can before it says READY."""

    bootstrap: str
    client_id: str
    topic: str
    verb: str
    settle_s: float
    measured_s: float

    def to_argument(self) -> str:
        return json.dumps(asdict(self))


class _Meter:
    def __init__(self, load: GreedyLoad) -> None:
        self._load = load
        self._ready_at = time.monotonic() + load.settle_s
        self._end = 0.0
        self._bytes = 0

    def count(self, size: int) -> bool:
        """Whether to go on."""
        now = time.monotonic()
        if self._end:
            self._bytes += size if now < self._end else 0
            return now < self._end
        if now >= self._ready_at:
            print("READY", flush=True)
            sys.stdin.readline()
            self._end = time.monotonic() + self._load.measured_s
        return True

    def tell(self) -> None:
        print(json.dumps({"bytes_per_s": self._bytes / self._load.measured_s}), flush=True)


def _produce(load: GreedyLoad, count: Callable[[int], bool]) -> None:
    producer = Producer(
        {
            "bootstrap.servers": load.bootstrap,
            "client.id": load.client_id,
            "linger.ms": 5,
            "batch.size": 100_000,
            "queue.buffering.max.messages": 20_000,
            "message.timeout.ms": 120_000,
        }
    )
    goes_on = True

    def delivered(error: object, message: object) -> None:
        nonlocal goes_on
        if error is None:
            goes_on = count(len(_VALUE)) and goes_on

    while goes_on:
        try:
            producer.produce(load.topic, _VALUE, on_delivery=delivered)
        except BufferError:
            producer.poll(0.05)
        producer.poll(0)
    producer.purge()
    producer.flush(10)


def _consume(load: GreedyLoad, count: Callable[[int], bool]) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": load.bootstrap,
            "client.id": load.client_id,
            "group.id": load.client_id,
            "fetch.wait.max.ms": 100,
        }
    )
    partition = TopicPartition(load.topic, 0, 0)
    consumer.assign([partition])
    position = 0
    goes_on = True
    while goes_on:
        for message in consumer.consume(500, 0.2):
            if message.error() is None:
                position = (message.offset() or 0) + 1
                goes_on = count(len(message.value() or b"")) and goes_on
        if 0 < consumer.get_watermark_offsets(partition, cached=True)[1] <= position:
            # Read it once more: what it reads does not matter.
            consumer.seek(TopicPartition(load.topic, 0, 0))
            position = 0
    consumer.close()


def main() -> None:
    load = GreedyLoad(**json.loads(sys.argv[1]))
    meter = _Meter(load)
    {"produce": _produce, "consume": _consume}[load.verb](load, meter.count)
    meter.tell()


if __name__ == "__main__":
    main()
