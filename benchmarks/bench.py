"""One run of the benchmarks: the two brokers, how often, how large, and what has been measured.

The cases say what to do with a broker; this module sees to it that both get the same treatment in
turn (A B A B …) and that nothing of a run is left behind.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.brokers import Broker, Launcher
from benchmarks.clients import JavaClients
from benchmarks.clusters import Cluster
from benchmarks.table import Row, Sample, Samples, format_value

Pair = tuple[Broker, Broker]
_SYNC_TIMEOUT_S = 300


class Bench:
    """What every case is given."""

    def __init__(
        self,
        launchers: tuple[Launcher, Launcher],
        java: JavaClients,
        folder: Path,
        *,
        scale: float,
        repetitions: int,
    ) -> None:
        self.launchers = launchers
        self.java = java
        self.scale = scale
        self.repetitions = range(repetitions)
        self._folder = folder
        self._names = itertools.count()
        self._began = time.monotonic()
        self._measured: dict[Row, Samples] = {}

    @property
    def measured(self) -> list[Samples]:
        return list(self._measured.values())

    def scaled(self, full: int, *, at_least: int) -> int:
        """A count at this run's scale, but never so small that it measures only the start."""
        return max(at_least, round(full * self.scale))

    @contextmanager
    def broker(self, launcher: Launcher, settings: Mapping[str, str]) -> Iterator[Broker]:
        """A broker on an empty folder, not started yet; gone with its data afterwards."""
        folder = self._folder / f"{next(self._names)}-{launcher.name}"
        broker = Broker(launcher, folder, settings)
        try:
            yield broker
        finally:
            broker.close()

    @contextmanager
    def cluster(self, launcher: Launcher, settings: Mapping[str, str]) -> Iterator[Cluster]:
        """Three brokers, started; gone with their data afterwards."""
        folder = self._folder / f"{next(self._names)}-{launcher.name}-cluster"
        cluster = Cluster(launcher, folder, settings)
        try:
            self.say(f"starting three brokers of {launcher.name}")
            cluster.start()
            yield cluster
        finally:
            cluster.close()

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """An empty folder, gone afterwards."""
        folder = self._folder / f"{next(self._names)}-scratch"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def pair(self, settings: Mapping[str, str] | None = None) -> Iterator[Pair]:
        """Both brokers, started. The one that is not measured idles, in either turn."""
        ours, theirs = self.launchers
        with self.broker(ours, settings or {}) as a, self.broker(theirs, settings or {}) as b:
            for broker in (a, b):
                self.say(f"starting {broker.name}")
                broker.start()
            yield a, b
            for broker in (a, b):
                broker.stop()

    def alternate(
        self,
        pair: Pair,
        row: Row,
        measure: Callable[[Broker], Sample],
        *,
        warm_up: Callable[[Broker], object] | None = None,
    ) -> None:
        """Measure both in turn, as often as this run repeats.

        A warm-up is the same load on both, uncounted and at every scale of the same size: a JVM
        that has not compiled a path yet is slower on it than for the rest of its life.
        """
        if warm_up is not None:
            for broker in pair:
                self.say(f"warming {broker.name} up: {row.case}, {row.label}")
                warm_up(broker)
        for _ in self.repetitions:
            for broker in pair:
                self.settle()
                self.record(row, broker.name, measure(broker))

    def settle(self) -> None:
        """Let the disk finish what the previous measurement left, so that the next does not pay."""
        subprocess.run(["sync", "-f", str(self._folder)], check=True, timeout=_SYNC_TIMEOUT_S)

    def record(self, row: Row, side: str, sample: Sample) -> None:
        samples = self._measured.setdefault(row, Samples(row))
        samples.of(side).append(sample)
        done = len(samples.of(side))
        values = (f"{metric.key} {format_value(sample[metric.key])}" for metric in row.metrics)
        self.say(
            f"{row.case}, {row.label}: {side} {done}/{len(self.repetitions)}: {', '.join(values)}"
        )

    def say(self, what: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        print(f"[{minutes:02}:{seconds:02}] {what}", flush=True)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Cases that share the life of their brokers; `run` measures those whose names it is given."""

    rows: tuple[Row, ...]
    run: Callable[[Bench, Collection[str]], None]

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.case for row in self.rows))
