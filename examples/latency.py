"""How long events take from their receipt to their outcome, and what happens at full capacity.

    headrace run --broker examples.latency:pipeline

    rate ── topic orders ── application ── topic outcomes ── meter

The broker stamps the records of both topics when it gets them, and the application passes on when
its event was received: the difference is the latency. The meter observes it, and `headrace run`
shows what is observed below its table. The application takes so many events a trigger at most; if
more come, they wait: its lag grows, and latency with it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from examples.topics import provide, servers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

ORDERS: Final = "orders"
OUTCOMES: Final = "outcomes"
ORDERS_PER_SECOND: Final = 500
CAPACITY: Final = 1_000  # events a trigger
DAY_MS: Final = 24 * 60 * 60 * 1_000


def pipeline(spark: SparkSession) -> list[DataStreamWriter]:
    provide_topics()
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    orders = spark.readStream.format("rate").option("rowsPerSecond", ORDERS_PER_SECOND).load()
    generator = write(orders.selectExpr("CAST(value AS STRING) AS value"), ORDERS)
    queries = [generator.queryName("generator"), application(spark), meter(spark)]
    return [query.trigger(processingTime="1 second") for query in queries]


def provide_topics() -> None:
    config = {"message.timestamp.type": "LogAppendTime", "retention.ms": str(DAY_MS)}
    for topic in (ORDERS, OUTCOMES):
        provide(topic, partitions=1, config=config)


def application(spark: SparkSession, capacity: int = CAPACITY) -> DataStreamWriter:
    """Its outcome of an event is when the event was received."""
    orders = read(spark, ORDERS).option("maxOffsetsPerTrigger", capacity).load()
    outcomes = orders.selectExpr("CAST(unix_millis(timestamp) AS STRING) AS value")
    return write(outcomes, OUTCOMES).queryName("application")


def meter(spark: SparkSession) -> DataStreamWriter:
    """Observes the latency of the outcomes of each trigger."""
    outcomes = read(spark, OUTCOMES).load().observe("latency", *figures())
    return outcomes.writeStream.format("noop").queryName("meter")


def last_day(spark: SparkSession) -> DataFrame:
    """The same figures over the last 24 hours, in one row: what a promise is held against."""
    outcomes = (
        spark.read.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", OUTCOMES)
        .option("startingTimestamp", int(time.time() * 1_000) - DAY_MS)
        .option("startingOffsetsByTimestampStrategy", "latest")  # if nothing is so young
        .load()
    )
    return outcomes.agg(*figures())


def figures() -> list[Column]:
    """Best, average and worst, and how many milliseconds 85 of 100 events take at most."""
    from pyspark.sql import functions as f

    received_ms = f.col("value").cast("string").cast("bigint")
    latency_ms = f.unix_millis("timestamp") - received_ms
    return [
        f.min(latency_ms).alias("best_ms"),
        f.avg(latency_ms).alias("average_ms"),
        f.max(latency_ms).alias("worst_ms"),
        f.percentile(latency_ms, 0.85).alias("of_85_percent_ms"),
    ]


def read(spark: SparkSession, topic: str) -> DataStreamReader:
    return (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
    )


def write(rows: DataFrame, topic: str) -> DataStreamWriter:
    return (
        rows.writeStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("topic", topic)
    )
