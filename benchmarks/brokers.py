"""A broker as the benchmarks see it: a command with a data folder, a port and a process tree.

Both brokers go through this one class, so neither is timed, stopped or counted differently. It
judges readiness by answers on the socket, never by what a broker prints.
"""

from __future__ import annotations

import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks import processes, wire
from benchmarks.errors import BenchmarkError
from benchmarks.table import OURS

_HOST = "127.0.0.1"
_START_TIMEOUT_S = 300
_STOP_TIMEOUT_S = 120
# Below the range from which Linux gives out ports of outgoing connections: a client of the
# measurement cannot take a broker's port while the broker restarts.
_PORTS = range(21_000, 32_000)


class Launcher(Protocol):
    """How one kind of broker is started."""

    @property
    def name(self) -> str: ...

    def prepare(
        self, data: Path, port: int, spare_port: int, settings: Mapping[str, str]
    ) -> list[str]:
        """Do what must be done once before a first start, untimed; return the command to time."""
        ...


class Served(Protocol):
    """Whatever serves clients: one broker, or a cluster of them."""

    @property
    def name(self) -> str: ...

    @property
    def bootstrap(self) -> str: ...

    @property
    def address(self) -> wire.Address: ...

    def cpu_seconds(self) -> float: ...

    def wait_until(self, question: wire.Question, *, what: str) -> None: ...


@dataclass(frozen=True, slots=True)
class HeadraceLauncher:
    """`headrace up`; there is nothing to prepare."""

    command: Sequence[str]
    name: str = OURS

    def prepare(
        self, data: Path, port: int, spare_port: int, settings: Mapping[str, str]
    ) -> list[str]:
        pairs = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        return [*self.command, "--data", str(data), "--port", str(port), *pairs]


class Broker:
    """One broker on a data folder of its own; may be started and stopped many times."""

    def __init__(self, launcher: Launcher, folder: Path, settings: Mapping[str, str]) -> None:
        self.name = launcher.name
        self.folder = folder
        self.data = folder / "data"
        self.address: wire.Address = (_HOST, free_port())
        self.data.mkdir(parents=True)
        self._command = launcher.prepare(self.data, self.address[1], free_port(), settings)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"{_HOST}:{self.address[1]}"

    def launch(self) -> float:
        """Start the process; returns the moment, for `seconds_until_*`."""
        if not port_is_free(self.address[1]):
            raise BenchmarkError(f"port {self.address[1]} was taken by another program: run again")
        try:
            with (self.folder / "output").open("ab") as output:
                began = time.monotonic()
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise BenchmarkError(f"cannot start {self._command[0]}: {error.strerror}") from error
        return began

    def start(self) -> float:
        """Start and wait for the first Metadata answer; returns the seconds that took."""
        began = self.launch()
        self.wait_until(
            lambda: wire.metadata(self.address, all_topics=False, timeout_s=5).brokers > 0,
            what="Metadata answer",
        )
        return time.monotonic() - began

    def wait_until(self, question: wire.Question, *, what: str) -> None:
        wire.wait_until(
            question,
            alive=self._check_alive,
            timeout_s=_START_TIMEOUT_S,
            what=f"{what} from {self.name}",
        )

    def stop(self) -> float:
        """Clean shutdown; returns the seconds it took."""
        process = self._running()
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise self._failure(f"did not stop within {_STOP_TIMEOUT_S} s of SIGTERM") from error
        seconds = time.monotonic() - began
        self.kill()
        return seconds

    def kill(self) -> None:
        """kill -9 of the whole tree; no harm when it is not running."""
        if self._process is not None:
            processes.end_group(self._process)
            self._process = None

    def close(self) -> None:
        """Remove every trace: processes and data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self._running().pid)

    def rss_mib(self) -> float:
        return processes.rss_mib(self._running().pid)

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _running(self) -> subprocess.Popen[bytes]:
        self._check_alive()
        assert self._process is not None
        return self._process

    def _check_alive(self) -> None:
        if self._process is None:
            raise self._failure("is not running")
        if self._process.poll() is not None:
            raise self._failure(f"ended by itself with exit code {self._process.returncode}")

    def _failure(self, what: str) -> BenchmarkError:
        output = self.folder / "output"
        told = output.read_text(errors="replace")[-2000:].strip() if output.exists() else ""
        return BenchmarkError(f"{self.name} {what}; the end of its output:\n{told or '(nothing)'}")


def free_port() -> int:
    for port in random.sample(_PORTS, 100):
        if port_is_free(port):
            return port
    raise BenchmarkError(f"no free port between {_PORTS.start} and {_PORTS.stop}: close programs")


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True
