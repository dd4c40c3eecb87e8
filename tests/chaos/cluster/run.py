"""One run: a cluster, its clients, and a nemesis; then calm, the last read, and the verdict.

After each fault everything is mended and must come back into sync before the next. At the end the
clients go on for a while in calm: whoever lives on and gets nothing done is stuck. Then the input
must drain, and every journal goes to the history checker.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.cluster import availability
from tests.chaos.cluster.availability import Strike
from tests.chaos.cluster.crew import PROBERS, ClusterCrew, slots
from tests.chaos.cluster.faults import FAULTS, Fault, Scene, possible
from tests.chaos.cluster.hunting import Hunter, Nobody
from tests.chaos.cluster.network import choose_network
from tests.chaos.cluster.report import Verdict
from tests.chaos.cluster.systems import Cluster, build_cluster
from tests.chaos.cluster.topics import INPUT, KEYS, OUTPUT, TOPICS, create_topics
from tests.chaos.exactly_once.client import now_ms
from tests.chaos.exactly_once.reader import Reader
from tests.chaos.exactly_once.values import balance
from tests.chaos.history.check import check
from tests.chaos.history.journal import Journal, load
from tests.chaos.history.progress import Healed

QUIET_SECONDS = 3.0
IN_SYNC_SECONDS = 60
START_SECONDS = 90
STEP_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and to whom."""

    seconds: float
    seed: int
    system: str = "headrace"
    brokers: int = 3
    kinds: tuple[str, ...] = tuple(FAULTS)
    script: tuple[str, ...] = ()  # these faults, once each, instead of a choice for `seconds`
    network: str = "auto"
    java: bool = True
    session_timeout_ms: int = 6000
    rest_seconds: tuple[float, float] = (2.0, 6.0)  # between two faults
    calm_seconds: float = 20
    drain_seconds: float = 180


class Nemesis:
    """Strikes, mends, rests; the seed decides."""

    def __init__(self, cluster: Cluster, crew: ClusterCrew, plan: Plan) -> None:
        self._crew = crew
        self._plan = plan
        self._cluster = cluster
        self._scene = Scene(
            cluster, Hunter(cluster), random.Random(plan.seed), plan.session_timeout_ms
        )
        self._faults = possible(cluster, list(plan.kinds))
        self.strikes: list[Strike] = []

    def run(self) -> None:
        self._scene.hunter.await_in_sync(TOPICS, IN_SYNC_SECONDS)
        self.rest()
        if self._plan.script:
            for name in self._plan.script:
                self._strike(name, self._faults[name])
            return
        deadline = time.monotonic() + self._plan.seconds
        while time.monotonic() < deadline:
            # Each fault once before any comes again: an hour holds about a hundred of them.
            round_of = list(self._faults)
            self._scene.rng.shuffle(round_of)
            for name in round_of:
                if time.monotonic() < deadline:
                    self._strike(name, self._faults[name])

    def _strike(self, name: str, fault: Fault) -> None:
        began_ms = now_ms()
        try:
            target = fault(self._scene)
        except Nobody as nobody:
            target = f"not found: {nobody}"
        self._cluster.mend()
        whole = self._scene.hunter.await_in_sync(TOPICS, IN_SYNC_SECONDS)
        strike = Strike(name, target, began_ms, now_ms())
        self.strikes.append(strike)
        seconds = (strike.ended_ms - began_ms) / 1000
        remark = "" if whole else f"; not in sync after {IN_SYNC_SECONDS} s"
        sys.stderr.write(f"# {name}: {target}; {seconds:.1f} s{remark}\n")
        sys.stderr.flush()
        self.rest()

    def rest(self) -> None:
        self.watch(self._scene.rng.uniform(*self._plan.rest_seconds))

    def watch(self, seconds: float) -> None:
        """Let the clients work; those that ended by themselves begin anew."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._crew.start_missing()
            time.sleep(STEP_SECONDS)


def run(folder: Path, plan: Plan) -> Verdict:
    """Carry out the plan; journals and the nodes' output stay in the folder."""
    journals = folder / "journals"
    journals.mkdir(parents=True)
    network = choose_network(plan.network)
    cluster = build_cluster(
        plan.system,
        network,
        folder / "cluster",
        brokers=plan.brokers,
        session_timeout_ms=plan.session_timeout_ms,
    )
    crew = ClusterCrew(cluster.bootstrap, journals, slots(java=plan.java))
    began = time.monotonic()
    try:
        cluster.start()
        create_topics(cluster.bootstrap)
        crew.await_success(START_SECONDS)
        nemesis = Nemesis(cluster, crew, plan)
        nemesis.run()
        healed = _calm(nemesis, crew, plan)
        for kind in ("prober", "javaprobe", "feeder", "watcher"):
            crew.dismiss(kind)
        values = _drain(cluster.bootstrap, journals, crew, plan)
        for kind in ("worker", "javacopy", "reader"):
            crew.dismiss(kind)
    finally:
        crew.close()
        cluster.close()
    history = load(sorted(journals.glob("*.jsonl")))
    return Verdict(
        system=plan.system,
        network=network.name,
        brokers=plan.brokers,
        seed=plan.seed,
        seconds=time.monotonic() - began,
        strikes=nemesis.strikes,
        gaps=availability.gaps(history, PROBERS),
        operations=len(history),
        committed=sum(map(len, values.values())),
        ledger=balance(values[INPUT], values[OUTPUT]),
        findings=check(history, healed=healed),
        restarts=crew.ended_by_themselves,
        last_words=crew.last_words(),
    )


def _calm(nemesis: Nemesis, crew: ClusterCrew, plan: Plan) -> Healed:
    """Everything is whole: whoever lives now and still lives at the end must go on."""
    crew.start_missing()
    at_ms, alive = now_ms(), crew.processes()
    nemesis.watch(plan.calm_seconds)
    return Healed(at_ms, alive & crew.processes())


def _drain(bootstrap: str, folder: Path, crew: ClusterCrew, plan: Plan) -> dict[str, list[str]]:
    """Read everything until each input has its output and nothing more comes, or time is up."""
    values: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    deadline = time.monotonic() + plan.drain_seconds
    last = time.monotonic()
    with Journal(folder / "final.jsonl", "final") as journal:
        reader = Reader(bootstrap, journal, KEYS)
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
    return values
