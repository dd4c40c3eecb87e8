"""Receiver word count: a group consumer in the driver, batches of what it holds, counted by Spark.

    headrace run --broker examples.receiver_word_count:pipeline

Three receivers per topic join the group `stream`; every five seconds the counts of what they have
received are printed. `direct_word_count.py` does the same without receivers, and without their
weaknesses.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from examples.direct_word_count import print_counts
from examples.receiver.receiver import ReceiverStream
from examples.sample_text import lines
from examples.topics import provide, servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPICS: Final = "test"
GROUP: Final = "stream"
THREADS: Final = 3
BATCH_INTERVAL_S: Final = 5.0
BATCHES: Final = 5
SCHEMA: Final = "key BINARY, value BINARY"


def pipeline(spark: SparkSession) -> None:
    """Five batches, then it ends."""
    topics = TOPICS.split(",")
    for topic in topics:
        provide(topic, lines(), partitions=THREADS)
    stream = ReceiverStream(servers(), GROUP, dict.fromkeys(topics, THREADS))
    stream.start()
    try:
        for number in range(BATCHES):
            time.sleep(BATCH_INTERVAL_S)
            run_batch(spark, stream, print_counts, number)
    finally:
        stream.stop()


def run_batch(
    spark: SparkSession,
    stream: ReceiverStream,
    process: Callable[[DataFrame, int], None],
    number: int,
) -> int:
    """Process what the receivers hold, then let it go; returns how many records that were."""
    batch = stream.take()
    rows = [row for block in batch for row in block.rows]
    records = spark.createDataFrame(rows, SCHEMA).selectExpr("key", "CAST(value AS STRING)")
    process(records, number)
    stream.done(batch)
    return len(rows)
