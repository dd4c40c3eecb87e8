"""An S3 of moto's, in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.servers.server import HOST, Server, running

KEY = "testing"


def endpoint(server: Server) -> str:
    """The address of the server."""
    return f"http://{HOST}:{server.port}"


@contextmanager
def s3() -> Iterator[Server]:
    """A server without buckets, for which any key and secret do."""
    with TemporaryDirectory(prefix="headrace-s3-") as folder:
        program = [sys.executable, "-m", "moto.server", "-H", HOST]
        with running(
            lambda port: Server(
                port, [*program, "-p", str(port)], Path(folder) / "log", "Running on", {}, None
            )
        ) as server:
            yield server
