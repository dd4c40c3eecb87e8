"""The processes of a Spark application, found and killed by their ids.

A driver is a Python program, its JVM, the executors' JVMs where they are processes of their own,
and the Python workers of each. Linux only: they are found in /proc.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.kafka.toolchain import spawn

PROC = Path("/proc")
PARENT_FIELD, BEGAN_FIELD = 1, 19  # of /proc/<pid>/stat, after the command's name in brackets
PYTHON = " -m pyspark."  # what all Python processes run that Spark starts
# Tasks, the planners of sources, and executors where they are processes of their own.
EXECUTING = ("pyspark.daemon pyspark.worker", "streaming_source_runner", "ExecutorBackend")


class Process(NamedTuple):
    """A process; the moment of its start tells it from a later one with the same id."""

    pid: int
    parent: int
    began: int
    command: str

    @property
    def lives(self) -> bool:
        now = look_up(self.pid)
        return now is not None and now.began == self.began

    def kill(self) -> None:
        if self.lives:
            os.kill(self.pid, signal.SIGKILL)


def look_up(pid: int) -> Process | None:
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        command = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return None
    words = command.decode(errors="replace")
    return Process(pid, int(fields[PARENT_FIELD]), int(fields[BEGAN_FIELD]), words)


def descendants(pid: int) -> list[Process]:
    """All processes below this one."""
    children: dict[int, list[Process]] = defaultdict(list)
    for entry in os.listdir(PROC):
        if entry.isdigit() and (process := look_up(int(entry))) is not None:
            children[process.parent].append(process)
    found, waiting = [], [pid]
    while waiting:
        below = children[waiting.pop()]
        found += below
        waiting += [process.pid for process in below]
    return found


class Driver:
    """The application of `driver.py`, which can be killed in parts and as a whole."""

    def __init__(self, bootstrap: str, folder: Path, master: str, java_options: str) -> None:
        module = "tests.chaos.spark_sink.driver"
        self._command = [sys.executable, "-m", module, bootstrap, str(folder), master]
        self._command += [java_options] if java_options else []
        self._log = folder / "driver.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._orphans: list[Process] = []

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = spawn(self._command, stdout=log, stderr=log)

    def ensure_running(self) -> bool:
        """Start it again if it has ended by itself; whether it had."""
        if self._process is not None and self._process.poll() is None:
            return False
        self.start()
        return True

    def kill(self) -> None:
        """Kill the program and its JVM at once. Python workers notice by themselves, a bit later:
        until then they are zombies that may still be writing."""
        assert self._process is not None
        below = descendants(self._process.pid)
        self._orphans += below
        self._process.kill()
        for process in below:
            if PYTHON not in process.command:
                process.kill()
        self._process.wait()
        self._process = None

    def kill_executor(self, rng: random.Random) -> bool:
        """Kill an executor or some of the Python processes; whether there was any."""
        assert self._process is not None
        below = [
            process
            for process in descendants(self._process.pid)
            if any(words in process.command for words in EXECUTING)
        ]
        if not below:
            return False
        # Most of them idle at any moment: only the death of all is sure to hit one at work.
        for process in rng.sample(below, min(len(below), rng.choice((1, 2, len(below))))):
            process.kill()
        return True

    def close(self) -> None:
        """Leave nothing behind."""
        if self._process is not None:
            self.kill()
        for process in self._orphans:
            process.kill()

    def last_words(self) -> str:
        return self._log.read_text(errors="replace")[-3000:] if self._log.exists() else ""
