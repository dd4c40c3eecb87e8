"""The broker that `headrace run` brings along when nobody has named one.

It is `headrace up` in a process of its own, so that a busy driver does not slow it down, and in a
process group of its own, so that Ctrl-C in the terminal does not take it from under queries that
are still finishing their batch. Its standard input is its lease: when the runner closes it or dies,
whatever the way, the broker stops in order and leaves its folder to the next one.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import IO, Final, Self

from headrace.cli.failures import Failure

START_TIMEOUT_S: Final = 120.0  # after a crash it first looks through its logs
STOP_TIMEOUT_S: Final = 60.0
_READY: Final = re.compile(r"^broker ready on (\S+:\d+)")
_KEPT_LINES: Final = 50


class EmbeddedBroker:
    """Use as a context manager; `bootstrap_servers` is its address inside the block."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._process: subprocess.Popen[str] | None = None
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._answered = threading.Event()
        self.bootstrap_servers = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headrace.cli.run.embedded_broker", str(self._data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        assert self._process.stdout is not None
        reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        reader.start()
        if not self._answered.wait(START_TIMEOUT_S) or not self.bootstrap_servers:
            self._process.kill()
            self.__exit__()
            raise Failure(f"the embedded broker did not start: {self.last_line}")
        return self

    def __exit__(self, *_raised: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise Failure(f"the embedded broker did not stop: {self.last_line}") from None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker is not started"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def last_line(self) -> str:
        """The last thing that the broker said."""
        return self._lines[-1].removeprefix("headrace: ") if self._lines else "it said nothing"

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._lines.append(line.rstrip("\n"))
                match = _READY.match(line)
                if match is not None:
                    self.bootstrap_servers = match[1]
                    self._answered.set()
        self._answered.set()  # the process has ended; whoever waits finds no address


def _stop_with_input() -> None:
    """Wait for the end of the input, then ask this process to stop as SIGTERM does."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    from headrace.cli import main as headrace

    threading.Thread(target=_stop_with_input, daemon=True).start()
    where = ["--data", sys.argv[1], "--host", "127.0.0.1", "--port", "0"]
    return headrace(["up", "--only", "broker", "--set", "metrics.listener=", *where])


if __name__ == "__main__":
    sys.exit(main())
