"""Changing results as records of a topic: the last value of a key is the truth of now.

Spark hands only appended rows to a sink that is written in Python, so changes are written batch by
batch. The write has a name, by which a repeated batch is found; a reader of committed records sees
every change once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.topics import servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def write_updates(rows: DataFrame, topic: str) -> DataStreamWriter:
    """Rows of key and value that have changed with a batch."""
    target = servers()

    def write(batch: DataFrame, _batch_id: int) -> None:
        (
            batch.write.format("headrace")
            .option("kafka.bootstrap.servers", target)
            .option("topic", topic)
            .option("writeName", topic)
            .mode("append")
            .save()
        )

    return rows.writeStream.outputMode("update").foreachBatch(write)
