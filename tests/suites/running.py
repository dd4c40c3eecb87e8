"""What all suites share: results, their report, and programs that end within their time.

A result is PASS, FAIL, SKIP (the test itself declined) or TIMEOUT. A report prints one line per
test as it ends and a summary. Knows no suite.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.kafka.toolchain import cache_dir

_LAST_LINES = 25


class Result(StrEnum):
    PASS = "PASS"
    FAIL = "FAIL"
    SKIP = "SKIP"
    TIMEOUT = "TIMEOUT"


Results = dict[str, Result]


class SuiteFailed(Exception):
    """The suite itself could not be fetched, built or run; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """The broker under test; without its folder, checks that read log files are skipped."""

    bootstrap: str
    data_dir: Path | None = None


def say(text: str) -> None:
    """A word to the person who waits; results alone go to standard output."""
    sys.stderr.write(f"# {text}\n")
    sys.stderr.flush()


def need(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise SuiteFailed(f"install {', '.join(missing)}: not found on the PATH")


def log_folder(suite: str) -> tuple[str, Path]:
    """A name for this run that no other has, and a folder for its logs."""
    run = f"{time.strftime('%m%d%H%M%S')}-{os.getpid()}-{time.monotonic_ns() % 1000:03d}"
    folder = cache_dir() / "logs" / f"{suite}-{run}"
    folder.mkdir(parents=True)
    return run, folder


def must(
    command: Sequence[str | Path],
    log: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """A step of preparation: its output goes to the log, whose end is told when it fails."""
    words = [str(word) for word in command]
    with log.open("ab") as out:
        done = subprocess.run(
            words, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd, env=env
        )
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_LAST_LINES:])
        raise SuiteFailed(f"{tail}\nfailed: {' '.join(words)} (log: {log})")


def timed(
    command: Sequence[str | Path],
    log: Path,
    timeout_seconds: float,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes | None = None,
) -> tuple[int | None, float]:
    """Run a program with its output appended to the log: exit code, None if too slow; seconds.

    It leads a process group, so that nothing of it is left afterwards, children included.
    """
    began = time.monotonic()
    with log.open("ab") as out:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
        try:
            process.communicate(stdin, timeout_seconds)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return code, time.monotonic() - began


class Report:
    """Collects results and prints each as it comes; several threads may add."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.results: Results = {}
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def add(self, test: str, result: Result, seconds: float, note: str = "") -> None:
        with self._lock:
            self.results[test] = result
            sys.stdout.write(f"{test} {result} {seconds:.1f}" + (f"  {note}\n" if note else "\n"))
            sys.stdout.flush()

    def finish(self) -> Results:
        """Print the summary; the answer is every result."""
        seconds = time.monotonic() - self._began
        sys.stdout.write(f"{self.title}: {totals(self.results)}; {seconds:.0f} s\n")
        sys.stdout.flush()
        return self.results


def totals(results: Results) -> str:
    counts = collections.Counter(results.values())
    words = ", ".join(f"{counts[result]} {result}" for result in Result)
    return f"{len(results)} tests: {words}"


def write_results(path: Path, results: Results) -> None:
    path.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")


def read_results(path: Path) -> Results:
    return {test: Result(result) for test, result in json.loads(path.read_text()).items()}


def exit_code(results: Results) -> int:
    """0 if nothing failed, as a suite that is run alone ends."""
    return 1 if {Result.FAIL, Result.TIMEOUT} & set(results.values()) else 0
