"""Units as tasks of Spark, and a run that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.pipelines.lake.jobs.running import on_spark
from tests.kafka.toolchain import spawn, stop
from tests.pipelines.lake.camus.jobs import Camus, events
from tests.pipelines.source.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 60
SLOW = """\
from pathlib import Path
import time
from headrace.pipelines.lake.camus.decoders import StringMessageDecoder

class Slow(StringMessageDecoder):
    def decode_rows(self, rows):
        waits = Path(__file__).with_name("wait")
        while rows.column("partition")[0].as_py() == 1 and waits.exists():
            time.sleep(0.01)
        return super().decode_rows(rows)
"""


@pytest.mark.spec("book2:A7-01", "book2:A7-07")
def test_tasks_of_spark_copy_side_by_side(
    topics: Topics, tmp_path: Path, spark: SparkSession
) -> None:
    topic = topics.create(partitions=3)
    for partition in range(3):
        topics.produce(topic, events(partition * 100, 100, lambda n: n), partition=partition)
    camus = Camus(topics, tmp_path, topic)
    report = camus.run(on_spark(spark))
    assert report.failed == []
    assert [each.messages for each in report.outcomes] == [100, 100, 100]
    assert len(set(camus.lines())) == len(camus.lines()) == 300
    assert camus.run(on_spark(spark)).outcomes == ()


def test_a_run_that_is_killed_copies_nothing_twice(topics: Topics, tmp_path: Path) -> None:
    """One partition is published when the other is still being copied: kill -9, and again."""
    topic = topics.create(partitions=2)
    for partition in range(2):
        topics.produce(topic, events(partition * 50, 50, lambda n: n), partition=partition)
    (tmp_path / "slow_decoder.py").write_text(SLOW)
    (tmp_path / "wait").touch()
    camus = Camus(
        topics, tmp_path, topic, camus__message__decoder__class=f"{tmp_path}/slow_decoder.py:Slow"
    )
    command = [sys.executable, "-m", "headrace", "lake", "camus", "-P", str(camus.file())]
    process = spawn([*command, "--local"], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE_S
        while not camus.lines():
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        stop(process)
    assert camus.history("offsets.json") == []
    assert len(list((tmp_path / "exec").glob("2*.json"))) == 1
    (tmp_path / "wait").unlink()
    done = subprocess.run([*command, "--local"], timeout=PATIENCE_S, check=False)
    assert done.returncode == 0
    assert len(set(camus.lines())) == len(camus.lines()) == 100
    assert camus.history("offsets.json") == [{topic: {"0": 50, "1": 50}}]
