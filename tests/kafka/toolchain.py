"""The programs that tests lean on: found, fetched into the cache, started, stopped.

Everything that a test downloads or builds lands once in ``${HEADRACE_CACHE:-.cache}`` and is
found there by every later run. A program that the machine lacks skips the test with the
sentence that mends it; a download that fails is a failure. Knows nothing of Kafka.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FETCH_TIMEOUT_SECONDS = 600
STOP_TIMEOUT_SECONDS = 30
PR_SET_PDEATHSIG = 1

REMEDIES = {
    "java": "install a JDK of at least version 17 (Debian: openjdk-17-jdk-headless)",
    "mvn": "install Maven (Debian: maven)",
    "node": "install Node.js of at least version 18 (Debian: nodejs)",
    "npm": "install npm (Debian: npm)",
    "go": "install Go of at least version 1.26",
    "apt-get": "install what the test names, as this system has no apt-get to fetch it with",
    "dpkg": "install what the test names, as this system has no dpkg to unpack it with",
}


def need(program: str) -> str:
    """The path of `program`; skips the test, with the remedy, where there is none."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"no {program} on the PATH: {REMEDIES[program]}")
    return path


def cache_dir() -> Path:
    """Where fetched and built things live between runs."""
    root = Path(os.environ.get("HEADRACE_CACHE") or REPOSITORY / ".cache").resolve()
    root.mkdir(parents=True, exist_ok=True)
    return root


def fetched(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache, filled on first use.

    `fill` works on a neighbour that is renamed when it is complete, so an interrupted download
    is never mistaken for a finished one; the lock keeps two test runs from doing it twice.
    """
    folder = cache_dir() / name
    with _locked(cache_dir() / f"{name}.lock"):
        if not folder.exists():
            unfinished = cache_dir() / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            fill(unfinished)
            unfinished.rename(folder)
    return folder


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_seconds: float = FETCH_TIMEOUT_SECONDS,
) -> bytes:
    """Run a program to its end and return what it printed; fails with its last words."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=cwd,
        env=None if env is None else {**os.environ, **env},
        input=stdin,
        capture_output=True,
        timeout=timeout_seconds,
        check=False,
        preexec_fn=_die_with_parent,
    )
    if done.returncode != 0:
        last_words = (done.stdout + done.stderr).decode(errors="replace")[-2000:]
        raise AssertionError(f"{words[0]} ended with {done.returncode}:\n{last_words}")
    return done.stdout


def spawn(
    command: Sequence[str | Path],
    *,
    stderr: IO[bytes] | int,
    stdin: int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.PIPE,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program that does not outlive the tests, whatever ends them; `user` runs it."""
    return subprocess.Popen(
        [str(word) for word in command],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=None if env is None else {**os.environ, **env},
        user=user,
        extra_groups=None if user is None else [],
        preexec_fn=_die_with_parent,
    )


def stop(process: subprocess.Popen[bytes], *, kill: bool = False) -> None:
    """End a program by its process id, gently unless `kill`, and wait until it is gone."""
    process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_TIMEOUT_SECONDS)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
