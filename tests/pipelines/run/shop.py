"""Pipelines that the tests of `headrace run` name on the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def ticks(spark: SparkSession, rate: int = 20) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", rate).load()


def poison(spark: SparkSession) -> list[StreamingQuery]:
    """Fails in a worker until the file that its first failure leaves behind is there."""
    from pyspark.sql.functions import udf

    cured = Path(os.environ["SHOP_OUT"])

    @udf("long")
    def price(value: int) -> int:
        if not cured.exists():
            cured.touch()
            raise ValueError("poison in the till")
        return value

    priced = ticks(spark).select(price("value").alias("price"))
    counts = ticks(spark).groupBy("value").count()
    return [
        priced.writeStream.format("noop").queryName("priced").start(),
        counts.writeStream.format("noop").outputMode("update").queryName("counted").start(),
    ]


def not_installed(spark: SparkSession) -> list[DataStreamWriter]:
    """A topic that is not there yet, and a function that can never work."""
    from pyspark.sql.functions import udf

    @udf(returnType="long", useArrow=False)
    def price(value: int) -> int:
        import till_that_is_not_installed  # type: ignore[import-not-found]

        return int(till_that_is_not_installed.price(value))

    letters = spark.readStream.format("headrace").option("subscribe", "letters").load()
    return [
        letters.writeStream.format("noop").queryName("letters"),
        ticks(spark).select(price("value")).writeStream.format("noop").queryName("priced"),
    ]


def totals(spark: SparkSession) -> None:
    """A batch: it ends by itself. Like many libraries it also asks Spark for the session."""
    from pyspark.sql import SparkSession

    assert SparkSession.getActiveSession() is not None
    spark.range(100).write.parquet(os.environ["SHOP_OUT"])


def nameless(spark: SparkSession) -> StreamingQuery:
    return ticks(spark).writeStream.format("noop").start()


def mistaken(spark: SparkSession) -> Any:
    return ticks(spark).select("no_such_column")


def single(spark: SparkSession) -> DataStreamWriter:
    """One writer without a name."""
    return ticks(spark).writeStream.format("noop")


def two(spark: SparkSession) -> list[DataStreamWriter]:
    return [single(spark), single(spark)]


def round_trip(spark: SparkSession) -> Iterator[DataStreamWriter]:
    """Numbers into a topic of the embedded broker, and from there into files."""
    numbers = spark.range(1000).selectExpr("cast(id as string) value", "'numbers' topic")
    numbers.write.format("headrace").mode("append").save()
    topic = spark.readStream.format("headrace").option("subscribe", "numbers")
    rows = topic.option("startingOffsets", "earliest").load()
    copied = rows.selectExpr("cast(value as string) value").writeStream.format("parquet")
    yield copied.option("path", os.environ["SHOP_OUT"]).queryName("copied")
