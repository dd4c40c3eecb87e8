"""Kafka Streams is only a client: its exactly-once survives restarts over our broker.

`HEADRACE_CHAOS_BROKER=kafka` runs the same test against Apache Kafka, whose broker is spared: a
lone 4.3.1 that is killed with open transactions sometimes never ends them.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.chaos.exactly_once.brokers import victim
from tests.chaos.exactly_once.client import IMPATIENT
from tests.streams.word_count import WordCount

PARTITIONS = 2
VOCABULARY = [f"word{number}" for number in range(40)]
LINES_PER_SECOND = 100
DRAIN_SECONDS = 40


def create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = [NewTopic(topic, PARTITIONS, 1) for topic in ("lines", "counts")]
    for future in admin.create_topics(topics).values():
        future.result(30)


class Author:
    """Writes lines of random words until it is stopped, and counts what it wrote."""

    def __init__(self, bootstrap: str, rng: random.Random) -> None:
        self.counts: Counter[str] = Counter()
        self._rng = rng
        self._stop = threading.Event()
        self._producer = Producer(
            {
                **IMPATIENT,
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
            }
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(1 / LINES_PER_SECOND):
            words = self._rng.choices(VOCABULARY, k=3)
            self._producer.produce("lines", " ".join(words).encode())
            self._producer.poll(0)
            self.counts.update(words)

    def finish(self) -> Counter[str]:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0, "lines were left in the producer"
        return self.counts


def read_counts(bootstrap: str, expected: Counter[str]) -> dict[str, list[int]]:
    """Every committed count by word, until the expected total is there or time is up."""
    consumer = Consumer(
        {
            **IMPATIENT,
            "bootstrap.servers": bootstrap,
            "group.id": "commits-nothing",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition("counts", at, OFFSET_BEGINNING) for at in range(PARTITIONS)])
    counts: dict[str, list[int]] = defaultdict(list)
    deadline = time.monotonic() + DRAIN_SECONDS
    found = 0
    while found < expected.total() and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.5):
            assert message.error() is None, message.error()
            key, value = message.key(), message.value()
            assert key is not None
            assert value is not None
            counts[key.decode()].append(int(value))
            found += 1
    consumer.close()
    return counts


BLOWS = {
    "exactly_once_v2": ("kill", "broker", "close", "broker", "kill"),
    "at_least_once": ("close", "close"),  # what only an orderly end leaves exact
}


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.thorough)]
)
@pytest.mark.spec("slides:E14", "book2:A3-07")
def test_word_count_survives_restarts(tmp_path: Path, guarantee: str) -> None:
    """Restarts in order for both guarantees, kill -9 of application and broker for exactly-once:
    every word is counted 1, 2, 3 … to its exact number.
    """
    seed = int(os.environ.get("HEADRACE_SEED", random.randrange(1 << 32)))
    rng = random.Random(seed)
    kind = os.environ.get("HEADRACE_CHAOS_BROKER", "headrace")
    broker = victim(kind, tmp_path / "data")
    broker.start()
    create_topics(broker.bootstrap_servers)
    application = WordCount(
        broker.bootstrap_servers, tmp_path, source="lines", target="counts", guarantee=guarantee
    )
    author = Author(broker.bootstrap_servers, rng)
    try:
        for blow in BLOWS[guarantee]:
            application.start()
            application.await_running()
            time.sleep(rng.uniform(0.5, 2.5))
            if blow == "broker" and kind == "headrace":
                broker.kill()
                broker.start()
                time.sleep(rng.uniform(0.5, 2.5))
            application.stop(kill=blow != "close")
        application.start()
        expected = author.finish()
        counts = read_counts(broker.bootstrap_servers, expected)
        application.stop()
    finally:
        author.finish()
        application.stop(kill=True)
        broker.kill()
    assert expected.total() > 200, "too few words to prove anything"
    wrong = {
        word: counts[word]
        for word, total in expected.items()
        if counts[word] != list(range(1, total + 1))
    }
    assert not wrong, f"HEADRACE_SEED={seed}\n{application.last_words()}"
