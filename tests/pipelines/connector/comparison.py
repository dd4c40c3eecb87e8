"""Both connectors read the same; what they give is laid side by side.

A value is compared by its digest, which Spark makes where it was read, everything else by itself.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OURS = "headrace"
SPARKS = "kafka"
COLUMNS = (
    "topic",
    "partition",
    "offset",
    "key",
    "length(value) AS length",
    "md5(value) AS digest",
    "timestamp",
    "timestampType",
)
QUERY_TIMEOUT_SECONDS = 100


class Streamed(NamedTuple):
    """What a streaming query gave: all rows, and how many each batch had."""

    rows: pa.Table
    batches: list[int]
    end: dict[str, dict[str, int]]


def read_batch(spark: SparkSession, connector: str, options: Mapping[str, Any]) -> pa.Table:
    """All rows of a batch read, in the order in which the tasks read them."""
    return _digests(spark.read.format(connector).options(**options).load()).toArrow()


def read_stream(
    spark: SparkSession, connector: str, options: Mapping[str, Any], checkpoint: str
) -> Streamed:
    """All rows of a streaming query that ends at what is there now."""
    name = f"read_{uuid.uuid4().hex}"
    rows = _digests(spark.readStream.format(connector).options(**options).load())
    sink = rows.writeStream.format("memory").queryName(name)
    query = sink.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(QUERY_TIMEOUT_SECONDS), "the query does not end"
    finally:
        query.stop()
    progress = [json.loads(each.json) for each in query.recentProgress]
    batches = [each["numInputRows"] for each in progress if each["numInputRows"]]
    table = spark.table(name).toArrow()
    spark.catalog.dropTempView(name)
    end = _plain_offsets(progress[-1]["sources"][0]["endOffset"])
    return Streamed(table, batches, end)


def first_difference(ours: pa.Table, sparks: pa.Table) -> str | None:
    """The first row, partition by partition in the order of reading, that is not the same."""
    ours, sparks = _by_partition(ours), _by_partition(sparks)
    if ours.equals(sparks):
        return None
    if ours.schema != sparks.schema:
        return f"ours has the columns\n{ours.schema}\nSpark's has\n{sparks.schema}"
    for mine, theirs in zip(ours.to_pylist(), sparks.to_pylist(), strict=False):
        if mine != theirs:
            return f"ours: {mine}\nSpark's: {theirs}"
    return f"ours has {ours.num_rows} rows, Spark's {sparks.num_rows}"


def _digests(rows: DataFrame) -> DataFrame:
    headers = ("headers",) if "headers" in rows.columns else ()
    return rows.selectExpr(*COLUMNS, *headers)


def _by_partition(table: pa.Table) -> pa.Table:
    """The rows of each partition together, each partition's in the order in which it was read."""
    place = pa.array(range(table.num_rows), pa.int64())
    order = [("topic", "ascending"), ("partition", "ascending"), ("place", "ascending")]
    return table.append_column("place", place).sort_by(order).drop_columns("place").combine_chunks()


def _plain_offsets(offsets: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """A position as Spark's connector has it: ours says a little more about topics."""
    return {name: each for name, each in offsets.items() if not name.startswith("@")}
