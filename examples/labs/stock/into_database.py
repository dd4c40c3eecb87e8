"""Each price exactly once into a database, with the offset in the same transaction.

    python -m examples.labs.stock.into_database

The group's committed offsets are not used. A row has the price, and topic, partition and offset
that it came from; whoever is given a partition asks the database and begins behind the highest
offset there. A crash between reading and committing leaves nothing behind, one after committing
repeats nothing.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from examples.labs.reading import MEMBER_SETTINGS
from examples.labs.staging import expect, on_broker
from examples.labs.stock.market import last_prices, open_market, price_of
from examples.labs.stock.price import StockPrice
from examples.leaving import leave
from headrace.testing import Broker

TOPIC: Final = "stock-prices-database"
PRICES: Final = 600
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS current_stock (
    name TEXT PRIMARY KEY, dollars INTEGER, cents INTEGER,
    topic TEXT, partition_id INTEGER, offset INTEGER, changes INTEGER)
"""
_UPSERT: Final = """
INSERT INTO current_stock VALUES (?, ?, ?, ?, ?, ?, 1)
ON CONFLICT (name) DO UPDATE SET dollars = excluded.dollars, cents = excluded.cents,
    topic = excluded.topic, partition_id = excluded.partition_id, offset = excluded.offset,
    changes = changes + 1
"""
_HIGHEST: Final = "SELECT max(offset) FROM current_stock WHERE topic = ? AND partition_id = ?"


class Crash(Exception):
    """The application ends here, as if its machine had failed."""


class DatabaseWriter:
    """A consumer whose position is in the database."""

    def __init__(self, servers: str, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute(_TABLE)
        settings = {**MEMBER_SETTINGS, "enable.auto.commit": False}
        self.consumer = Consumer({"bootstrap.servers": servers, "group.id": TOPIC, **settings})
        self.consumer.subscribe([TOPIC], on_assign=self._on_assign)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for place in partitions:
            found = self._database.execute(_HIGHEST, (place.topic, place.partition)).fetchone()[0]
            place.offset = 0 if found is None else found + 1
        consumer.assign(partitions)

    def poll(self) -> list[Message]:
        messages = self.consumer.consume(100, 0.2)
        for message in messages:
            if (error := message.error()) is not None:
                raise KafkaException(error)
        return messages

    def store(self, messages: Iterable[Message], crash_after: int | None = None) -> None:
        """All of them or none: `with` commits, or rolls back if anything fails."""
        with self._database:
            for number, message in enumerate(messages):
                if number == crash_after:
                    raise Crash
                price = price_of(message)
                values = (price.name, price.dollars, price.cents)
                place = (message.topic(), message.partition(), message.offset())
                self._database.execute(_UPSERT, (*values, *place))


def changes_of(database: sqlite3.Connection) -> int:
    """How many prices were applied, in all."""
    found: int | None = database.execute("SELECT sum(changes) FROM current_stock").fetchone()[0]
    return found or 0


def prices_in(database: sqlite3.Connection) -> dict[str, StockPrice]:
    rows = database.execute("SELECT dollars, cents, name FROM current_stock")
    return {row[2]: StockPrice(*row) for row in rows}


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    written = open_market(servers, TOPIC, PRICES)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(sqlite3.connect(Path(folder) / "stocks.db")) as database,
    ):
        say("The application fails in the middle of a transaction")
        applied = _run(servers, database, transactions=2, crash_in_last=True)
        expect(changes_of(database), applied, f"{applied} prices of whole transactions are kept")
        say("It fails after a transaction, before anybody else could hear of it")
        applied += _run(servers, database, transactions=2, crash_in_last=False)
        expect(changes_of(database), applied, f"{applied} prices are in the database")
        say("It runs to the end")
        _run_to_end(servers, database)
        expect(changes_of(database), PRICES, f"each of {PRICES} prices was applied exactly once")
        expect(prices_in(database), last_prices(written), "the table has the last ones")


def _run(
    servers: str, database: sqlite3.Connection, *, transactions: int, crash_in_last: bool
) -> int:
    """So many transactions, the last of which may fail half-way; how many prices were applied."""
    writer = DatabaseWriter(servers, database)
    applied = done = 0
    deadline = time.monotonic() + PATIENCE_S
    try:
        while done < transactions and time.monotonic() < deadline:
            messages = writer.poll()
            if not messages:
                continue
            done += 1
            crashing = crash_in_last and done == transactions
            writer.store(messages, crash_after=len(messages) // 2 if crashing else None)
            applied += len(messages)
    except Crash:
        print("crash: the transaction is rolled back")
    finally:
        leave(writer.consumer)
    return applied


def _run_to_end(servers: str, database: sqlite3.Connection) -> None:
    writer = DatabaseWriter(servers, database)
    deadline = time.monotonic() + PATIENCE_S
    while changes_of(database) < PRICES:
        if time.monotonic() > deadline:
            raise LabFailed(f"only {changes_of(database)} prices are in the database")
        writer.store(writer.poll())
    writer.store(writer.poll())  # had anything come twice, it would be here
    leave(writer.consumer)


if __name__ == "__main__":
    on_broker(story)
