"""`from_avro` on a standalone cluster: executors get the decoder from the driver."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines.cluster.standalone import HOST, StandaloneCluster, driver_environment

PROGRAM = """
import json, sys
from headrace.pipelines.serdes import from_avro
from headrace.pipelines.session import end_session, session

master, host, options = sys.argv[1:]
schema = {"type": "map", "values": {"type": "record", "name": "R", "fields": [
    {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}]}}
values = [(b"\\x02\\x02k" + bytes([2 * n, 2, 2, 97 + n, 0]),) for n in range(10)]
for attempt in range(2):
    # A second session finds the class in the JVM of the first, but its executors are new.
    spark = session("avro", master=master, config={
        "spark.executor.memory": "512m", "spark.driver.host": host, "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": options, "spark.executor.extraJavaOptions": options})
    rows = spark.createDataFrame(values, "value binary").repartition(2)
    decoded = rows.select(from_avro("value", json.dumps(schema))["k"].alias("v")).select("v.*")
    assert "Python" not in decoded._jdf.queryExecution().executedPlan().toString()
    print(json.dumps(sorted(map(tuple, decoded.collect()))), flush=True)
    spark.stop() if attempt == 0 else end_session(spark)
"""


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_executors_decode(tmp_path: Path, quick_start: str) -> None:
    """No jar is given to anybody: workers decode in their JVMs, in a second session too."""
    with StandaloneCluster(tmp_path / "cluster", workers=1, java_options=quick_start) as cluster:
        command = [sys.executable, "-c", PROGRAM, cluster.url, HOST, quick_start]
        done = subprocess.run(
            command, env=driver_environment(), capture_output=True, text=True, timeout=150
        )
        assert done.returncode == 0, f"{done.stderr[-3000:]}\n{cluster.last_words()}"
    expected = [[n, chr(97 + n)] for n in range(10)]
    assert [json.loads(line) for line in done.stdout.splitlines()] == [expected, expected]
