"""One run: feed and work, let the nemesis loose, heal, drain, and look at what is left.

The nemesis strikes every few seconds: kill -9 of the broker, a worker or a feeder, or a worker
that is frozen for longer than its session and comes back as a zombie. Afterwards everything is
started again and must drain; then the recorded history is checked.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.chaos.exactly_once.brokers import Victim
from tests.chaos.exactly_once.client import SESSION_TIMEOUT_MS
from tests.chaos.exactly_once.crew import Crew
from tests.chaos.exactly_once.reader import Reader
from tests.chaos.exactly_once.values import INPUT, OUTPUT, PARTITIONS, TOPICS, Ledger, balance
from tests.chaos.history.check import check
from tests.chaos.history.finding import Finding
from tests.chaos.history.journal import Journal, load

FROZEN_SECONDS = 1.5 * SESSION_TIMEOUT_MS / 1000
QUIET_SECONDS = 3.0
CLIENT_PAUSE_SECONDS = 0.2
TOPIC_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do to the broker and for how long."""

    seconds: float
    seed: int
    protocol: str = "classic"
    workers: int = 3
    feeders: int = 2
    rest_seconds: tuple[float, float] = (1.0, 4.0)  # between two strikes
    drain_seconds: float = 120
    least_strikes: int = 0  # go on until there were so many, whatever the time
    spare_broker: bool = False  # only clients die


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run showed. `strikes` says whether it was hard enough to prove anything."""

    strikes: Counter[str]
    operations: int
    committed: int
    ledger: Ledger
    findings: list[Finding]
    last_words: str

    @property
    def good(self) -> bool:
        return self.ledger.balanced and not self.findings


class Nemesis:
    """Chooses the next blow; the seed decides."""

    def __init__(self, broker: Victim, crew: Crew, plan: Plan) -> None:
        self._broker = broker
        self._crew = crew
        self._plan = plan
        self._rng = random.Random(plan.seed)
        self.strikes: Counter[str] = Counter()
        self._blows: list[tuple[int, Callable[[], None]]] = [
            (0 if plan.spare_broker else 5, self.kill_broker),
            (4, self.kill_worker),
            (1, self.kill_feeder),
            (1, self.freeze_worker),
        ]

    def strike(self) -> None:
        weights, blows = zip(*self._blows, strict=True)
        blow = self._rng.choices(blows, weights)[0]
        blow()
        self.strikes[blow.__name__] += 1

    def rest(self) -> None:
        """Let the clients work for a while; those that ended by themselves begin anew."""
        until = time.monotonic() + self._rng.uniform(*self._plan.rest_seconds)
        while time.monotonic() < until:
            self._crew.start_missing()
            time.sleep(CLIENT_PAUSE_SECONDS)

    def kill_broker(self) -> None:
        self._broker.kill()
        time.sleep(self._rng.choice((0.0, 0.0, 0.5, 2.0)))
        self._broker.start()

    def kill_worker(self) -> None:
        self._crew.kill(f"worker-{self._rng.randrange(self._plan.workers)}")

    def kill_feeder(self) -> None:
        self._crew.kill(f"feeder-{self._rng.randrange(self._plan.feeders)}")

    def freeze_worker(self) -> None:
        slot = f"worker-{self._rng.randrange(self._plan.workers)}"
        self._crew.freeze(slot)
        time.sleep(FROZEN_SECONDS)
        self._crew.thaw(slot)


def run(broker: Victim, folder: Path, plan: Plan) -> Verdict:
    """Carry out the plan against a broker; journals are left in the folder."""
    broker.start()
    _create_topics(broker.bootstrap_servers)
    slots = [f"worker-{number}" for number in range(plan.workers)]
    slots += [f"feeder-{number}" for number in range(plan.feeders)]
    crew = Crew(broker.bootstrap_servers, folder, plan.protocol, [*slots, "reader-0"])
    nemesis = Nemesis(broker, crew, plan)
    try:
        crew.start_missing()
        until = time.monotonic() + plan.seconds
        nemesis.rest()
        while time.monotonic() < until or nemesis.strikes.total() < plan.least_strikes:
            nemesis.strike()
            nemesis.rest()
        crew.start_missing()
        crew.dismiss("feeder")
        inputs, outputs = _drain(broker.bootstrap_servers, folder, crew, plan)
        crew.dismiss("worker")
        crew.dismiss("reader")
    finally:
        crew.close()
        broker.kill()
    history = load(sorted(folder.glob("*.jsonl")))
    return Verdict(
        strikes=nemesis.strikes,
        operations=len(history),
        committed=len(inputs) + len(outputs),
        ledger=balance(inputs, outputs),
        findings=check(history),
        last_words=crew.last_words(),
    )


def _create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = [NewTopic(topic, PARTITIONS, 1) for topic in TOPICS]
    for future in admin.create_topics(topics).values():
        future.result(TOPIC_TIMEOUT_SECONDS)


def _drain(bootstrap: str, folder: Path, crew: Crew, plan: Plan) -> tuple[list[str], list[str]]:
    """Read everything until each input has its output and nothing more comes, or time is up."""
    values: dict[str, list[str]] = {INPUT: [], OUTPUT: []}
    deadline = time.monotonic() + plan.drain_seconds
    last = time.monotonic()
    with Journal(folder / "final.jsonl", "final") as journal:
        reader = Reader(bootstrap, journal)
        while time.monotonic() < deadline:
            crew.start_missing()
            records = reader.poll()
            for record in records:
                values[record.key.rpartition("/")[0]].append(record.value)
            if records:
                last = time.monotonic()
            quiet = time.monotonic() - last > QUIET_SECONDS
            if quiet and not balance(values[INPUT], values[OUTPUT]).missing:
                break
        reader.close()
    return values[INPUT], values[OUTPUT]
