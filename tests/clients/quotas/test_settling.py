"""Clients of librdkafka that want all they can get: their rate settles at their quota."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.clients.quotas.requests import limited_to
from tests.clients.raw import Connection

QUOTA: Final = 1_000_000
# Two windows of a second forget what was allowed at the beginning.
SETTLES_S: Final = 2.5
MEASURED_S: Final = 4.0
# A machine that halts a client for a while gives it the right to catch up: another look, then.
LOOKS: Final = 6
VALUE: Final = bytes(1_000)


class Meter:
    """The rate of each look, after the clients have settled."""

    def __init__(self) -> None:
        self._began = time.monotonic() + SETTLES_S
        self._bytes = [0] * LOOKS
        self.is_over = threading.Event()

    def count(self, size: int) -> None:
        look = math.floor((time.monotonic() - self._began) / MEASURED_S)
        if look >= LOOKS:
            self.is_over.set()
        elif look >= 0:
            self._bytes[look] += size

    def await_rate(self, look: int) -> float:
        """The rate of this look, when it is over."""
        time_left = self._began + (look + 1) * MEASURED_S - time.monotonic()
        self.is_over.wait(max(0.0, time_left))
        return self._bytes[look] / MEASURED_S


def write_all_the_time(bootstrap: str, client_id: str, topic: str, meter: Meter) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            "linger.ms": 5,
            "batch.size": 50_000,
            "queue.buffering.max.messages": 2_000,
        }
    )

    def delivered(error: object, message: object) -> None:
        if error is None:
            meter.count(len(VALUE))

    while not meter.is_over.is_set():
        try:
            producer.produce(topic, VALUE, on_delivery=delivered)
        except BufferError:
            producer.poll(0.05)
        producer.poll(0)
    producer.purge()
    producer.flush(5)


def read_all_the_time(bootstrap: str, client_id: str, topic: str, meter: Meter) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            "group.id": client_id,
            "fetch.wait.max.ms": 100,
            "fetch.message.max.bytes": 100_000,
            # What is fetched in advance would be counted when this thread gets round to it.
            "queued.min.messages": 1,
            "fetch.queue.backoff.ms": 10,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    while not meter.is_over.is_set():
        for message in consumer.consume(100, 0.2):
            assert message.error() is None
            meter.count(len(VALUE))
    consumer.close()


@pytest.mark.spec("slides:M08", "slides:M10", "admin:MO-08")
def test_rates_settle_at_their_quotas(
    connection: Connection, limited: str, new_topic: Callable[..., str]
) -> None:
    """A producer and a consumer at full speed, each within 5 % of its quota."""
    written, read = new_topic(), new_topic()
    feed = Producer({"bootstrap.servers": limited, "batch.size": 20_000})
    for _ in range(int(1.2 * QUOTA / len(VALUE) * (SETTLES_S + LOOKS * MEASURED_S))):
        feed.produce(read, VALUE)
        feed.poll(0)
    assert feed.flush(20) == 0
    writer, reader = f"{written}-writer", f"{read}-reader"
    meters = {writer: Meter(), reader: Meter()}
    with (
        limited_to(connection, {"client-id": writer}, producer_byte_rate=QUOTA),
        limited_to(connection, {"client-id": reader}, consumer_byte_rate=QUOTA),
    ):
        threads = [
            threading.Thread(
                target=write_all_the_time, args=(limited, writer, written, meters[writer])
            ),
            threading.Thread(
                target=read_all_the_time, args=(limited, reader, read, meters[reader])
            ),
        ]
        for thread in threads:
            thread.start()
        seen = []
        for look in range(LOOKS):
            seen.append({client: meter.await_rate(look) for client, meter in meters.items()})
            if all(0.95 * QUOTA < rate < 1.05 * QUOTA for rate in seen[-1].values()):
                break
        for meter in meters.values():
            meter.is_over.set()
        for thread in threads:
            thread.join(30)
    rates = seen[-1].values()
    assert all(0.95 * QUOTA < rate < 1.05 * QUOTA for rate in rates), seen
