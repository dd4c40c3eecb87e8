"""The named folder of a run: its lock, its checkpoints, what it last told.

    <state>/<name>/lock          held while the pipeline runs; the kernel drops it with the process
                   run.json      the last report, replaced as a whole
                   failure.txt   all that Spark said about the last failure
                   stop          present when somebody asks the run to stop
                   checkpoints/  one folder per query, written by Spark
                   broker/       the records of the embedded broker, if there is one
                   spark.log     what Spark said, unless --debug shows it

Whether a run lives is asked of the lock and of nothing else, so a process id that has been given
to another program is never mistaken for it. For the same reason a run is stopped by a file that it
looks for, not by a signal to a number.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from headrace.errors import HeadraceError

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_LOCK_TRIES: Final = 20
_LOCK_PAUSE_S: Final = 0.05  # whoever lists runs holds each lock for a moment
_MAX_REPORT_BYTES: Final = 1 << 20


class RunRefused(HeadraceError):
    """The folder cannot be used as asked; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run tells about itself."""

    name: str
    pipeline: str = ""
    state: str = "running"  # running, stopped, ended, failed; killed if it could not say
    pid: int = 0
    master: str = ""
    bootstrap_servers: str = ""
    checkpoints: str = ""
    started_at: str = ""
    restarts: int = 0
    cause: str = ""
    queries: list[dict[str, Any]] = field(default_factory=list)  # the last QueryProgress of each


class RunFolder:
    """One folder under the state folder."""

    def __init__(self, root: Path, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise RunRefused(
                f'"{name}" is not a name for a run; use up to 100 letters, digits, "_", "-" and "."'
            )
        self.name = name
        self.path = root.absolute() / name
        self.checkpoints = self.path / "checkpoints"
        self.broker_data = self.path / "broker"
        self.spark_log = self.path / "spark.log"
        self.failure = self.path / "failure.txt"
        self._lock = self.path / "lock"
        self._report = self.path / "run.json"
        self._stop = self.path / "stop"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run's lock, or refuse because somebody else does."""
        self.path.mkdir(parents=True, exist_ok=True)
        with self._lock.open("a") as handle:
            if not _try_lock(handle.fileno()):
                pid = self.read_report().pid
                raise RunRefused(
                    f'"{self.name}" is running already (process {pid}); '
                    f"stop it with headrace run --stop {self.name}, or choose another --name"
                )
            self._stop.unlink(missing_ok=True)
            yield

    def remove_unless_used(self) -> None:
        """Leave no trace of a run that came to nothing before Spark was started."""
        if not (self._report.exists() or self.checkpoints.exists() or self.spark_log.exists()):
            shutil.rmtree(self.path, ignore_errors=True)

    @property
    def running(self) -> bool:
        try:
            with self._lock.open() as handle:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    @property
    def stop_requested(self) -> bool:
        return self._stop.exists()

    def request_stop(self, timeout_s: float, sleep: Callable[[float], None] = time.sleep) -> None:
        """Ask the run to stop and return when it has."""
        if not self.path.is_dir():
            raise RunRefused(f'there is no run "{self.name}"; see headrace run --list')
        if not self.running:
            raise RunRefused(f'"{self.name}" is not running')
        self._stop.touch()
        pause_s = 0.1
        for _ in range(max(1, int(timeout_s / pause_s))):
            if not self.running:
                self._stop.unlink(missing_ok=True)
                return
            sleep(pause_s)
        raise RunRefused(
            f'"{self.name}" has not stopped within {timeout_s:.0f} s; '
            f"look at its process {self.read_report().pid}"
        )

    def write_report(self, report: RunReport) -> None:
        """Replace the report; a reader sees the old one or the new one."""
        unfinished = self._report.with_suffix(".tmp")
        unfinished.write_text(json.dumps(asdict(report), indent=2), encoding="utf-8")
        os.replace(unfinished, self._report)

    def read_report(self) -> RunReport:
        """The last report; an empty one if there is none that can be read."""
        empty = RunReport(self.name, state="stopped")
        try:
            with self._report.open(encoding="utf-8") as file:
                told = json.loads(file.read(_MAX_REPORT_BYTES))
            return RunReport(**{**told, "name": self.name})
        except (OSError, ValueError, TypeError):
            return empty

    def reset(self) -> list[str]:
        """Remove the checkpoints, so that the next run begins anew; returns the queries."""
        if not self.path.is_dir():
            raise RunRefused(f'there is no run "{self.name}"; see headrace run --list')
        with self.locked():
            report = self.read_report()
            if report.checkpoints not in ("", str(self.checkpoints)):
                raise RunRefused(
                    f'the checkpoints of "{self.name}" are in {report.checkpoints}; '
                    "remove them there"
                )
            removed = self.queries()
            if self.checkpoints.exists():
                shutil.rmtree(self.checkpoints)
            self.write_report(replace(report, queries=[], state=_without_run(report.state)))
        return removed

    def queries(self) -> list[str]:
        """The queries that have a checkpoint here."""
        if not self.checkpoints.is_dir():
            return []
        return sorted(each.name for each in self.checkpoints.iterdir() if each.is_dir())


def list_runs(root: Path) -> list[RunReport]:
    """What every run of this state folder last told, with the state that its lock proves."""
    reports = []
    for path in sorted(root.iterdir()) if root.is_dir() else []:
        if not (path / "lock").is_file() or not _NAME.fullmatch(path.name):
            continue
        folder = RunFolder(root, path.name)
        running = folder.running
        report = folder.read_report()
        state = "running" if running else _without_run(report.state)
        reports.append(replace(report, state=state))
    return reports


def _without_run(state: str) -> str:
    """A run that says it runs while nobody holds its lock had no time to say more."""
    return "killed" if state == "running" else state


def _try_lock(descriptor: int) -> bool:
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
        else:
            return True
    return False
