"""Readings with the names of their stations, from a database that changes and may be away.

    headrace run --broker examples.lookups:pipeline

    topic measured ── with names ── topic measured-named
                          │
               database, by way of a cache in each worker

A question for every row would cost more than all the rest, and a database that does not answer
would stop the stream. So a worker keeps what it has looked up for a while, asks for all the keys
that it misses at once, and goes on with what it knows while the database is away. It prefers speed:
a name may be old by as long as it is kept, and every worker learns it anew.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from examples.topics import Draft, provide, servers

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

MEASURED: Final = "measured"
NAMED: Final = "measured-named"
DATABASE: Final = Path("build/stations.sqlite")
BUDGET_S: Final = 0.05  # for a question, however many keys are in it
_NAMES_OF: Final = "SELECT id, name FROM stations WHERE id IN (SELECT value FROM json_each(?))"
_AWAY: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR)


class Unavailable(Exception):
    """The database did not answer within its budget."""


@dataclass(slots=True)
class Cache:
    """What was looked up, for as long as it may be old; the oldest leave when it is full."""

    look_up: Callable[[Sequence[str]], Mapping[str, str]]
    clock: Callable[[], float] = time.monotonic
    keep_s: float = 60.0
    retry_s: float = 1.0  # a database that is away is left alone for so long
    size: int = 100_000
    _known: dict[str, tuple[str | None, float]] = field(default_factory=dict)  # value, until when
    _away_until: float = float("-inf")

    def get(self, keys: Iterable[str]) -> dict[str, str | None]:
        """The value of each key; None if it has none, or if that cannot be known now."""
        wanted, now = dict.fromkeys(keys), self.clock()
        missing = [key for key in wanted if key not in self._known or self._known[key][1] <= now]
        if missing and now >= self._away_until:
            try:
                found = self.look_up(missing)
            except Unavailable:
                self._away_until = now + self.retry_s
            else:
                for key in missing:
                    self._known.pop(key, None)  # what is newest goes to the end
                    self._known[key] = (found.get(key), now + self.keep_s)
        values = {key: self._known[key][0] if key in self._known else None for key in wanted}
        while len(self._known) > self.size:
            del self._known[next(iter(self._known))]
        return values


def stations(database: Path) -> Callable[[Sequence[str]], Mapping[str, str]]:
    """The question to the database, for any number of keys at once."""

    def look_up(keys: Sequence[str]) -> Mapping[str, str]:
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", BUDGET_S, uri=True)) as store:
                return dict(store.execute(_NAMES_OF, [json.dumps(keys)]).fetchall())
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode in _AWAY:
                raise Unavailable(str(fault)) from fault
            raise  # a mistake in the question: waiting does not mend it

    return look_up


@cache
def cache_of(database: Path) -> Cache:
    """The one of this worker: Spark keeps workers from batch to batch, and so this."""
    return Cache(stations(database))


def pipeline(spark: SparkSession) -> DataStreamWriter:
    provide(MEASURED, [Draft(f"{20 + n % 7}", f"station-{n % 4}") for n in range(100)])
    provide(NAMED)
    store_names(DATABASE, {f"station-{n}": f"Weir {n}" for n in range(3)})
    return with_names(spark, DATABASE.resolve()).trigger(processingTime="1 second")


def with_names(spark: SparkSession, database: Path) -> DataStreamWriter:
    """Each measurement with the name of its station; one without a name stays."""
    from pyspark.sql import functions as f

    records = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", MEASURED)
        .option("startingOffsets", "earliest")
        .load()
    )
    station = f.col("key").cast("string")
    reading = f.struct(
        station.alias("station"),
        name_of(station, database).alias("name"),
        f.col("value").cast("string").cast("double").alias("reading"),
    )
    return (
        records.select("key", f.to_json(reading).alias("value"))
        .writeStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("topic", NAMED)
        .queryName("with-names")
    )


def name_of(station: Column, database: Path) -> Column:
    """The column of names, made by whole Arrow batches."""
    from pyspark.sql.pandas import functions

    def names(keys: pa.Array) -> pa.Array:
        wanted = keys.to_pylist()
        known = cache_of(database).get(key for key in wanted if key is not None)
        return pa.array([known.get(key) for key in wanted], pa.string())

    arrow_udf: Any = functions.arrow_udf  # its annotations want the kind, which Spark derives
    column: Column = arrow_udf(names, "string")(station)
    return column


def store_names(database: Path, names: Mapping[str, str]) -> None:
    database.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database)) as store, store:
        store.execute("CREATE TABLE IF NOT EXISTS stations (id TEXT PRIMARY KEY, name TEXT)")
        store.executemany("INSERT OR REPLACE INTO stations VALUES (?, ?)", names.items())
