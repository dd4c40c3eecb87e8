"""Takes records from a consumer group into blocks, and tells the group only what is safe.

`collect`, `store` and `acknowledge` are the three steps of a block, in this order: whatever dies
between two of them is what the failure drills look at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from examples.leaving import leave
from examples.receiver.blocks import Block, BlockManager
from examples.receiver.write_ahead_log import WriteAheadLog

POLL_S: Final = 0.2
MAX_RECORDS: Final = 1_000


class BlockNames:
    """Names in the order of arrival, unique among the threads of a driver and its successors."""

    def __init__(self, driver: int) -> None:
        self._driver = driver
        self._count = 0
        self._lock = threading.Lock()

    def next(self) -> str:
        with self._lock:
            self._count += 1
            return f"{self._driver:06}-{self._count:09}"


@dataclass(slots=True)
class Receiver:
    """One member of the group."""

    consumer: Consumer
    blocks: BlockManager
    names: BlockNames
    log: WriteAheadLog | None = None

    def collect(self, timeout_s: float = POLL_S) -> Block | None:
        """Records that have come within this time; they are nowhere else yet."""
        messages = self.consumer.consume(MAX_RECORDS, timeout_s)
        for message in messages:
            if message.error() is not None:
                raise KafkaException(message.error())
        if not messages:
            return None
        return Block(
            self.names.next(),
            tuple((_bytes(message.key()), _bytes(message.value())) for message in messages),
            {(str(m.topic()), int(m.partition() or 0)): int(m.offset() or 0) + 1 for m in messages},
        )

    def store(self, block: Block) -> None:
        """To the log, if there is one, and into the memory of two executors.

        In this order: a block in memory may be processed, and taken from the log, at once.
        """
        if self.log is not None:
            self.log.append(block)
        self.blocks.store(block)

    def acknowledge(self, block: Block) -> None:
        """From here on the group counts these records as read."""
        reached = [TopicPartition(*place, offset) for place, offset in block.positions.items()]
        self.consumer.commit(offsets=reached, asynchronous=False)

    def receive(self) -> bool:
        """All three steps; false if nothing came."""
        block = self.collect()
        if block is None:
            return False
        self.store(block)
        self.acknowledge(block)
        return True


def _bytes(part: Any) -> bytes | None:
    return part if part is None else bytes(part)


def join_group(servers: str, group: str, topic: str) -> Consumer:
    """A consumer that never commits by itself."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 500,  # how soon a receiver notices another one
        }
    )
    consumer.subscribe([topic])
    return consumer


class ReceiverStream:
    """Receiver threads, and the records they hold: a stream of (key, value) in batches."""

    def __init__(
        self,
        servers: str,
        group: str,
        topics: Mapping[str, int],
        *,
        blocks: BlockManager | None = None,
        log: WriteAheadLog | None = None,
    ) -> None:
        self.blocks = blocks or BlockManager()
        self._log = log
        self._stop = threading.Event()
        self.faults: list[BaseException] = []
        self._recovered = log.blocks() if log is not None else []
        driver = 1 + max((int(block.id[:6]) for block in self._recovered), default=0)
        names = BlockNames(driver)
        self._threads = [
            threading.Thread(
                target=self._run,
                args=(lambda t=topic: join_group(servers, group, t), names),
                name=f"receiver-{topic}-{number}",
            )
            for topic, threads in topics.items()
            for number in range(threads)
        ]

    @property
    def receivers(self) -> int:
        return len(self._threads)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self.faults:
            raise self.faults[0]

    def _run(self, join: Callable[[], Consumer], names: BlockNames) -> None:
        consumer = join()
        receiver = Receiver(consumer, self.blocks, names, self._log)
        try:
            while not self._stop.is_set():
                receiver.receive()
        except BaseException as fault:
            self.faults.append(fault)
        finally:
            leave(consumer)

    def take(self) -> list[Block]:
        """The blocks of the next batch; first of all, once, what an earlier driver had logged."""
        recovered, self._recovered = self._recovered, []
        return recovered or self.blocks.pending()

    def done(self, batch: list[Block]) -> None:
        """The batch is processed: nobody needs its blocks any more."""
        for block in batch:
            self.blocks.drop(block.id)
            if self._log is not None:
                self._log.remove(block.id)
