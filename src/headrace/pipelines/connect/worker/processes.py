"""Hosts as child processes of the worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Final

from headrace.pipelines.connect.host.control import Address
from headrace.pipelines.connect.host.main import ADDRESS, TOKEN

_MODULE: Final = "headrace.pipelines.connect.host"
_END_S: Final = 5.0


class ChildProcess:
    """A host that runs under this very Python."""

    def __init__(self, address: Address, token: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            env={**os.environ, ADDRESS: f"{address[0]}:{address[1]}", TOKEN: token},
        )

    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self._process.poll() is not None

    def end(self) -> str:
        """Wait a little for it to end by itself, then end it; how it ended."""
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
