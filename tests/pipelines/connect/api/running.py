"""Workers of ours: in a process with the connectors of the recordings, and in this one."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headrace.pipelines.connect.api.service import ConnectService, serving
from headrace.pipelines.connect.worker.standalone import Standalone
from headrace.runtime.clock import SystemClock
from tests.kafka.toolchain import spawn, stop
from tests.pipelines.connect.recorded.rest import properties, settings

HERE = Path(__file__).resolve().parent
START_SECONDS = 120
_ENTRY_POINTS = """\
[headrace.connect]
source = recorded_connectors:RecordedSource
sink = recorded_connectors:RecordedSink
"""


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "headrace.cli.kafka_compat", *map(str, words)]


@contextmanager
def our_worker(
    bootstrap: str, folder: Path, more: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The address of `connect-standalone` on a free port."""
    installed = folder / "recorded_connectors-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: recorded_connectors\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(_ENTRY_POINTS)
    file = folder / "worker.properties"
    told = {
        **settings(bootstrap, folder, "standalone"),
        "listeners": "http://127.0.0.1:0",
        "consumer.fetch.max.wait.ms": "50",
        **(more or {}),
    }
    file.write_text(properties(told))
    log = folder / "worker.log"
    paths = [str(folder), str(HERE), os.environ.get("PYTHONPATH", "")]
    with log.open("wb") as out:
        worker = spawn(
            command("connect-standalone", file),
            stdout=out,
            stderr=out,
            env={"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (found := re.search(r"ready on (\S+)", log.read_text(errors="replace"))):
            assert worker.poll() is None, log.read_text(errors="replace")[-3000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-3000:]
            time.sleep(0.05)
        yield found[1]
    finally:
        stop(worker)


@contextmanager
def beside(
    bootstrap: str,
    folder: Path,
    kind: type[Standalone] = Standalone,
    **more: str,
) -> Iterator[tuple[str, Standalone]]:
    """A worker in this process, with its address: for settings that one test alone wants."""
    given = {
        **settings(bootstrap, folder, "standalone"),
        "listeners": "http://127.0.0.1:0",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    worker = kind(given, SystemClock(), lambda task, state, trace: None)
    service = ConnectService(lambda url: worker, worker.settings, worker.providers, worker.loggers)
    served = serving(service)
    served.start()
    try:
        yield service.address, worker
    finally:
        served.stop()
        worker.stop()
