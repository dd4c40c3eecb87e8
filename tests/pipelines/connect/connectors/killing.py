"""A worker in a process of its own, which a test can kill."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.kafka.toolchain import spawn, stop
from tests.pipelines.connect.worker.running import PATIENCE_S


@contextmanager
def killable(
    bootstrap: str, folder: Path, connector: str, settings: Mapping[str, str]
) -> Iterator[Callable[[], None]]:
    """`headrace connect run`; what is yielded kills it with SIGKILL, the end does so too."""
    given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    run = [sys.executable, "-m", "headrace", "connect", "run", connector, *given]
    kept = ["--offsets", str(folder / "killed.offsets"), "--bootstrap-server", bootstrap]
    with (folder / "killed.log").open("ab") as log:
        process = spawn([*run, *kept, "--name", "killed"], stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout is not None
        said = b""
        for line in process.stdout:
            said += line
            if b"RUNNING" in line:
                break
        else:
            raise AssertionError(said.decode() + (folder / "killed.log").read_text())
        yield lambda: stop(process, kill=True)
    finally:
        if process.poll() is None:
            stop(process, kill=True)


def eventually(is_so: Callable[[], bool]) -> None:
    """Wait until it is."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, "it has not come to be"
        time.sleep(0.02)
