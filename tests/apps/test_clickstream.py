"""Clicks into a store: no robots, sessions, each click once whatever is repeated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.batch_store import open_store
from examples.clickstream import (
    SESSION_GAP_MS,
    TOPIC,
    Click,
    add_clicks,
    draft,
    human_clicks,
    read,
    store_clicks,
    stored_clicks,
)
from examples.topics import Draft, provide, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BEGIN_MS = 1_700_000_000_000
HUMAN = "Mozilla/5.0"


def clicks(visitor: str, times: list[int]) -> list[Click]:
    return [
        Click(f"{visitor}-{n}", visitor, BEGIN_MS + time, f"/{n}") for n, time in enumerate(times)
    ]


@pytest.mark.spec("book1:A-16", "book1:C-35", "book2:T-20")
def test_each_click_is_stored_once(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    """Killed between store and commit, and fed a click twice: nothing is lost or doubled."""
    ada = clicks("ada", [0, 60_000, 60_000 + SESSION_GAP_MS, 70_000 + 2 * SESSION_GAP_MS])
    sent = [draft(click, HUMAN) for click in ada]
    sent += [draft(click, "SuperSpider/1.0") for click in clicks("robot", [5, 6, 7])]
    sent += [draft(ada[1], HUMAN), Draft("no json"), Draft(None)]
    provide(TOPIC, sent, partitions=1)
    store = store_clicks(tmp_path / "store", "clickstream")
    died: list[int] = []

    def store_and_die(batch: DataFrame, batch_id: int) -> None:
        store(batch, batch_id)
        if not died:
            died.append(batch_id)
            raise OSError("killed before the commit")

    def run() -> Any:
        return (
            human_clicks(read(spark))
            .writeStream.foreachBatch(store_and_die)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    failing = run()
    with pytest.raises(Exception, match="killed before the commit"):
        failing.awaitTermination()
    assert len(stored_clicks(tmp_path / "store")) == 4
    write(TOPIC, [draft(click, HUMAN) for click in clicks("ben", [0])])
    run().awaitTermination()
    found = stored_clicks(tmp_path / "store")
    assert [row[0] for row in found] == ["ada-0", "ada-1", "ada-2", "ada-3", "ben-0"]
    first, last = f"ada-{BEGIN_MS}", f"ada-{ada[3].time_ms}"
    assert [row[4] for row in found] == [first, first, first, last, f"ben-{BEGIN_MS}"]


def test_sessions_go_on_from_batch_to_batch(tmp_path: Path) -> None:
    """A click joins the session of the visitor's last one unless the gap is too long."""
    table = "CREATE TABLE clicks (id TEXT PRIMARY KEY, visitor, time_ms, url, session)"
    with open_store(tmp_path / "store", table) as store:
        add_clicks(store, clicks("ada", [0]))
        add_clicks(store, clicks("ada", [0, SESSION_GAP_MS]))
        add_clicks(store, clicks("ada", [0, SESSION_GAP_MS, 2 * SESSION_GAP_MS + 1]))
        sessions = store.execute("SELECT session, count(*) FROM clicks GROUP BY 1").fetchall()
    assert sorted(count for _, count in sessions) == [1, 2]
