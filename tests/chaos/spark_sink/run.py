"""One chaos run: rows go in, two queries pass them on, the nemesis kills, a reader keeps books.

A strike and the recovery from it is a run of its own: it is over when all rows that had been handed
in by then have come out, and whatever came out twice is its fault.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.chaos.exactly_once.brokers import Victim
from tests.chaos.spark_sink.feeder import Feeder
from tests.chaos.spark_sink.readers import Reader
from tests.chaos.spark_sink.values import EXACT, PARTITIONS, TOPICS
from tests.chaos.spark_sink.victims import Driver

FIRST_ROWS_SECONDS = 120
TOPIC_TIMEOUT_SECONDS = 30
SAY_EVERY_SECONDS = 20
# How often each is struck: a driver takes the longest to come back.
WEIGHTS = {"driver": 3, "executor": 5, "broker": 4}
STRIKES = tuple(WEIGHTS)
# A task may fail three times before its query does.
MASTER = "local[2,4]"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to kill, how often, and how fast rows go in meanwhile."""

    runs: int
    seed: int
    strikes: Sequence[str] = ()  # these, in this order; otherwise the seed draws them
    master: str = MASTER
    java_options: str = ""
    rows_per_second: int = 400
    rest_seconds: tuple[float, float] = (0.0, 1.5)
    recovery_seconds: float = 150
    spare_broker: bool = False


@dataclass(slots=True)
class Verdict:
    """What the runs showed."""

    runs: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    rows: int = 0
    repeated: int = 0  # by the query that may
    slowest_recovery_seconds: float = 0
    last_words: str = ""

    def __str__(self) -> str:
        kills = ", ".join(f"{count} x {name}" for name, count in self.runs.most_common())
        lines = [
            f"{self.runs.total()} runs ({kills}), {self.rows} rows",
            f"slowest recovery {self.slowest_recovery_seconds:.1f} s; "
            f"{self.repeated} rows repeated by the at-least-once query",
            *self.faults,
        ]
        return "\n".join(lines)


class Stage:
    """Broker, driver, feeder and reader of one chaos run."""

    def __init__(self, broker: Victim, folder: Path, plan: Plan) -> None:
        self._broker = broker
        self._plan = plan
        self._rng = random.Random(plan.seed)
        self._driver = Driver(broker.bootstrap_servers, folder, plan.master, plan.java_options)
        self._reader = Reader(broker.bootstrap_servers)
        self._feeder = Feeder(broker.bootstrap_servers, rows_per_second=plan.rows_per_second)
        self.verdict = Verdict()

    def go(self) -> None:
        self._driver.start()
        if not self._recovered(FIRST_ROWS_SECONDS, "the start"):
            return
        began = said = time.monotonic()
        for number in range(self._plan.runs):
            name = self._choose(number)
            if not self._strike(name):
                return
            self.verdict.runs[name] += 1
            if time.monotonic() - said > SAY_EVERY_SECONDS:
                said = time.monotonic()
                _say(f"{number + 1} of {self._plan.runs} runs, {said - began:.0f} s")
        self._settle()

    def close(self) -> None:
        self.verdict.last_words = self._driver.last_words()
        self._driver.close()
        self._reader.close()
        self._feeder.end()

    def _choose(self, number: int) -> str:
        if self._plan.strikes:
            return self._plan.strikes[number % len(self._plan.strikes)]
        names = [name for name in STRIKES if name != "broker" or not self._plan.spare_broker]
        return self._rng.choices(names, [WEIGHTS[name] for name in names])[0]

    def _strike(self, name: str) -> bool:
        """One run; False if the queries did not come back from it."""
        self._watch_until(time.monotonic() + self._rng.uniform(*self._plan.rest_seconds))
        began = time.monotonic()
        strike: dict[str, Callable[[], None]] = {
            "driver": self._kill_driver,
            "executor": self._kill_executor,
            "broker": self._kill_broker,
        }
        strike[name]()
        recovered = self._recovered(self._plan.recovery_seconds, f"a kill of the {name}")
        seconds = time.monotonic() - began
        self.verdict.slowest_recovery_seconds = max(self.verdict.slowest_recovery_seconds, seconds)
        return recovered

    def _kill_driver(self) -> None:
        self._driver.kill()
        self._driver.start()

    def _kill_executor(self) -> None:
        while not self._driver.kill_executor(self._rng):
            self._watch_until(time.monotonic() + 0.1)  # a new JVM has no workers yet

    def _kill_broker(self) -> None:
        self._broker.kill()
        time.sleep(self._rng.choice((0.0, 0.0, 0.5, 2.0)))
        self._broker.start()

    def _watch_until(self, moment: float) -> None:
        while time.monotonic() < moment:
            self._reader.poll()

    def _recovered(self, seconds: float, after: str) -> bool:
        """Wait until all that is in by now is out, in both topics; note what is out twice."""
        wanted = self._feeder.count
        deadline = time.monotonic() + seconds
        books = self._reader.books.values()
        while min(book.complete_below() for book in books) < wanted:
            if time.monotonic() > deadline:
                self.verdict.faults.append(f"no recovery from {after} within {seconds:.0f} s")
                return False
            self._reader.poll()
            if self._driver.ensure_running():
                _say(f"the driver ended by itself after {after}")
        exact = self._reader.books[EXACT]
        if exact.doubled:
            self.verdict.faults.append(f"after {after}: {exact.faults(wanted)}")
        return not exact.doubled

    def _settle(self) -> None:
        """No more rows: let all come out, then read everything once more with fresh eyes."""
        rows = self._feeder.end()
        self.verdict.rows = rows
        if not self._recovered(self._plan.recovery_seconds, "the last kill"):
            return
        self._driver.kill()
        audit = Reader(self._broker.bootstrap_servers)
        audit.read_to_the_end()
        audit.close()
        for book in audit.books.values():
            self.verdict.faults += book.faults(rows)
            self.verdict.repeated += 0 if book.name == EXACT else book.doubled


def run(broker: Victim, folder: Path, plan: Plan) -> Verdict:
    """Carry the plan out; logs and checkpoints are left in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    broker.start()
    try:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        topics = [NewTopic(topic, PARTITIONS, 1) for topic in TOPICS]
        for future in admin.create_topics(topics).values():
            future.result(TOPIC_TIMEOUT_SECONDS)
        stage = Stage(broker, folder, plan)
        try:
            stage.go()
        finally:
            stage.close()
        return stage.verdict
    finally:
        broker.kill()


def _say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()
