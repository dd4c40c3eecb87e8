"""Results as text files: a line a record, a folder a batch.

    headrace run --broker examples.text_batches:pipeline

    build/requests/batch-0.txt/part-00000-….txt
    build/requests/batch-1.txt/part-00000-….txt

A folder is named by its batch, not by the clock, and lies beneath one base folder: a repeated batch
replaces its own folder and nothing else, and a table over the base folder sees all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from examples.ip_fraud.traffic import Plan, batches
from examples.topics import Draft, provide, servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

TOPIC: Final = "requests"
FOLDER: Final = Path("build/requests")
BATCH_RECORDS: Final = 200
SAMPLE: Final = Plan(seed=3, ticks=2, records_per_tick=250, begin_ms=1_078_786_800_000)


def pipeline(spark: SparkSession) -> DataStreamWriter:
    """Every record of the topic, as text."""
    provide(TOPIC, (Draft(request.text) for batch in batches(SAMPLE) for request in batch.requests))
    records = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", BATCH_RECORDS)
        .load()
    )
    lines = records.selectExpr("CAST(value AS STRING) AS line")
    return lines.writeStream.foreachBatch(save_text(FOLDER, "batch", "txt")).queryName("text")


def save_text(folder: Path, prefix: str, suffix: str = "") -> Callable[[DataFrame, int], None]:
    """Write each batch, which has one column of text, to `folder/prefix-<batch>[.suffix]`."""
    ending = f".{suffix}" if suffix else ""

    def save(batch: DataFrame, batch_id: int) -> None:
        batch.write.mode("overwrite").text(str(folder / f"{prefix}-{batch_id}{ending}"))

    return save
