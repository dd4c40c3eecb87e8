"""Two applications in a chain: the first one's results are the second one's events.

    headrace run --broker examples.chained_apps:pipeline

    topic purchases ── pricing ──┬── database (table priced)
                                 └── topic priced-purchases ── revenue ── database (table revenue)

Both topics may have other readers and writers: neither application knows the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from examples.batch_store import one_batch
from examples.topics import Draft, provide, servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

PURCHASES: Final = "purchases"
PRICED: Final = "priced-purchases"
DATABASE: Final = Path("build/chained_apps.sqlite")
_PURCHASE: Final = "id STRING, category STRING, pieces INT, piece_cents INT"
_PRICED: Final = "id STRING, category STRING, total_cents BIGINT"
PRICED_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS priced (id TEXT, category TEXT, total_cents INTEGER)"
)
REVENUE_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS revenue (category TEXT PRIMARY KEY, total_cents INTEGER)"
)


def pipeline(spark: SparkSession) -> list[DataStreamWriter]:
    provide(PURCHASES, sample())
    provide(PRICED)
    return [
        writer.trigger(processingTime="1 second")
        for writer in (pricing(spark, DATABASE), revenue(spark, DATABASE))
    ]


def pricing(spark: SparkSession, database: Path) -> DataStreamWriter:
    """The first application: consumer of one topic, producer of the next."""
    priced = _events(spark, PURCHASES, _PURCHASE).selectExpr(
        "id", "category", "CAST(pieces AS BIGINT) * piece_cents AS total_cents"
    )
    save = save_priced(database, "pricing")
    return priced.writeStream.foreachBatch(save).queryName("pricing")


def revenue(spark: SparkSession, database: Path) -> DataStreamWriter:
    """The second application: knows the second topic, and nothing of the first."""
    priced = _events(spark, PRICED, _PRICED)
    save = save_revenue(database, "revenue")
    return priced.writeStream.foreachBatch(save).queryName("revenue")


def _events(spark: SparkSession, topic: str, schema: str) -> DataFrame:
    from pyspark.sql import functions as f

    records = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    event = f.from_json(f.col("value").cast("string"), schema)
    return records.select(event.alias("event")).select("event.*").where("id IS NOT NULL")


def save_priced(database: Path, query: str) -> Callable[[DataFrame, int], None]:
    target = servers()

    def save(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        rows = [tuple(row) for row in batch.collect()]
        with one_batch(database, query, batch_id, PRICED_TABLE) as store:
            if store is not None:
                store.executemany("INSERT INTO priced VALUES (?, ?, ?)", rows)
        (
            batch.selectExpr("category AS key", "to_json(struct(*)) AS value")
            .write.format("headrace")
            .option("kafka.bootstrap.servers", target)
            .option("topic", PRICED)
            .option("writeName", "priced")
            .mode("append")
            .save()
        )
        batch.unpersist()

    return save


def save_revenue(database: Path, query: str) -> Callable[[DataFrame, int], None]:
    def save(batch: DataFrame, batch_id: int) -> None:
        rows = [tuple(row) for row in batch.groupBy("category").sum("total_cents").collect()]
        with one_batch(database, query, batch_id, REVENUE_TABLE) as store:
            if store is not None:
                store.executemany(
                    "INSERT INTO revenue VALUES (?, ?) ON CONFLICT (category) "
                    "DO UPDATE SET total_cents = total_cents + excluded.total_cents",
                    rows,
                )

    return save


def purchase(number: int, category: str, pieces: int, piece_cents: int) -> Draft:
    fields: dict[str, Any] = {
        "id": f"purchase-{number}",
        "category": category,
        "pieces": pieces,
        "piece_cents": piece_cents,
    }
    return Draft(json.dumps(fields), category)


def sample() -> list[Draft]:
    categories = ("electronics", "garden", "books")
    return [purchase(n, categories[n % 3], 1 + n % 4, 250 + n) for n in range(100)]
