"""A queue under kill -9: one broker, many share consumers that misbehave, and an account of it."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.testing import Broker
from tests.chaos.queue.journal import read
from tests.chaos.queue.progress import start_offsets
from tests.chaos.queue.verdict import Verdict, gather, judge
from tests.chaos.queue.worker import GROUP, TOPIC
from tests.clients.share.group_settings import configure
from tests.kafka.toolchain import spawn

LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class Plan:
    """What is to happen."""

    records: int
    consumers: int
    seed: int
    partitions: int = 4
    rest_seconds: tuple[float, float] = (0.5, 3.0)  # between two kills
    lock_seconds: float = 3.0
    delivery_limit: int = 5
    broker_kills: int = 0
    most_seconds: float = 900


@dataclass
class Outcome:
    verdict: Verdict
    kills: int
    seconds: float
    drained: bool


class Crew:
    """The consumers: each slot has a process, and gets another one when that has died."""

    def __init__(self, plan: Plan, bootstrap: str, folder: Path) -> None:
        self._plan = plan
        self._bootstrap = bootstrap
        self._folder = folder
        self._lives = 0
        self._running: list[subprocess.Popen[bytes]] = []
        self.kills = 0

    def fill(self) -> None:
        """Replace those who have died."""
        self._count_the_dead()
        while len(self._running) < self._plan.consumers:
            self._running.append(self._start())

    def _start(self) -> subprocess.Popen[bytes]:
        self._lives += 1
        words = [
            self._bootstrap,
            str(self._folder / f"{self._lives}.journal"),
            str(self._plan.seed * 1000 + self._lives),
            str(self._plan.lock_seconds),
        ]
        with (self._folder / "workers.err").open("ab") as err:
            return spawn(
                [sys.executable, "-m", "tests.chaos.queue.worker", *words], stdout=err, stderr=err
            )

    def _count_the_dead(self) -> None:
        alive = [each for each in self._running if each.poll() is None]
        self.kills += len(self._running) - len(alive)
        self._running = alive

    def kill(self, at: int) -> None:
        victim = self._running[at % len(self._running)]
        victim.kill()
        victim.wait()

    def dismiss(self) -> None:
        self._count_the_dead()
        for each in self._running:
            each.terminate()
        for each in self._running:
            try:
                each.wait(20)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()


def prepare(plan: Plan, bootstrap: str) -> dict[int, int]:
    """Make topic, group and records; returns how many records each partition has."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, plan.partitions, 1)])[TOPIC].result(20)
    configure(
        bootstrap,
        GROUP,
        share_auto_offset_reset="earliest",
        share_record_lock_duration_ms=str(int(plan.lock_seconds * 1000)),
        share_delivery_count_limit=str(plan.delivery_limit),
    )
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "batch.num.messages": 50})
    ends = dict.fromkeys(range(plan.partitions), 0)
    for number in range(plan.records):
        partition = number % plan.partitions
        ends[partition] += 1
        producer.produce(TOPIC, str(number).encode(), partition=partition)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0, "the records could not be sent"
    return ends


@contextmanager
def _broker(data: Path) -> Iterator[Broker]:
    properties = {
        "group.share.min.record.lock.duration.ms": "1000",
        "group.share.heartbeat.interval.ms": "1000",
        "group.share.min.heartbeat.interval.ms": "500",
        "share.coordinator.state.topic.num.partitions": "4",
    }
    with Broker(properties, data=data) as broker:
        yield broker


def run(plan: Plan, folder: Path) -> Outcome:
    """Let it happen; ends when every record is done, or when that takes too long."""
    chance = random.Random(plan.seed)
    journals = folder / "journals"
    journals.mkdir(parents=True)
    with _broker(folder / "data") as broker:
        ends = prepare(plan, broker.bootstrap_servers)
        crew = Crew(plan, broker.bootstrap_servers, journals)
        began = time.monotonic()
        next_kill = began + chance.uniform(*plan.rest_seconds)
        broker_kills = plan.broker_kills
        drained = False
        try:
            while not drained and time.monotonic() - began < plan.most_seconds:
                crew.fill()
                time.sleep(LOOK_SECONDS)
                if time.monotonic() >= next_kill:
                    next_kill = time.monotonic() + chance.uniform(*plan.rest_seconds)
                    if broker_kills and chance.random() < 0.5:
                        broker_kills -= 1
                        broker.kill()
                        broker.start()
                    else:
                        crew.kill(chance.randrange(plan.consumers))
                drained = start_offsets(broker.bootstrap_servers, GROUP, TOPIC) == ends
        finally:
            crew.dismiss()
        seconds = time.monotonic() - began
    fates = gather(read(path) for path in sorted(journals.glob("*.journal")))
    verdict = judge(
        plan.records,
        fates,
        limit=plan.delivery_limit,
        kills=crew.kills,
        broker_killed=plan.broker_kills > 0,
    )
    return Outcome(verdict, crew.kills, seconds, drained)
