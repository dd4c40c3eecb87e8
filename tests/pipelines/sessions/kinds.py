"""A program of a user: the same code in every kind of session of one Spark, what each gave as JSON.

    python kinds.py bootstrap-servers folder

It imports nothing of Headrace before Spark's JVM runs, and is started without an activated
environment. All kinds share the JVM, as a second one would cost a minute on a busy machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewPartitions,
    NewTopic,
)
from pyspark.sql import SparkSession

TIMEOUT_S = 60
QUERY_TIMEOUT_S = 120
SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}


class Cluster:
    """What happens to topics beside the queries."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers})

    def create(self, topic: str, partitions: int) -> None:
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1)
        self._admin.create_topics([new])[topic].result(TIMEOUT_S)

    def grow(self, topic: str, partitions: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(TIMEOUT_S)

    def produce(self, topic: str, partition: int, count: int, value: bytes = b"x") -> None:
        # A new one each time: it must know of partitions that have just been added.
        producer = Producer({"bootstrap.servers": self.servers})
        for _ in range(count):
            producer.produce(topic, value, partition=partition)
        assert producer.flush(TIMEOUT_S) == 0


def reader(spark: Any, cluster: Cluster, topic: str, *, stream: bool = False) -> Any:
    chosen = spark.readStream if stream else spark.read
    options = {"kafka.bootstrap.servers": cluster.servers, "subscribe": topic}
    return chosen.format("headrace").options(**options, startingOffsets="earliest")


def batch_reads(spark: Any, cluster: Cluster, topic: str) -> list[int]:
    """Queries over one DataFrame and one view, while records and a partition are added."""
    cluster.create(topic, 2)
    cluster.produce(topic, 0, 4)
    frame = reader(spark, cluster, topic).load()
    counts = [frame.count()]
    cluster.produce(topic, 0, 3)
    cluster.produce(topic, 1, 5)
    frame.createOrReplaceTempView("records")
    counts.append(frame.count())
    counts.append(frame.where("partition = 1").count())
    cluster.grow(topic, 3)
    cluster.produce(topic, 2, 2)
    counts.append(frame.where("partition = 2 and offset > 0").count())
    counts.append(spark.sql("select count(*) from records").first()[0])
    counts.append(len(frame.union(frame.where("partition < 2")).collect()))
    return counts


def batch_write(spark: Any, cluster: Cluster, topic: str) -> list[str]:
    cluster.create(topic, 2)
    rows = spark.range(3).selectExpr("string(id) AS value")
    options = {"kafka.bootstrap.servers": cluster.servers, "topic": topic}
    rows.write.format("headrace").options(**options).mode("append").save()
    written = reader(spark, cluster, topic).load().selectExpr("string(value) AS value")
    return sorted(row.value for row in written.collect())


def decoding_source(spark: Any, cluster: Cluster, topic: str) -> list[int]:
    cluster.create(topic, 1)
    cluster.produce(topic, 0, 2, value=b"\x0e")
    options = {"value.format": "avro", "value.schema": json.dumps(SCHEMA)}
    decoded = reader(spark, cluster, topic).options(**options).load()
    return [row.id for row in decoded.select("value.*").collect()]


def stream_read(spark: Any, cluster: Cluster, topic: str) -> int:
    cluster.create(topic, 2)
    cluster.produce(topic, 0, 4)
    cluster.produce(topic, 1, 3)
    records = reader(spark, cluster, topic, stream=True).load()
    folder = FOLDER / topic
    query = records.writeStream.format("parquet").trigger(availableNow=True)
    query = query.option("checkpointLocation", str(folder / "checkpoint"))
    run = query.start(str(folder / "rows"))
    run.awaitTermination(QUERY_TIMEOUT_S)
    return int(spark.read.parquet(str(folder / "rows")).count())


def stream_write(spark: Any, cluster: Cluster, topic: str) -> int:
    cluster.create(topic, 2)
    folder = FOLDER / topic
    spark.range(5).selectExpr("string(id) AS value").write.json(str(folder / "rows"))
    rows = spark.readStream.schema("value string").json(str(folder / "rows"))
    query = rows.writeStream.format("headrace").trigger(availableNow=True)
    query = query.options(**{"kafka.bootstrap.servers": cluster.servers, "topic": topic})
    run = query.option("checkpointLocation", str(folder / "checkpoint")).start()
    run.awaitTermination(QUERY_TIMEOUT_S)
    return int(reader(spark, cluster, topic).load().count())


def column_functions(spark: Any, cluster: Cluster, topic: str) -> list[int]:
    """Written by one function, which needs a Python worker, and read by another."""
    from headrace.pipelines.serdes import from_avro, to_avro

    schema = json.dumps(SCHEMA)
    written = spark.range(3).select(to_avro("id", '"long"').alias("value"))
    read = written.select(from_avro("value", schema).alias("value"))
    return sorted(row.id for row in read.select("value.*").collect())


def filters(spark: Any, cluster: Cluster, topic: str) -> int:
    """How many tasks a query over one of three partitions has."""
    cluster.create(topic, 3)
    for partition in range(3):
        cluster.produce(topic, partition, 2)
    chosen = reader(spark, cluster, topic).load().where("partition = 1")
    return int(chosen.rdd.getNumPartitions())


CHECKS: dict[str, Callable[[Any, Cluster, str], object]] = {
    "batch read": batch_reads,
    "batch write": batch_write,
    "decoding in the source": decoding_source,
    "streaming read": stream_read,
    "streaming write": stream_write,
    "column functions": column_functions,
    "filters": filters,
}
# What is no matter of the session is looked at once for each Spark.
BY_KIND = {
    "ordinary": [name for name in CHECKS if name != "filters"],
    "newSession": ["batch read"],
    "connect": ["batch read", "batch write"],
    "session": ["batch read", "filters"],
}


def outcome(check: Callable[[Any, Cluster, str], object], *arguments: Any) -> object:
    """What a check gave, or the message of its failure."""
    try:
        return check(*arguments)
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"


def started(folder: Path) -> Any:
    """An ordinary session, whose JVM also serves clients of Spark Connect."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def connected(spark: Any) -> Any:
    """A client of the JVM's Spark Connect server."""
    from pyspark.sql.connect.session import SparkSession as Client

    classes = spark._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(classes, "SparkConnectService$"), "MODULE$")
    return Client.builder.remote(f"sc://127.0.0.1:{service.localPort()}").create()


def prepared(spark: Any) -> Any:
    from headrace.pipelines import session

    return session()


def main() -> None:
    cluster = Cluster(sys.argv[1])
    spark = started(FOLDER)
    kinds: dict[str, Callable[[Any], Any]] = {
        "ordinary": lambda spark: spark,
        "newSession": lambda spark: spark.newSession(),
        "connect": connected,
        "session": prepared,  # the last: it is the ordinary one, which changes by that
    }
    found: dict[str, object] = {"version": spark.version}
    for kind, make in kinds.items():
        one = make(spark)
        for name in BY_KIND[kind]:
            topic = f"{kind}-{name}".replace(" ", "-")
            found[f"{kind}: {name}"] = outcome(CHECKS[name], one, cluster, topic)
        if kind == "connect":
            one.stop()
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    FOLDER = Path(sys.argv[2])
    main()
