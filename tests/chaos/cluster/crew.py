"""The clients of a run: librdkafka's and Java's, each a process that may die and begin anew.

SLOT        WHAT IT DOES
prober      idempotent, acks=all, one record in flight per partition (librdkafka)
javaprobe   the same with the Java client
feeder      fills the input, idempotent (librdkafka)
worker      copies input to output in transactions, as a member of a group (librdkafka)
javacopy    the same with the Java client, in the same group
reader      follows every partition with read_committed
watcher     looks at high watermarks and committed offsets
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.chaos.exactly_once import crew
from tests.kafka.apache_kafka import classpath, java_command
from tests.kafka.toolchain import run

SOURCE = Path(__file__).resolve().parent / "java" / "Chaos.java"
HERE = "tests.chaos.cluster"
MODULES = {"prober": HERE, "reader": HERE, "watcher": HERE, "feeder": crew.PACKAGE}
JAVA_VERBS = {"javaprobe": "probe", "javacopy": "copy"}
ENOUGH_SUCCESSES = 5
PROBERS = {"prober": "librdkafka", "javaprobe": "java"}


class ClusterCrew(crew.Crew):
    """A crew some of whose members are Java programs."""

    def __init__(self, bootstrap: str, folder: Path, slots: list[str]) -> None:
        super().__init__(bootstrap, folder, "classic", slots)
        self._java: list[str] = []
        if any(slot.startswith("java") for slot in slots):
            jars, classes = classpath(), folder / "classes"
            run(["javac", "-cp", jars, "-d", classes, SOURCE])
            self._java = java_command(f"{classes}:{jars}", "Chaos", heap_mb=96)

    def _program(self, kind: str) -> list[str]:
        if kind in JAVA_VERBS:
            return [*self._java, JAVA_VERBS[kind]]
        return [sys.executable, "-m", f"{MODULES.get(kind, crew.PACKAGE)}.{kind}"]

    def processes(self) -> set[str]:
        """The lives that go on at this moment."""
        return {
            f"{slot}.{self._lives[slot]}"
            for slot, process in self._running.items()
            if process.poll() is None
        }

    def await_success(self, seconds: float) -> None:
        """Until every client has got something done: only then a fault can interrupt it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.start_missing()
            if all(self._succeeded(slot) for slot in self._lives):
                return
            time.sleep(0.1)
        quiet = [slot for slot in self._lives if not self._succeeded(slot)]
        raise TimeoutError(f"{', '.join(quiet)} did nothing in {seconds} s:\n{self.last_words()}")

    def _succeeded(self, slot: str) -> bool:
        journal = self._folder / f"{slot}.{self._lives[slot]}.jsonl"
        # An assignment or a subscription alone is no success: sends, polls and looks are.
        done = journal.read_bytes().count(b'"outcome":"ok"') if journal.exists() else 0
        return done >= ENOUGH_SUCCESSES


def slots(*, java: bool) -> list[str]:
    ours = ["prober-0", "feeder-0", "worker-0", "worker-1", "reader-0", "watcher-0"]
    return [*ours, "javaprobe-0", "javacopy-0"] if java else ours
