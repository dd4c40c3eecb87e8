"""A thread for each consumer, five of them, and a flag that stops all.

    python -m examples.labs.stock.thread_per_consumer

A consumer belongs to one thread. That makes order and offsets easy: what a thread has processed it
commits. With three partitions three threads work, two stand by.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException

from examples.cluster.lab import say
from examples.labs.reading import MEMBER_SETTINGS, Record, committed, read_topic, record_of
from examples.labs.staging import await_so, check, expect, on_broker
from examples.labs.stock.market import open_market, trade
from examples.labs.stock.price import PARTITIONS
from examples.leaving import leave
from headrace.testing import Broker

TOPIC: Final = "stock-prices-threads"
GROUP: Final = "stock-threads"
PRICES: Final = 600
THREADS: Final = 5
POLL_S: Final = 0.1


class ConsumerThread(threading.Thread):
    """One consumer and the thread that it lives in."""

    def __init__(self, servers: str, number: int, stop_all: threading.Event) -> None:
        super().__init__(name=f"StockPriceConsumer-{number}")
        self.records: list[Record] = []
        self.partitions: list[int] = []
        self.has_joined = False
        self._servers = servers
        self._stop_all = stop_all

    def run(self) -> None:
        settings: dict[str, Any] = {**MEMBER_SETTINGS, "enable.auto.commit": False}
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": GROUP, **settings})
        consumer.subscribe([TOPIC])
        while not self._stop_all.is_set():
            messages = consumer.consume(100, POLL_S)
            self.has_joined = bool(consumer.memberid())
            self.partitions = sorted(place.partition for place in consumer.assignment())
            for message in messages:
                if (error := message.error()) is not None:
                    raise KafkaException(error)
                self.records.append(record_of(message))
            if messages:
                consumer.commit(asynchronous=False)
        leave(consumer)


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    open_market(servers, TOPIC, 0)
    say(f"{THREADS} threads, {PARTITIONS} partitions")
    stop_all = threading.Event()
    threads = [ConsumerThread(servers, number, stop_all) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        await_so(lambda: _is_shared(threads), "each partition has one thread, two stand by")
        trade(servers, TOPIC, PRICES, seed=1)
        await_so(lambda: _count(threads) >= PRICES, f"{PRICES} prices are read")
    finally:
        stop_all.set()
        for thread in threads:
            thread.join()
    for thread in threads:
        print(f"{thread.name}: {len(thread.records)} prices")
    expect(_count(threads), PRICES, "none of them twice")
    working = [thread for thread in threads if thread.records]
    check(
        all(len({record.partition for record in each.records}) == 1 for each in working),
        "a partition was read by one thread only, so its order is kept",
    )
    ends: dict[int, int] = {}
    for record in read_topic(servers, TOPIC):
        ends[record.partition] = record.offset + 1
    expect(committed(servers, GROUP, TOPIC), ends, "the group has committed all of it")


def _is_shared(threads: list[ConsumerThread]) -> bool:
    held = sorted(number for thread in threads for number in thread.partitions)
    alone = all(len(thread.partitions) <= 1 for thread in threads)
    return alone and held == list(range(PARTITIONS)) and all(each.has_joined for each in threads)


def _count(threads: list[ConsumerThread]) -> int:
    return sum(len(thread.records) for thread in threads)


if __name__ == "__main__":
    on_broker(story)
