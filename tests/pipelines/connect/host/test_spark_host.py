"""Tasks in the Python processes of Spark."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.pipelines.connect.state.records import State
from tests.pipelines.connect.host.running import Tasks, committed, numbers, patiently
from tests.pipelines.connect.host.test_processes import is_gone, pid_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Hosts = Callable[..., Tasks]


def test_a_killed_python_worker_loses_nothing(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str, spark: SparkSession
) -> None:
    """Bounded jobs go on beside the host; its job is submitted again; it ends with its tasks."""
    lines = [f"line {number}" for number in range(1000)]
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{line}\n" for line in lines[:500]))
    tasks = hosts("spark")
    file = {"connector.class": "FileStreamSource", "file": str(path), "topic": f"{topic}-lines"}
    task = tasks.start(tasks.spec("lines", file))
    tasks.start(tasks.spec("count", tasks.counting("count", topic, upto=10)))
    patiently(lambda: len(numbers(bootstrap, topic)) == 10, lambda: tasks.traces)
    first = pid_of(tmp_path, "count")
    assert first != os.getpid()
    assert spark.range(100).count() == 100
    tasks.until(task, State.RUNNING)
    (tmp_path / "count.pid").unlink()
    os.kill(first, signal.SIGKILL)
    tasks.until(task, State.RUNNING, State.FAILED, State.RUNNING)
    assert "its Spark job has failed" in tasks.traces[0]
    assert "Python worker exited unexpectedly" in tasks.traces[0]
    with path.open("a") as more:
        more.write("".join(f"{line}\n" for line in lines[500:]))

    def copied() -> list[str]:
        return [(each.value() or b"").decode() for each in committed(bootstrap, f"{topic}-lines")]

    patiently(lambda: len(set(copied())) == 1000, lambda: tasks.traces)
    assert list(dict.fromkeys(copied())) == lines
    second = pid_of(tmp_path, "count")
    assert second != first
    tasks.close()
    assert spark.range(100).count() == 100, "the session is the test's, and stays"
    status = spark.sparkContext.statusTracker()
    patiently(lambda: not status.getActiveJobsIds())
    assert is_gone(first)
