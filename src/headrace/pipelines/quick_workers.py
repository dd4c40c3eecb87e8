"""Python processes of a local Spark that are there in time, also on a busy machine.

Spark gives up on a process that has not called back after ten seconds. The module in `worker_path`
lets it do so at once; it is found by the path that the JVM inherits. And what the processes import
is read once while the JVM starts: they find it in the memory of the system.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headrace.runtime.variables import variables_set

PATH: Final = "PYTHONPATH"
WORKER_PATH: Final = str(Path(__file__).with_name("worker_path"))
_MODULES: Final = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "headrace.pipelines.source.readers",
    "headrace.pipelines.sink.writer",
)
# One that a version of Spark does not have is passed over.
_READ: Final = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
"""
_WAIT_S: Final = 60.0


@contextmanager
def quick_workers(environment: MutableMapping[str, str]) -> Iterator[None]:
    """Start the JVM in this block: it inherits the path of its workers, and keeps it."""
    before = environment.get(PATH)
    path = f"{WORKER_PATH}{os.pathsep}{before}" if before else WORKER_PATH
    with _modules_read(environment), variables_set(environment, {PATH: path}):
        yield


@contextmanager
def _modules_read(environment: Mapping[str, str]) -> Iterator[None]:
    """Read the modules beside what the block does; both are done when it ends."""
    python = environment.get("PYSPARK_PYTHON", sys.executable)
    try:
        reading = subprocess.Popen(
            [python, "-c", _READ, *_MODULES],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
        )
    except OSError:
        yield  # Spark will say more about a Python that cannot be started
        return
    try:
        yield
    finally:
        try:
            reading.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            reading.kill()
            reading.wait()
