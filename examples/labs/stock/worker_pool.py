"""One consumer, many workers; the consumer commits what they have finished.

    python -m examples.labs.stock.worker_pool

Records go to a pool of threads, which finish them in any order. The consumer's thread, the only one
that may touch the consumer, commits for each partition the offset below which all is finished. The
application stops in the middle, and its successor begins exactly at what was not finished.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from examples.labs.reading import MEMBER_SETTINGS, Record, committed, record_of
from examples.labs.staging import check, expect, on_broker
from examples.labs.stock.market import open_market
from examples.labs.stock.progress import PartitionProgress
from examples.leaving import leave
from headrace.testing import Broker

TOPIC: Final = "stock-prices-workers"
GROUP: Final = "stock-workers"
PRICES: Final = 400
WORKERS: Final = 5


class WorkerPoolConsumer:
    """Hands records to workers and commits their progress."""

    def __init__(self, servers: str, work: Callable[[Record], None]) -> None:
        settings: dict[str, Any] = {**MEMBER_SETTINGS, "enable.auto.commit": False}
        self.consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP, **settings})
        self.consumer.subscribe([TOPIC])
        self.progress: dict[int, PartitionProgress] = {}
        self._work = work
        self._pool = ThreadPoolExecutor(WORKERS)
        self._finished: queue.SimpleQueue[Record] = queue.SimpleQueue()

    def poll(self) -> None:
        for message in self.consumer.consume(20, 0.05):
            if (error := message.error()) is not None:
                raise KafkaException(error)
            record = record_of(message)
            if record.partition not in self.progress:
                self.progress[record.partition] = PartitionProgress(record.offset)
            self._pool.submit(self._process, record)

    def _process(self, record: Record) -> None:
        self._work(record)
        self._finished.put(record)  # only after the work: a failed record is never committed

    def process_commits(self) -> None:
        """Called by the consumer's thread: commit how far each partition is finished."""
        while not self._finished.empty():
            record = self._finished.get()
            self.progress[record.partition].finish(record.offset)
        offsets = [TopicPartition(TOPIC, *each) for each in self.committable().items()]
        if offsets:
            self.consumer.commit(offsets=offsets, asynchronous=False)

    def committable(self) -> dict[int, int]:
        """By partition, the offset below which all is finished."""
        return {number: each.committable for number, each in self.progress.items()}

    def stop(self) -> None:
        """Without a last commit for work that is not finished."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        leave(self.consumer)


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    open_market(servers, TOPIC, PRICES)
    done: list[Record] = []
    lock = threading.Lock()
    chance = Random(6)

    def work(record: Record) -> None:
        time.sleep(chance.uniform(0, 0.004))
        with lock:
            done.append(record)

    say(f"One consumer, {WORKERS} workers; it stops in the middle, work unfinished")
    first = WorkerPoolConsumer(servers, work)
    _run(first, lambda: len(done) > PRICES // 2)
    with lock:
        finished = {(record.partition, record.offset) for record in done}
    first.process_commits()
    order = [record.offset for record in done if record.partition == done[0].partition]
    check(order != sorted(order), "the workers have finished records out of order")
    first.stop()
    offsets = committed(servers, GROUP, TOPIC)
    below = {(number, each) for number, end in offsets.items() for each in range(end)}
    check(below <= finished, "every record below a committed offset was finished")

    say("A successor takes over")
    repeated_from = len(done)
    second = WorkerPoolConsumer(servers, work)
    _run(second, lambda: sum((offsets | second.committable()).values()) == PRICES)
    second.stop()
    expect(sum(committed(servers, GROUP, TOPIC).values()), PRICES, "everything is committed")
    expect(len({record[:2] for record in done}), PRICES, f"all {PRICES} prices were processed")
    again = {record[:2] for record in done[repeated_from:]}
    check(not again & below, "none of those that were committed was processed again")
    print(f"{len(done) - PRICES} were processed twice: finished, but not committed yet")


def _run(consumer: WorkerPoolConsumer, until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        if time.monotonic() > deadline:
            raise LabFailed("the workers did not get their work done")
        consumer.poll()
        consumer.process_commits()


if __name__ == "__main__":
    on_broker(story)
