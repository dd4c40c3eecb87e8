"""A database server of a test run: started on a free port, gone with the tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.kafka.toolchain import spawn, stop

HOST = "127.0.0.1"
NOBODY = "nobody"
START_TIMEOUT_SECONDS = 60
POLL_SECONDS = 0.02
ATTEMPTS = 3  # another program may take the port before the server has it


@dataclass(slots=True)
class Server:
    """A running server. `stop` and `start` are for tests of lost connections."""

    port: int
    command: Sequence[str | Path]
    log: Path
    ready: str
    env: Mapping[str, str]
    user: str | None
    process: subprocess.Popen[bytes] | None = None
    start_timeout_s: float = START_TIMEOUT_SECONDS

    def start(self) -> None:
        """Run the server until it answers; AssertionError with its last words if it ends."""
        self.log.write_bytes(b"")
        with self.log.open("ab") as out:
            self.process = spawn(self.command, stdout=out, stderr=out, env=self.env, user=self.user)
        deadline = time.monotonic() + self.start_timeout_s
        while self.ready not in (said := self.log.read_text(errors="replace")):
            assert self.process.poll() is None, said[-3000:]
            assert time.monotonic() < deadline, said[-3000:]
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End it at once, as a machine that goes off does."""
        if self.process is not None:
            stop(self.process, kill=True)
            self.process = None


@contextmanager
def folder_of(user: str | None) -> Iterator[Path]:
    """A new folder of the user's, reachable for it, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-server-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged() -> str | None:
    """Who runs a server: whoever runs the tests, unless that is root."""
    return NOBODY if os.getuid() == 0 else None


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(made: Callable[[int], Server]) -> Iterator[Server]:
    """The server on a free port."""
    for attempt in range(1, ATTEMPTS + 1):
        server = made(free_port())
        try:
            server.start()
            break
        except AssertionError:
            server.stop()
            if attempt == ATTEMPTS:
                raise
    try:
        yield server
    finally:
        server.stop()
