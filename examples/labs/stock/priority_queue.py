"""Important stocks overtake the others.

    python -m examples.labs.stock.priority_queue

The producer's partitioner keeps a partition for important stocks. Here each partition is assigned
by hand to a consumer in a thread of its own; the important one has five workers behind it, the
others have their one thread. Important prices that come last are done before the backlog is.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from examples.cluster.lab import say
from examples.labs.reading import MEMBER_SETTINGS, Record, partition_numbers, record_of
from examples.labs.staging import await_so, check, expect, on_broker
from examples.labs.stock.market import draft_of
from examples.labs.stock.price import PARTITIONS, StockPrice
from examples.topics import create_topic, send
from headrace.testing import Broker

TOPIC: Final = "stock-prices-priority"
WORKERS: Final = 5
BACKLOG: Final = 250
IMPORTANT: Final = 50
WORK_S: Final = 0.004


class Desk:
    """Processes prices, slowly, and remembers in which order it was done."""

    def __init__(self) -> None:
        self.done: list[Record] = []
        self._lock = threading.Lock()

    def process(self, record: Record) -> None:
        time.sleep(WORK_S)
        with self._lock:
            self.done.append(record)


def read_partition(
    servers: str, partition: int, workers: int, desk: Desk, stop: threading.Event
) -> None:
    """The work of one thread: a partition of its own, and some workers for it."""
    settings: dict[str, Any] = {**MEMBER_SETTINGS, "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": servers, "group.id": TOPIC, **settings})
    consumer.assign([TopicPartition(TOPIC, partition, 0)])
    with ThreadPoolExecutor(workers) as pool:
        while not stop.is_set():
            messages = consumer.consume(50, 0.1)
            for message in messages:
                if (error := message.error()) is not None:
                    raise KafkaException(error)
            list(pool.map(desk.process, [record_of(message) for message in messages]))
    consumer.close()


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    create_topic(servers, TOPIC, partitions=PARTITIONS)
    say(f"A backlog of {BACKLOG} prices of GOOG; {IMPORTANT} of IBM, which is important, after it")
    send(servers, TOPIC, [draft_of(StockPrice(450, 10, "GOOG"))] * BACKLOG)
    send(servers, TOPIC, [draft_of(StockPrice(70, 10, "IBM"))] * IMPORTANT)

    probe = Consumer({"bootstrap.servers": servers, "group.id": TOPIC})
    numbers = partition_numbers(probe, TOPIC)
    probe.close()
    workers = dict.fromkeys(numbers, 1) | {numbers[-1]: WORKERS}
    print(f"a thread for each partition; workers by partition: {workers}")
    desk, stop = Desk(), threading.Event()
    threads = [
        threading.Thread(target=read_partition, args=(servers, number, count, desk, stop))
        for number, count in workers.items()
    ]
    for thread in threads:
        thread.start()
    try:
        await_so(lambda: len(desk.done) >= BACKLOG + IMPORTANT, "all prices are processed")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    names = [record.name for record in desk.done]
    expect((names.count("GOOG"), names.count("IBM")), (BACKLOG, IMPORTANT), "each of them once")
    last = max(place for place, name in enumerate(names) if name == "IBM")
    waiting = names[last:].count("GOOG")
    check(waiting > 0, f"IBM was done while {waiting} older prices of GOOG still waited")


if __name__ == "__main__":
    on_broker(story)
