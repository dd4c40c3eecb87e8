"""Direct word count: each batch is a range of offsets per partition, read straight from the broker.

    headrace run --broker examples.direct_word_count:pipeline

There is no receiver, no write-ahead log and no ZooKeeper. The ranges are in the checkpoint before a
batch runs, so a restarted query repeats the same batch and goes on; with a sink that knows repeated
batches no record is lost and none counts twice. Spark reads as many partitions as the topic has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from examples.batch_store import one_batch, open_store
from examples.sample_text import lines
from examples.topics import provide, servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

TOPICS: Final = "test"
BATCH_INTERVAL: Final = "2 seconds"
PRINTED: Final = 10
_TOTALS: Final = "CREATE TABLE IF NOT EXISTS totals (word TEXT PRIMARY KEY, count INTEGER)"


class OffsetRange(NamedTuple):
    """The records of one partition that belong to a batch."""

    topic: str
    partition: int
    from_offset: int
    until_offset: int


def pipeline(spark: SparkSession) -> DataStreamWriter:
    """Print the first ten counts of every batch."""
    for topic in TOPICS.split(","):
        provide(topic, lines())
    stream = direct_stream(spark, {"metadata.broker.list": servers()}, TOPICS)
    return (
        stream.writeStream.foreachBatch(print_counts)
        .queryName("direct-word-count")
        .trigger(processingTime=BATCH_INTERVAL)
    )


def direct_stream(
    spark: SparkSession,
    params: Mapping[str, str],
    topics: str,
    *,
    max_offsets_per_trigger: int | None = None,
) -> DataFrame:
    """Keys and values, as text, of a comma-separated list of topics.

    `params` are settings of Kafka's consumers; `metadata.broker.list` is the old name of
    `bootstrap.servers`, and one of the two is required.
    """
    known = dict(params)
    brokers = known.pop("metadata.broker.list", None) or known.get("bootstrap.servers")
    if not brokers:
        raise ValueError("a direct stream needs metadata.broker.list, the brokers as HOST:PORT,…")
    known["bootstrap.servers"] = brokers
    reader = spark.readStream.format("headrace").option("startingOffsets", "earliest")
    for key, value in known.items():
        reader = reader.option(f"kafka.{key}", value)
    if max_offsets_per_trigger is not None:
        reader = reader.option("maxOffsetsPerTrigger", max_offsets_per_trigger)
    records = reader.option("subscribe", topics).load()
    return records.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)")


def word_counts(records: DataFrame) -> DataFrame:
    """Words between single blanks, and how often each occurs in these records."""
    from pyspark.sql import functions as f

    words = records.select(f.explode(f.split("value", " ")).alias("word"))
    return words.groupBy("word").count()


def print_counts(batch: DataFrame, batch_id: int) -> None:
    rows = word_counts(batch).limit(PRINTED + 1).collect()
    if rows:
        print(f"batch {batch_id}")
    for row in rows[:PRINTED]:
        print(f"({row['word']},{row['count']})")
    if len(rows) > PRINTED:
        print("...")


def add_to_totals(path: Path, query: str) -> Callable[[DataFrame, int], None]:
    """Running totals in a database: a sink that takes each batch once."""

    def add(batch: DataFrame, batch_id: int) -> None:
        counts = [tuple(row) for row in word_counts(batch).collect()]
        with one_batch(path, query, batch_id, _TOTALS) as store:
            if store is not None:
                store.executemany(
                    "INSERT INTO totals VALUES (?, ?) "
                    "ON CONFLICT (word) DO UPDATE SET count = count + excluded.count",
                    counts,
                )

    return add


def totals(path: Path) -> dict[str, int]:
    with open_store(path, _TOTALS) as store:
        return dict(store.execute("SELECT word, count FROM totals"))


def offset_ranges(progress: Mapping[str, Any]) -> list[OffsetRange]:
    """What a batch has read, from the query's report of it."""
    ranges = []
    for source in progress["sources"]:
        ends = _offsets(source["endOffset"])
        starts = _offsets(source["startOffset"])
        ranges += [
            OffsetRange(topic, int(partition), starts.get(topic, {}).get(partition, 0), until)
            for topic, partitions in ends.items()
            for partition, until in partitions.items()
        ]
    return sorted(ranges)


def _offsets(text: str | Mapping[str, Any] | None) -> dict[str, dict[str, int]]:
    found = json.loads(text) if isinstance(text, str) else dict(text or {})
    return {topic: offsets for topic, offsets in found.items() if not topic.startswith("@")}


def commit_ranges(ranges: Iterable[OffsetRange], group: str) -> None:
    """Tell a consumer group of your own how far the query is."""
    consumer = Consumer({"bootstrap.servers": servers(), "group.id": group})
    reached = [TopicPartition(r.topic, r.partition, r.until_offset) for r in ranges]
    consumer.commit(offsets=reached, asynchronous=False)
    consumer.close()
