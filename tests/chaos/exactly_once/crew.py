"""The client processes of a run: started, watched, killed and started again under new names."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.kafka.toolchain import spawn, stop

PACKAGE = "tests.chaos.exactly_once"


class Crew:
    """Slots such as "worker-0", each with the process of its present life."""

    def __init__(self, bootstrap: str, folder: Path, protocol: str, slots: list[str]) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._protocol = protocol
        self._lives = dict.fromkeys(slots, 0)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.ended_by_themselves = 0

    def start_missing(self) -> None:
        """Give every slot without a process its next life."""
        for slot in self._lives:
            process = self._running.get(slot)
            if process is not None and process.poll() is None:
                continue
            if process is not None:
                self.ended_by_themselves += 1
            self._running[slot] = self._start(slot)

    def _start(self, slot: str) -> subprocess.Popen[bytes]:
        self._lives[slot] += 1
        life = f"{slot}.{self._lives[slot]}"
        words = [self._bootstrap, str(self._folder), life, self._protocol]
        command = [*self._program(slot.partition("-")[0]), *words]
        with (self._folder / f"{slot}.err").open("ab") as err:
            return spawn(command, stdout=err, stderr=err)

    def _program(self, kind: str) -> list[str]:
        """The command of one kind of client, without its words."""
        return [sys.executable, "-m", f"{PACKAGE}.{kind}"]

    def kill(self, slot: str) -> None:
        """End a life as a power cut does; the next `start_missing` begins another."""
        stop(self._running.pop(slot), kill=True)

    def freeze(self, slot: str) -> None:
        """Stop a process without ending it: soon it is a zombie that others have replaced."""
        self._running[slot].send_signal(signal.SIGSTOP)

    def thaw(self, slot: str) -> None:
        self._running[slot].send_signal(signal.SIGCONT)

    def dismiss(self, kind: str) -> None:
        """Ask all slots of a kind to end in order, and forget them."""
        for slot in [slot for slot in self._lives if slot.startswith(kind)]:
            del self._lives[slot]
            if slot in self._running:
                stop(self._running.pop(slot))

    def close(self) -> None:
        for process in self._running.values():
            stop(process, kill=True)
        self._running.clear()

    def last_words(self) -> str:
        """What the processes said before they ended by themselves."""
        texts = [path.read_text(errors="replace") for path in sorted(self._folder.glob("*.err"))]
        return "".join(texts)[-2000:]
