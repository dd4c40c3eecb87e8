"""The program that is killed: two streaming queries from a topic to a topic, one per guarantee.

    python -m tests.chaos.spark_sink.driver BOOTSTRAP FOLDER MASTER [JAVA_OPTIONS]

A query that fails, because the broker was away for too long or a worker died too often, is started
again from its checkpoint, as any supervisor would.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.pipelines import session
from tests.chaos.spark_sink.values import GUARANTEES, INPUT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PAUSE_SECONDS = 0.2


def start(spark: SparkSession, bootstrap: str, folder: Path, guarantee: str) -> StreamingQuery:
    servers = {"kafka.bootstrap.servers": bootstrap}
    rows = (
        spark.readStream.format("headrace")
        .options(**servers, subscribe=INPUT, startingOffsets="earliest")
        .load()
    )
    return (
        rows.select("key", "value")
        .writeStream.format("headrace")
        .options(**servers, topic=guarantee, guarantee=guarantee)
        .option("checkpointLocation", str(folder / guarantee))
        .queryName(guarantee)
        .start()
    )


def main() -> None:
    bootstrap, folder, master, *java_options = sys.argv[1:]
    local = Path(folder, "local")
    local.mkdir(parents=True, exist_ok=True)
    config = {"spark.driver.memory": "1g", "spark.local.dir": local}
    if java_options:
        config["spark.driver.extraJavaOptions"] = java_options[0]
    spark = session("chaos", master=master, config=config)
    running: dict[str, StreamingQuery] = {}
    while True:
        for guarantee in GUARANTEES:
            query = running.get(guarantee)
            if query is not None and query.isActive:
                continue
            if query is not None:
                print(f"{guarantee} ended: {query.exception()}", flush=True)  # noqa: T201
            running[guarantee] = start(spark, bootstrap, Path(folder), guarantee)
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
