"""Changing results as records of a topic: the last value of a key is the truth of now.

Output mode update writes what a batch has changed; a reader of committed records sees every change
once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.topics import servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def write_updates(rows: DataFrame, topic: str) -> DataStreamWriter:
    """Rows of key and value that have changed with a batch."""
    writer = rows.writeStream.format("headrace").outputMode("update")
    return writer.option("kafka.bootstrap.servers", servers()).option("topic", topic)
