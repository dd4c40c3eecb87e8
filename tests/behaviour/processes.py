"""`headrace up` as an operator starts it, with the words and the properties file of the test."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

STOP_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Started:
    """A broker that is ready: its address, and what it wrote before."""

    bootstrap_servers: str
    output: list[str]


@contextlib.contextmanager
def headrace_up(*words: str) -> Iterator[Started]:
    """Start a broker, wait until it is ready, and end it in order afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", "up", "--only", "broker", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        output: list[str] = []
        for line in process.stdout:
            if line.startswith("broker ready on "):
                yield Started(line.split()[3], output)
                break
            output.append(line.rstrip("\n"))
        else:
            raise AssertionError("the broker did not start:\n" + "\n".join(output))
    finally:
        process.terminate()
        try:
            process.communicate(timeout=STOP_TIMEOUT_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0, f"the broker ended with {process.returncode}"


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])
