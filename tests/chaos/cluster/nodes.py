"""One process of a cluster as the nemesis sees it: it is started, stopped, killed and frozen."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.cluster.network import Network
from tests.kafka.toolchain import spawn, stop


class Node:
    """A place in the network and the process that lives there at present."""

    def __init__(self, name: str, network: Network, command: Sequence[str], output: Path) -> None:
        self.name = name
        self.output = output
        self._network = network
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self.frozen = False

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    def start(self) -> None:
        """Start the process on the data of its former life."""
        assert not self.running, f"{self.name} is already running"
        with self.output.open("ab") as out:
            command = self._network.command(self.name, self._command)
            self._process = spawn(command, stdout=out, stderr=subprocess.STDOUT)
        self._network.settle(self.name, self._process.pid)

    def stop(self) -> None:
        """SIGTERM, and wait for the end."""
        if self._process is not None:
            self.thaw()
            stop(self._process)
            self._process = None

    def kill(self) -> None:
        if self._process is not None:
            stop(self._process, kill=True)
            self._process, self.frozen = None, False

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self) -> None:
        if self._process is not None and self.frozen:
            self._process.send_signal(signal.SIGCONT)
        self.frozen = False

    def last_words(self, characters: int = 1500) -> str:
        told = self.output.read_text(errors="replace") if self.output.exists() else ""
        return told[-characters:]
