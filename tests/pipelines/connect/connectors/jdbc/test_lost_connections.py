"""Connections that are cut: nothing is lost, nothing is written twice, and somebody is told."""

from __future__ import annotations

import pytest
from adbc_driver_sqlite.dbapi import connect

from headrace.pipelines.connect.faults import ConnectException, RetriableException
from headrace.pipelines.connect.model import schema as schemas
from tests.pipelines.connect.connectors.jdbc.databases import Database, Mariadb, Sqlite
from tests.pipelines.connect.connectors.jdbc.harness import sink, source, task_of, values
from tests.pipelines.connect.connectors.jdbc.records import records
from tests.servers.server import free_port

NAMED = schemas.struct({"id": schemas.INT32, "name": schemas.STRING})
SETTINGS = {"auto.create": "true", "headrace.exactly.once": "true"}
servers = pytest.mark.parametrize("database", ["postgres", "mariadb"], indirect=True)


def cut(database: Database) -> None:
    """End every connection to the database but the one that says so."""
    if isinstance(database, Mariadb):
        query = f"SELECT id FROM information_schema.processlist WHERE db = '{database.name}'"
        own = database.rows("SELECT connection_id()")
        for row in database.rows(query):
            if row not in own:
                database.run(f"KILL {row[0]}")
        return
    database.rows(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


@servers
def test_a_sink_asks_for_the_batch_again(database: Database) -> None:
    first, second = (
        records(NAMED, [{"id": n, "name": "x"} for n in range(at, at + 3)], start=at)[0]
        for at in (0, 3)
    )
    with sink({**database.settings, **SETTINGS, "retry.backoff.ms": "70"}) as task:
        task.assigned([("t", 0)])
        task.put(first)
        cut(database)
        with pytest.raises(RetriableException):
            task.put(second)
        assert task_of(task).rests == [0.07]
        task.put(second)
        task.put(second)
    assert database.rows("SELECT id FROM t ORDER BY id") == [(n,) for n in range(6)]


@servers
def test_a_sink_without_retries_fails(database: Database) -> None:
    (batch,) = records(NAMED, [{"id": 1, "name": "x"}])
    with sink({**database.settings, **SETTINGS, "max.retries": "0"}) as task:
        task.assigned([("t", 0)])
        cut(database)
        with pytest.raises(ConnectException) as fault:
            task.put(batch)
        assert not isinstance(fault.value, RetriableException)


@servers
def test_a_source_reads_on(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    database.run("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, pad VARCHAR(2000))")
    rows = ", ".join(f"({n}, '{'x' * 2000}')" for n in range(5000))
    database.run(f"INSERT INTO t VALUES {rows}")
    by_id = {"mode": "incrementing", "incrementing.column.name": "id", "batch.max.rows": "1000"}
    found: list[object] = []
    with source({**database.settings, **by_id}) as task:
        found += [row["id"] for row in values(task.poll())]
        cut(database)
        while len(found) < 5000:
            found += [row["id"] for row in values(task.poll())]
    assert found == list(range(5000))
    assert "cannot be read" in caplog.text


def test_a_server_that_is_not_there() -> None:
    url = f"jdbc:postgresql://127.0.0.1:{free_port()}/nowhere"
    settings = {"connection.url": url, "connection.backoff.ms": "40", "max.retries": "1"}
    (batch,) = records(NAMED, [{"id": 1, "name": "x"}])
    with sink(settings) as task:
        with pytest.raises(RetriableException, match=r"no connection to postgresql://127\.0\.0\.1"):
            task.put(batch)
        assert task_of(task).rests == [0.04, 0.04, 3.0]
        with pytest.raises(ConnectException) as fault:
            task.put(batch)
        assert not isinstance(fault.value, RetriableException)


def test_a_file_that_somebody_else_writes(sqlite: Sqlite) -> None:
    sqlite.run("CREATE TABLE t (id INTEGER, name TEXT)")
    (batch,) = records(NAMED, [{"id": 1, "name": "x"}])
    url = sqlite.settings["connection.url"] + "?busy_timeout=10"
    with connect(str(sqlite.path)) as other, sink({"connection.url": url}) as task:
        with other.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (7, 'y')")
        with pytest.raises(RetriableException, match="database is locked"):
            task.put(batch)
        other.rollback()
        task.put(batch)
    assert sqlite.rows("SELECT * FROM t") == [(1, "x")]


@servers
def test_rows_are_read_as_the_server_sends_them(database: Database) -> None:
    """After the first batch of a long result the server still has most of it to send."""
    database.run("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, pad VARCHAR(2000))")
    for start in range(0, 20_000, 5_000):
        rows = ", ".join(f"({n}, '{'x' * 2000}')" for n in range(start, start + 5_000))
        database.run(f"INSERT INTO t VALUES {rows}")
    busy = (
        f"SELECT count(*) FROM information_schema.processlist WHERE db = '{database.name}' "
        "AND info LIKE 'SELECT%`t`%' AND id <> connection_id()"
        if isinstance(database, Mariadb)
        else "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND state = 'active' AND query LIKE 'COPY%' AND pid <> pg_backend_pid()"
    )
    with source({**database.settings, "mode": "bulk", "batch.max.rows": "50"}) as task:
        assert len(values(task.poll())) == 50
        assert database.rows(busy) == [(1,)]
