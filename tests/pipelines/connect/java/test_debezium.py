"""Debezium's connector for PostgreSQL as its makers pack it, on a server of its own."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from adbc_driver_postgresql import dbapi as postgresql
from confluent_kafka import Consumer

from headrace.pipelines.connect.java.found import PATH
from tests.pipelines.connect.java.jars import plugin_archive
from tests.pipelines.connect.worker.running import Worker
from tests.servers.postgres import USER, postgres
from tests.servers.server import HOST

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
VERSION = "3.6.0.Final"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PATIENCE_S = 240
LAST = -1
Event = tuple[str, int, object]
Start = Callable[..., Worker]

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]


class Database:
    """A server with the empty table `shop`, whose changes a connector may follow."""

    def __init__(self, port: int) -> None:
        self.port = port
        address = f"postgresql://{USER}@{HOST}:{port}/postgres"
        self._connection = postgresql.connect(address, autocommit=True)
        self.run("CREATE TABLE shop(id INT PRIMARY KEY, name TEXT)")
        self.run("ALTER TABLE shop REPLICA IDENTITY FULL")

    def run(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def follower_is_there(self) -> bool:
        """Whether a connector follows the log: its snapshot is over then."""
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_replication_slots WHERE active")
            return bool(cursor.fetchone() == (1,))

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def database() -> Iterator[Database]:
    """A new one."""
    with postgres() as server, closing(Database(server.port)) as made:
        yield made


class Changes:
    """Changes at random, and the events that they must lead to."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._chance = random.Random(7)
        self._next = 0
        self.rows: dict[int, str] = {}
        self.events: list[Event] = []

    def make(self, count: int) -> None:
        for _ in range(count):
            kind = self._chance.choice("ccud") if self.rows else "c"
            if kind == "c":
                self._next += 1
                self._change("c", self._next, f"name {self._next} \u00fc")
            elif kind == "u":
                key = self._chance.choice(sorted(self.rows))
                self._change("u", key, f"{self.rows[key]}+")
            else:
                self._change("d", self._chance.choice(sorted(self.rows)), None)

    def end(self) -> None:
        self._change("c", LAST, "the end")

    def _change(self, kind: str, key: int, name: str | None) -> None:
        if kind == "c":
            self._database.run(f"INSERT INTO shop VALUES ({key}, '{name}')")
        elif kind == "u":
            self._database.run(f"UPDATE shop SET name = '{name}' WHERE id = {key}")
        else:
            self._database.run(f"DELETE FROM shop WHERE id = {key}")
        if name is None:
            del self.rows[key]
        else:
            self.rows[key] = name
        self.events.append((kind, key, name))


def events(bootstrap: str, topic: str) -> list[tuple[int, Event]]:
    """What the topic has up to the last change, each with its place in the database's log."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"look-{topic}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    found: list[tuple[int, Event]] = []
    end = time.monotonic() + PATIENCE_S
    with closing(consumer):
        while not found or found[-1][1][1] != LAST:
            assert time.monotonic() < end, found[-3:]
            for message in consumer.consume(100, 0.2):
                value = message.value()
                if message.error() is None and value is not None:
                    told = json.loads(value)
                    row = told["after"] or told["before"]
                    name = None if told["after"] is None else told["after"]["name"]
                    found.append((told["source"]["lsn"], (told["op"], row["id"], name)))
    return found


def test_no_change_is_lost_across_restarts(
    start: Start,
    plugins: dict[str, str],
    database: Database,
    bootstrap: str,
    tmp_path: Path,
) -> None:
    """Rows that were there are snapshot, later changes follow in their order; what is repeated
    after a restart is repeated whole."""
    path = f"{plugins[PATH]},{plugin_archive('io.debezium:debezium-connector-postgres', VERSION)}"
    config = {
        "name": "shop",
        "connector.class": CLASS,
        "database.hostname": HOST,
        "database.port": str(database.port),
        "database.user": USER,
        "database.dbname": "postgres",
        "topic.prefix": "cdc",
        "table.include.list": "public.shop",
        "plugin.name": "pgoutput",
        "slot.name": "headrace",
        "publication.autocreate.mode": "filtered",
        "key.converter": JSON,
        "value.converter": JSON,
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
    }
    changes = Changes(database)
    changes.make(20)
    present = {("r", key, name) for key, name in changes.rows.items()}
    changes.events.clear()
    for round_ in range(3):
        worker = start(**{PATH: path, "task.shutdown.graceful.timeout.ms": "60000"})
        worker.create(config)
        wait_for_follower(database)
        changes.make(150)
        if round_ < 2:
            worker.stop()
            changes.make(50)
        else:
            changes.end()
            found = events(bootstrap, "cdc.public.shop")
    streamed = [(place, event) for place, event in found if event[0] != "r"]
    assert {event for _, event in found if event[0] == "r"} == present
    once = dict(streamed)
    assert len(once) == len(changes.events)
    assert [once[place] for place in sorted(once)] == changes.events


def wait_for_follower(database: Database) -> None:
    end = time.monotonic() + PATIENCE_S
    while not database.follower_is_there():
        assert time.monotonic() < end
        time.sleep(0.1)
