"""Two applications that know each other only by a topic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.batch_store import open_store
from examples.chained_apps import PRICED, PURCHASES, pricing, purchase, revenue
from examples.topics import Draft, provide, write
from tests.apps.reading import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spec("book1:A-03")
def test_an_event_goes_all_the_way(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    """From the first topic into a database and the second topic, and on into another table."""
    provide(PURCHASES, [purchase(1, "books", 2, 300), purchase(2, "garden", 1, 999)])
    provide(PRICED)
    # The second topic has other producers too.
    write(PRICED, [Draft('{"id": "other", "category": "books", "total_cents": 1}', "books")])
    database = tmp_path / "database"
    for application in (pricing, revenue):
        query = (
            application(spark, database)
            .option("checkpointLocation", str(tmp_path / application.__name__))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    with open_store(database) as store:
        priced = store.execute("SELECT * FROM priced ORDER BY id").fetchall()
        earned = dict(store.execute("SELECT * FROM revenue"))
    assert priced == [("purchase-1", "books", 600), ("purchase-2", "garden", 999)]
    events = {json.loads(record.text)["id"]: record.key for record in read_topic(servers, PRICED)}
    assert events == {"other": b"books", "purchase-1": b"books", "purchase-2": b"garden"}
    assert earned == {"books": 601, "garden": 999}
