"""Lookups: few questions, old answers for a while, and no stop when nobody answers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.lookups import (
    MEASURED,
    NAMED,
    Cache,
    Unavailable,
    stations,
    store_names,
    with_names,
)
from examples.topics import Draft, provide, write
from tests.apps.reading import texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class Database:
    """Answers from a mapping and keeps the questions; without a mapping it is away."""

    names: Mapping[str, str] | None
    now: float = 0.0
    asked: list[list[str]] = field(default_factory=list)

    def look_up(self, keys: Sequence[str]) -> Mapping[str, str]:
        self.asked.append(list(keys))
        if self.names is None:
            raise Unavailable
        return {key: self.names[key] for key in keys if key in self.names}

    def cached(self, size: int = 100) -> Cache:
        return Cache(self.look_up, lambda: self.now, keep_s=60, retry_s=1, size=size)


@pytest.mark.spec("book2:T-09", "book2:T-10")
def test_one_question_for_all_that_is_missing() -> None:
    """Keys that repeat are asked for once; that one has no name is worth keeping too."""
    database = Database({"a": "Ada", "b": "Ben"})
    cache = database.cached()
    assert cache.get("abax") == {"a": "Ada", "b": "Ben", "x": None}
    assert cache.get("bxc") == {"b": "Ben", "x": None, "c": None}
    assert database.asked == [["a", "b", "x"], ["c"]]


@pytest.mark.spec("book2:T-09")
def test_a_change_is_seen_when_the_old_name_has_been_kept_long_enough() -> None:
    """A minute later the database is asked again."""
    database = Database({"a": "Ada"})
    cache = database.cached()
    cache.get("a")
    database.names = {"a": "Ann"}
    database.now = 59.9
    assert cache.get("a") == {"a": "Ada"}
    database.now = 60
    assert cache.get("a") == {"a": "Ann"}


@pytest.mark.spec("book2:T-09", "book2:T-10")
def test_an_outage_is_no_bottleneck() -> None:
    """What was known stays known, however old; the database is left alone for a second."""
    database = Database({"a": "Ada"})
    cache = database.cached()
    cache.get("a")
    database.names, database.now = None, 100
    for database.now in (100, 100.5, 100.9):
        assert cache.get("ab") == {"a": "Ada", "b": None}
    assert len(database.asked) == 2
    database.names, database.now = {"a": "Ann", "b": "Ben"}, 101
    assert cache.get("ab") == {"a": "Ann", "b": "Ben"}


def test_the_cache_has_a_size() -> None:
    """The names that were learnt first leave first; a batch larger than the cache has its names."""
    database = Database({key: key.upper() for key in "abcd"})
    cache = database.cached(size=2)
    assert cache.get("abc") == {"a": "A", "b": "B", "c": "C"}
    cache.get("b")
    cache.get("d")
    cache.get("cd")
    assert database.asked == [["a", "b", "c"], ["d"]]
    cache.get("b")
    assert database.asked[2:] == [["b"]]


def test_a_database_that_is_not_there_is_away(tmp_path: Path) -> None:
    """The cause is kept for whoever looks into it; a mistake in the question is no outage."""
    with pytest.raises(Unavailable, match="unable to open database file"):
        stations(tmp_path / "none.sqlite")(["a"])
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(sqlite3.OperationalError, match="no such table: stations"):
        stations(tmp_path / "empty.sqlite")(["a"])


def test_a_locked_database_is_away(tmp_path: Path) -> None:
    """Nobody waits for it longer than a moment; any number of keys is one question."""
    database = tmp_path / "stations.sqlite"
    store_names(database, {"a": "Ada"})
    assert stations(database)(["a", *map(str, range(100_000))]) == {"a": "Ada"}
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unavailable, match="locked"):
            stations(database)(["a"])


@pytest.mark.spec("book2:T-09")
def test_the_stream_goes_on_without_its_database(
    spark: SparkSession, servers: str, tmp_path: Path
) -> None:
    """Names while it is there, and every record with or without a name when it is gone."""
    database = tmp_path / "stations.sqlite"
    store_names(database, {"s1": "Upper Weir"})
    provide(MEASURED, [Draft("1.5", "s1"), Draft("2", "s2"), Draft("3", None)], partitions=1)
    provide(NAMED, partitions=1)

    def run() -> list[dict[str, object]]:
        running = (
            with_names(spark, database)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        return [json.loads(text) for text in texts(servers, NAMED)]

    first = [
        {"station": "s1", "name": "Upper Weir", "reading": 1.5},
        {"station": "s2", "reading": 2.0},
        {"reading": 3.0},
    ]
    assert run() == first
    database.unlink()
    write(MEASURED, [Draft("4", "s3")])
    assert run() == [*first, {"station": "s3", "reading": 4.0}]
