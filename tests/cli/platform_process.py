"""`headrace up` with chosen services and free ports, for tests that need more than a broker."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

STOP_TIMEOUT_S = 60


@contextmanager
def headrace_up(*services: str) -> Iterator[dict[str, str]]:
    """The address of each service by name, while the block runs."""
    words = ["--only", ",".join(services), "--port", "0", "--registry-port", "0"]
    words += ["--set", "metrics.listener="]
    with (
        tempfile.TemporaryDirectory(prefix="headrace-") as data,
        subprocess.Popen(
            [sys.executable, "-m", "headrace", "up", "--data", data, *words, "--rest-port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().split() for _ in services]
            yield {line[0]: line[3] for line in lines}
        finally:
            process.terminate()
            process.wait(STOP_TIMEOUT_S)
