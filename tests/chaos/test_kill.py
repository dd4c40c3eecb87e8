"""kill -9 at random moments under idempotent load: nothing acknowledged is lost, doubled or moved.

The producer is librdkafka with idempotence on and endless retries, so every record that it was
handed must end up in the log exactly once, in order, and where the acknowledgement said.
`HEADRACE_SEED` repeats a run; `HEADRACE_KILLS` makes it longer.
"""

from __future__ import annotations

import os
import random
import threading
from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from headrace.testing import Broker

KILLS = int(os.environ.get("HEADRACE_KILLS", "15"))
PARTITIONS = 3
TOPIC = "killed"


class Load:
    """Hands numbered records to a producer until it is stopped, and notes what was acknowledged."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.sent = [0] * PARTITIONS
        self.acknowledged: dict[int, dict[int, int]] = defaultdict(dict)  # partition: value: offset
        self.failures: list[str] = []
        self._stop = threading.Event()
        self._progress = threading.Semaphore(0)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "message.timeout.ms": 0,
                "reconnect.backoff.ms": 1,
                "reconnect.backoff.max.ms": 20,
                "retry.backoff.ms": 1,
                "retry.backoff.max.ms": 20,
                "topic.metadata.refresh.fast.interval.ms": 20,
                "queue.buffering.max.messages": 2000,
                "error_cb": self._on_error,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self.failures.append(f"fatal: {error}")
            self._stop.set()

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        value = int(message.value() or b"-1")
        partition = message.partition()
        assert partition is not None
        if error is not None:
            self.failures.append(f"{partition}/{value}: {error}")
            return
        offset = message.offset()
        assert offset is not None
        self.acknowledged[partition][value] = offset
        self._progress.release()

    def _run(self) -> None:
        while not self._stop.is_set():
            for partition in range(PARTITIONS):
                value = str(self.sent[partition]).encode()
                try:
                    self._producer.produce(
                        TOPIC, value, partition=partition, on_delivery=self._on_delivery
                    )
                except BufferError:
                    self._producer.poll(0.01)
                    continue
                self.sent[partition] += 1
            self._producer.poll(0)

    def await_acknowledgements(self, count: int) -> None:
        """Return when `count` more records were acknowledged."""
        for _ in range(count):
            assert self._progress.acquire(timeout=30), f"no progress: {self.failures[:5]}"

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0, "records were left in the producer"


def read_everything(bootstrap_servers: str) -> dict[int, list[tuple[int, int]]]:
    """(offset, value) of every record by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    try:
        ends: dict[int, int] = {}
        for index in range(PARTITIONS):
            _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, index), timeout=30)
            ends[index] = end
        consumer.assign([TopicPartition(TOPIC, index, 0) for index in ends])
        while any(len(found[index]) < end for index, end in ends.items()):
            messages = [consumer.poll(10), *consumer.consume(5000, timeout=0)]
            assert messages[0] is not None, "the log ends before its watermark"
            for message in messages:
                assert message is not None
                assert message.error() is None, message.error()
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                found[partition].append((offset, int(message.value() or b"-1")))
    finally:
        consumer.close()
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_under_idempotent_load(tmp_path: Path) -> None:
    """Every acknowledged record survives every kill, once, in order, at its offset."""
    seed = int(os.environ.get("HEADRACE_SEED", random.randrange(1 << 32)))
    rng = random.Random(seed)
    properties = {
        "log.segment.bytes": 1 << 20,  # rolls happen between kills too
        "log.flush.offset.checkpoint.interval.ms": 200,
    }
    broker = Broker(properties, data=tmp_path / "data")
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
            future.result(30)
        load = Load(broker.bootstrap_servers)
        for _ in range(KILLS):
            load.await_acknowledgements(rng.randint(1, 5000))
            broker.kill()
            broker.start()
        load.finish()
        found = read_everything(broker.bootstrap_servers)
    message = f"HEADRACE_SEED={seed}"
    assert not load.failures, f"{message}: {load.failures[:5]}"
    assert min(load.sent) > KILLS, f"{message}: too little load to prove anything: {load.sent}"
    for partition in range(PARTITIONS):
        records = found[partition]
        assert [offset for offset, _ in records] == list(range(len(records))), message
        assert [value for _, value in records] == list(range(load.sent[partition])), message
        assert load.acknowledged[partition] == {value: offset for offset, value in records}, message
