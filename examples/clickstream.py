"""Clicks of a web site into a store: robots removed, sessions added, each click stored once.

    headrace run --broker examples.clickstream:pipeline

A click is stored in the transaction that marks its batch, under its own id. So neither a batch that
Spark repeats nor a click that a web server sends twice is stored twice, and none is lost: the store
is asked what it has, not the checkpoint.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from examples.batch_store import one_batch, open_store
from examples.topics import Draft, provide, servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

TOPIC: Final = "clicks"
QUERY: Final = "clickstream"
STORE: Final = Path("build/clickstream.sqlite")
SESSION_GAP_MS: Final = 30 * 60 * 1_000
ROBOTS: Final = "(?i)bot|crawler|spider"
_SCHEMA: Final = "id STRING, visitor STRING, time_ms BIGINT, url STRING, agent STRING"
_CLICKS: Final = (
    "CREATE TABLE IF NOT EXISTS clicks (id TEXT PRIMARY KEY, visitor TEXT, time_ms INTEGER, "
    "url TEXT, session TEXT)"
)
_BY_VISITOR: Final = "CREATE INDEX IF NOT EXISTS by_visitor ON clicks (visitor, time_ms)"


class Click(NamedTuple):
    id: str
    visitor: str
    time_ms: int
    url: str


def pipeline(spark: SparkSession) -> DataStreamWriter:
    provide(TOPIC, sample())
    clicks = human_clicks(read(spark))
    return (
        clicks.writeStream.foreachBatch(store_clicks(STORE, QUERY))
        .queryName(QUERY)
        .trigger(processingTime="2 seconds")
    )


def read(spark: SparkSession) -> DataFrame:
    return (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .load()
    )


def human_clicks(records: DataFrame) -> DataFrame:
    """Clicks that are complete and whose agent does not call itself a robot."""
    from pyspark.sql import functions as f

    click = f.from_json(f.col("value").cast("string"), _SCHEMA)
    clicks = records.select(click.alias("click")).select("click.*")
    complete = clicks.where("id IS NOT NULL AND visitor IS NOT NULL AND time_ms IS NOT NULL")
    return complete.where(~f.coalesce(f.rlike("agent", f.lit(ROBOTS)), f.lit(False)))


def store_clicks(path: Path, query: str) -> Callable[[DataFrame, int], None]:
    """The sink: one transaction per batch."""

    def store_batch(batch: DataFrame, batch_id: int) -> None:
        rows = batch.select("id", "visitor", "time_ms", "url").orderBy("time_ms").collect()
        with one_batch(path, query, batch_id, _CLICKS, _BY_VISITOR) as store:
            if store is not None:
                add_clicks(store, (Click(*row) for row in rows))

    return store_batch


def add_clicks(store: sqlite3.Connection, clicks: Iterable[Click]) -> None:
    """Store clicks in the order of time; a click belongs to the session of the one before it."""
    for click in clicks:
        last = store.execute(
            "SELECT time_ms, session FROM clicks WHERE visitor = ? AND time_ms <= ? "
            "ORDER BY time_ms DESC LIMIT 1",
            (click.visitor, click.time_ms),
        ).fetchone()
        goes_on = last is not None and click.time_ms - last[0] <= SESSION_GAP_MS
        session = last[1] if goes_on else f"{click.visitor}-{click.time_ms}"
        store.execute("INSERT OR IGNORE INTO clicks VALUES (?, ?, ?, ?, ?)", (*click, session))


def stored_clicks(path: Path) -> list[tuple[Any, ...]]:
    """What the store has: id, visitor, time, url and session, in the order of ids."""
    with open_store(path, _CLICKS) as store:
        return store.execute("SELECT * FROM clicks ORDER BY id").fetchall()


def draft(click: Click, agent: str) -> Draft:
    return Draft(json.dumps({**click._asdict(), "agent": agent}), click.visitor)


def sample() -> list[Draft]:
    """Two people and a robot."""
    begin_ms = 1_078_786_800_000
    clicks = []
    for number in range(60):
        visitor = ("ada", "ben", "c3po")[number % 3]
        click = Click(f"click-{number:03}", visitor, begin_ms + number * 120_000, f"/page/{number}")
        clicks.append(draft(click, "GoodBot/2.1" if visitor == "c3po" else "Mozilla/5.0"))
    return clicks
