"""Topics as DataFrames for a client of a Spark Connect server, which has no JVM of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.testing import Broker
from tests.kafka.toolchain import need, spawn, stop

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
HOST = "127.0.0.1"
# This server is Spark's own, which gives a worker ten seconds to start, however busy it is.
WORKER_TOO_SLOW = "waiting for the Python worker to connect back"
START_TIMEOUT_SECONDS = 180
POLL_SECONDS = 0.05

PROGRAM = """
import json, sys
from pathlib import Path
from headrace.errors import ConfigError
from headrace.pipelines import topic_writer
from headrace.pipelines.serdes import from_avro, to_avro
from headrace.pipelines.session import end_session, session

address, brokers, checkpoint = sys.argv[1:]
spark = session("connect", master=address)
options = {"kafka.bootstrap.servers": brokers}
schema = json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]})

rows = spark.range(100).selectExpr("cast(id as string) key", "struct(id) value")
rows.select("key", to_avro("value", schema).alias("value")).write.format("headrace").options(
    **options, topic="made").mode("append").save()

made = spark.readStream.format("headrace").options(**options, subscribe="made").option(
    "startingOffsets", "earliest").load().select("key", "value")
query = made.writeStream.format("headrace").options(**options, topic="copied").option(
    "checkpointLocation", checkpoint).trigger(availableNow=True).start()
query.awaitTermination(120)

read = spark.read.format("headrace").options(**options, subscribe="copied").load()
decoded = read.select(read.key.cast("string"), from_avro("value", schema).alias("v"))
print(json.dumps(sorted((row.key, row.v.id) for row in decoded.collect())))
some = read.where("offset < 10")
print(json.dumps([some.count(), read.count(), some.union(read).count()]))
bad = spark.createDataFrame([(b"\\x01\\x02",)], "value binary")
print(bad.select(from_avro("value", schema, dead_letter=True)["error"]).first()[0])

lengths = made.selectExpr("cast(length(key) as string) key").groupBy("key").count().selectExpr(
    "key", "cast(count as string) value").writeStream.outputMode("update")
try:
    lengths.format("headrace").option("topic", "lengths").start()
except ConfigError as fault:
    print(fault)
home = checkpoint + "-lengths"
write = topic_writer("lengths", options=options)
for _ in range(2):
    query = lengths.foreachBatch(write).option("checkpointLocation", home).trigger(
        availableNow=True).start()
    query.awaitTermination(120)
    if query.exception() is not None:
        raise query.exception()
    for file in ("0", ".0.crc"):
        Path(home, "commits", file).unlink()
read = spark.read.format("headrace").options(**options, subscribe="lengths").load()
counted = read.selectExpr("cast(key as string) k", "cast(value as string) v").collect()
print(json.dumps(sorted([row.k, row.v] for row in counted)))
end_session(spark)
"""


@contextmanager
def connect_server(folder: Path, java_options: str) -> Iterator[str]:
    """The address of a Spark Connect server of the wheel's own jars, on a free port."""
    import pyspark

    need("java")
    settings = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.extraJavaOptions": java_options,
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    home = Path(pyspark.__file__).parent
    pairs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", *pairs]
    log = folder / "server.log"
    with log.open("wb") as out:
        server = spawn(
            [*command, "--class", SERVER, "spark-internal"],
            stdout=out,
            stderr=out,
            env={"SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable},
        )
    try:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not (found := re.search(r"started at: .*:(\d+)", log.read_text(errors="replace"))):
            assert server.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(POLL_SECONDS)
        yield f"sc://{HOST}:{found[1]}"
    finally:
        stop(server)


def run_program(folder: Path, quick_start: str) -> subprocess.CompletedProcess[str]:
    """The program, with a broker and a Connect server of its own; what the server said is added."""
    folder.mkdir()
    with Broker() as broker, connect_server(folder, quick_start) as address:
        words = [address, broker.bootstrap_servers, str(folder / "checkpoint")]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=400,
        )
        done.stderr += (folder / "server.log").read_text(errors="replace")
    return done


@pytest.mark.thorough
@pytest.mark.timeout(1200)
def test_a_client_of_a_connect_server(tmp_path: Path, quick_start: str) -> None:
    """It writes a topic, copies it by a streaming query, reads and decodes what arrived.

    Output mode update is refused with the way that is open: a repeated batch is written once there.
    """
    done = run_program(tmp_path / "first", quick_start)
    if done.returncode and WORKER_TOO_SLOW in done.stderr:
        done = run_program(tmp_path / "second", quick_start)
    assert done.returncode == 0, done.stderr[-6000:]
    copied, counts, reason, refused, lengths = done.stdout.splitlines()
    assert json.loads(copied) == sorted([str(n), n] for n in range(100))
    assert json.loads(counts) == [10, 100, 110]
    assert reason == "byte 1: expected the end of the value, but more bytes follow"
    assert "foreachBatch(headrace.pipelines.topic_writer(" in refused
    assert json.loads(lengths) == [["1", "10"], ["2", "90"]], "each once, though it ran twice"
