"""The JDBC source against real databases: which rows it finds, and where it goes on."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

import pytest

from headrace.pipelines.connect.connectors.jdbc.source import JdbcSource
from headrace.pipelines.connect.faults import ConfigException, ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.tasks import connector_of
from tests.pipelines.connect.connectors.jdbc.databases import Database, Postgres, Sqlite
from tests.pipelines.connect.connectors.jdbc.harness import Kept, source, values

PAST = "2020-01-01 10:00:00"
BY_ID = {"mode": "incrementing", "incrementing.column.name": "id"}
BY_TIME = {"mode": "timestamp", "timestamp.column.name": "changed"}
BY_BOTH = {**BY_ID, **BY_TIME, "mode": "timestamp+incrementing"}


def ids(found: list[dict[str, object]]) -> list[object]:
    return [row["id"] for row in found]


def drivers(database: Database, *rows: str) -> None:
    """A table of drivers with an id, a name and the moment of its last change."""
    database.run(
        "CREATE TABLE driver (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20), "
        f"changed {database.timestamp} NOT NULL)",
        *(f"INSERT INTO driver VALUES ({row})" for row in rows),
    )


@pytest.mark.spec("slides:H04", "slides:H12", "admin:CN-11")
def test_its_names() -> None:
    declared = connector_of(JdbcSource)
    assert declared.name == "io.confluent.connect.jdbc.JdbcSourceConnector"
    assert {"JdbcSourceConnector", "JdbcSource"} <= set(declared.aliases)


@pytest.mark.spec("book2:A4-01", "book2:A4-02", "book2:A4-05", "book2:D-01", "book2:D-02")
def test_the_quickstart(sqlite: Sqlite) -> None:
    """The book's database: ids are plain, names may be null, later rows come alone."""
    sqlite.run(
        "CREATE TABLE authors(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name VARCHAR(255));",
        "INSERT INTO authors(name) VALUES ('Manish')",
        "INSERT INTO authors(name) VALUES ('Chanchal')",
    )
    settings = {**sqlite.settings, **BY_ID, "topic.prefix": "test-"}
    with source(settings) as task:
        (batch,) = task.read()
        assert batch.topic == "test-authors"
        assert batch.value.schema == schemas.struct(
            {"id": schemas.INT32, "name": schemas.OPTIONAL_STRING}, name="authors"
        )
        assert values([batch]) == [{"id": 1, "name": "Manish"}, {"id": 2, "name": "Chanchal"}]
        assert [dict(mark.partition) for mark in batch.marks] == [
            {"protocol": "1", "table": "authors"}
        ]
        assert [dict(mark.offset) for mark in batch.marks] == [{"incrementing": 2}]


@pytest.mark.spec("book2:A4-09", "admin:CN-09", "admin:CN-10")
@pytest.mark.parametrize("mode", [BY_ID, BY_BOTH], ids=["id", "both"])
def test_a_restart_reads_on(database: Database, mode: Mapping[str, str]) -> None:
    drivers(database, f"1, 'a', '{PAST}'", f"2, 'b', '{PAST}'")
    settings, kept = {**database.settings, **mode}, Kept()
    with source(settings, kept) as task:
        assert ids(values(task.read())) == [1, 2]
    database.run(f"INSERT INTO driver VALUES (3, 'c', '{PAST}')")
    with source(settings, kept) as task:
        assert ids(values(task.read())) == [3]
        assert task.read() == []


@pytest.mark.spec("slides:H12", "slides:H13")
def test_rows_that_change_come_again(database: Database) -> None:
    """Drivers 10 and 11 change twice after they were read, 12 does not."""
    drivers(database, *(f"{n}, 'x', '{PAST}'" for n in (10, 11, 12)))
    seen: list[object] = []
    with source({**database.settings, **BY_TIME, "table.whitelist": "driver"}) as task:
        seen += ids(values(task.read()))
        for hour in (11, 12):
            new = f"'2020-01-01 {hour}:00:00'"
            database.run(f"UPDATE driver SET changed = {new} WHERE id < 12")
            seen += ids(values(task.read()))
    assert [seen.count(number) for number in (10, 11, 12)] == [3, 3, 1]


@pytest.mark.spec("admin:CN-10", "admin:CN-11", "admin:CN-12")
def test_the_course_s_drivers(postgres: Postgres) -> None:
    """The connector of the course, key by key; its columns have names that are types."""
    postgres.run(
        "CREATE TABLE driver (id NUMERIC(6) PRIMARY KEY, name TEXT, "
        "timestamp TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP - INTERVAL '1 day')",
        "INSERT INTO driver (id, name) VALUES (1, 'Ann'), (2, 'Bob')",
    )
    settings = {
        **postgres.settings,
        "table.whitelist": "driver",
        "topic.prefix": "",
        "mode": "timestamp+incrementing",
        "incrementing.column.name": "id",
        "timestamp.column.name": "timestamp",
        "table.types": "TABLE",
        "numeric.mapping": "best_fit",
    }
    with source(settings) as task:
        (batch,) = task.read()
        assert batch.topic == "driver"
        assert [(row["id"], row["name"]) for row in values([batch])] == [(1, "Ann"), (2, "Bob")]
        postgres.run("UPDATE driver SET name = 'Bea', timestamp = timestamp + INTERVAL '1 hour'")
        assert [row["name"] for row in values(task.read())] == ["Bea", "Bea"]


def test_rows_of_one_moment_are_read_whole_after_a_crash(database: Database) -> None:
    """A moment's offset is committed only once no more of its rows can follow."""
    late = "2020-01-01 11:00:00"
    drivers(database, *(f"{n}, 'x', '{late if n > 2 else PAST}'" for n in range(1, 6)))
    settings = {**database.settings, **BY_TIME, "batch.max.rows": "2"}
    kept = Kept()
    with source(settings, kept) as task:
        assert [ids(values(task.poll())), ids(values(task.poll()))] == [[1, 2], [3, 4]]
    with source(settings, kept) as task:
        assert ids(values(task.read())) == [3, 4, 5]
    (offset,) = kept.by_partition.values()
    assert offset == {"timestamp": 1577876400000, "timestamp_nanos": 0}


def test_the_first_moment_that_is_not_null_counts(database: Database) -> None:
    kind = database.timestamp
    database.run(
        f"CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, a {kind} NULL, b {kind} NOT NULL)",
        "INSERT INTO t VALUES (1, '2020-01-03 00:00:00', '2020-01-01 00:00:00')",
        "INSERT INTO t VALUES (2, NULL, '2020-01-02 00:00:00')",
    )
    settings = {**database.settings, **BY_TIME, "timestamp.column.name": "a,b"}
    with source(settings) as task:
        assert ids(values(task.read())) == [2, 1]
        database.run("UPDATE t SET a = '2020-01-04 00:00:00' WHERE id = 2")
        assert ids(values(task.read())) == [2]


def test_rows_younger_than_the_delay_wait(database: Database) -> None:
    drivers(database, f"1, 'old', '{PAST}'")
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(" ", "seconds")
    database.run(f"INSERT INTO driver VALUES (2, 'new', '{now}')")
    settings = {**database.settings, **BY_TIME}
    with source({**settings, "timestamp.delay.interval.ms": "3600000"}) as task:
        assert ids(values(task.read())) == [1]
    with source({**settings, "timestamp.delay.interval.ms": "-3600000"}) as task:
        assert ids(values(task.read())) == [1, 2]


def test_where_the_first_poll_begins(database: Database) -> None:
    drivers(database, "1, 'a', '2020-01-01 00:00:00'", "2, 'b', '2020-01-01 00:00:01'")
    settings = {**database.settings, **BY_TIME}
    with source({**settings, "timestamp.initial": "1577836800000"}) as task:
        assert ids(values(task.read())) == [2]
    with source({**settings, "timestamp.initial": "-1"}) as task:
        assert task.read() == []


def test_bulk_reads_everything_each_time(database: Database) -> None:
    drivers(database, f"1, 'a', '{PAST}'", f"2, 'b', '{PAST}'")
    settings = {**database.settings, "mode": "bulk", "batch.max.rows": "1"}
    with source(settings) as task:
        polls = [task.poll() for _ in range(4)]
        assert [ids(values(poll)) for poll in polls] == [[1], [2], [1], [2]]
        assert not task.kept.by_partition


def test_a_query(database: Database) -> None:
    drivers(database, *(f"{n}, 'd{n}', '{PAST}'" for n in range(1, 6)))
    query = "SELECT id, UPPER(name) AS loud FROM driver"
    settings = {**database.settings, **BY_ID, "query": query, "topic.prefix": "loud"}
    with source({**settings, "query.suffix": "LIMIT 2"}) as task:
        batches = [task.poll() for _ in range(3)]
        assert {batch.topic for poll in batches for batch in poll} == {"loud"}
        assert [ids(values(poll)) for poll in batches] == [[1, 2], [3, 4], [5]]
        assert values(batches[0])[0] == {"id": 1, "loud": "D1"}
        (place,) = task.kept.by_partition
        assert dict(place) == {"query": "query"}


@pytest.mark.spec("admin:CN-03", "admin:CN-09", "slides:H05")
def test_tables_are_dealt_to_tasks(database: Database) -> None:
    for name in ("a", "b", "c", "d", "e"):
        database.run(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY)")
        database.run(f"INSERT INTO {name} VALUES (7)")
    settings = {**database.settings, **BY_ID, "topic.prefix": "p-"}
    topics: list[list[str]] = []
    for number in range(2):
        with source(settings, most=2, task=number) as task:
            assert len(task.configs) == 2
            topics.append([batch.topic for batch in task.read()])
    assert topics == [["p-a", "p-b", "p-c"], ["p-d", "p-e"]]


def test_it_rests_between_polls(sqlite: Sqlite) -> None:
    """Until a table is due, but never so long that a wish to pause would have to wait."""
    sqlite.run("CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with source({**sqlite.settings, **BY_ID, "poll.interval.ms": "60000"}) as task:
        assert ids(values(task.poll())) == [1]
        sqlite.run("INSERT INTO t VALUES (2)")
        assert task.poll() == []
        assert task.context.rests == [1.0]
    with source({**sqlite.settings, **BY_ID, "poll.interval.ms": "500"}) as task:
        task.poll()
        assert task.poll() == []
        assert 0 < task.context.rests[0] <= 0.5


CHOICES: list[tuple[dict[str, str], list[str]]] = [
    ({"table.whitelist": "b,c"}, ["b", "c"]),
    ({"table.blacklist": "b"}, ["a", "c"]),
    ({"table.include.list": "(.*\\.)?[ab]"}, ["a", "b"]),
    ({"table.include.list": ".*", "table.exclude.list": "(.*\\.)?a"}, ["b", "c"]),
    ({"table.types": "VIEW"}, ["v"]),
    ({"table.types": "TABLE,VIEW", "table.whitelist": "a,v"}, ["a", "v"]),
]


def test_which_tables(database: Database) -> None:
    for name in ("a", "b", "c"):
        database.run(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY)")
        database.run(f"INSERT INTO {name} VALUES (1)")
    database.run("CREATE VIEW v AS SELECT id FROM a")
    for chosen, topics in CHOICES:
        with source({**database.settings, "mode": "bulk", **chosen}) as task:
            found = [batch.topic for _ in topics for batch in task.poll()]
        assert sorted(found) == topics, chosen


@pytest.mark.spec("admin:CN-09")
def test_new_and_dropped_tables_ask_for_new_tasks(database: Database) -> None:
    database.run("CREATE TABLE a (id INTEGER NOT NULL PRIMARY KEY)")
    settings = {**database.settings, **BY_ID, "table.poll.interval.ms": "0"}
    with source(settings) as task:
        task.poll()
        assert task.context.reconfigured == 0
        database.run("CREATE TABLE b (id INTEGER NOT NULL PRIMARY KEY)")
        task.poll()
        assert task.context.reconfigured == 1
    with source(settings) as task:
        database.run("DROP TABLE b")
        task.poll()
        assert task.context.reconfigured == 1


def test_a_dropped_table_does_not_stop_the_others(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b"):
        database.run(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY)")
    with source({**database.settings, **BY_ID}) as task:
        database.run("DROP TABLE a", "INSERT INTO b VALUES (1)")
        found = [batch for _ in range(4) for batch in task.poll()]
        assert ids(values(found)) == [1]
    assert "cannot be read: no such table" in caplog.text


def test_new_columns_are_read(database: Database) -> None:
    drivers(database, f"1, 'a', '{PAST}'")
    with source({**database.settings, **BY_ID}) as task:
        task.read()
        database.run("ALTER TABLE driver ADD COLUMN age INTEGER")
        database.run(f"INSERT INTO driver VALUES (2, 'b', '{PAST}', 44)")
        (row,) = values(task.read())
        assert row["age"] == 44


def test_columns_that_tell_new_rows_must_not_be_null(database: Database) -> None:
    kind = database.timestamp
    database.run(f"CREATE TABLE t (id INTEGER NULL, changed {kind} NULL)")
    name = "t" if database.kind == "sqlite" else f"{database_name(database)}.t"
    with pytest.raises(ConnectException) as fault, source({**database.settings, **BY_ID}):
        pass
    assert str(fault.value) == (
        f"Cannot make incremental queries using incrementing column id on {name} because this "
        "column is nullable."
    )
    with pytest.raises(ConnectException) as fault, source({**database.settings, **BY_TIME}):
        pass
    assert str(fault.value) == (
        f"Cannot make incremental queries using timestamp columns [changed] on {name} because all "
        "of these columns nullable."
    )
    database.run(f"INSERT INTO t VALUES (1, '{PAST}')")
    with source({**database.settings, **BY_BOTH, "validate.non.null": "false"}) as task:
        assert ids(values(task.read())) == [1]


def database_name(database: Database) -> str:
    """What stands before a table's name in its full one."""
    name = database.settings["connection.url"].rpartition("/")[2]
    return f"{name}.public" if database.kind == "postgres" else name


def test_a_column_that_is_not_there(database: Database) -> None:
    drivers(database)
    settings = {**database.settings, "mode": "incrementing", "incrementing.column.name": "no"}
    with pytest.raises(ConnectException, match="no not found in id,name,changed"), source(settings):
        pass


def test_the_column_that_counts_by_itself(database: Database) -> None:
    kinds = {
        "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
        "postgres": "SERIAL PRIMARY KEY",
        "mariadb": "INTEGER AUTO_INCREMENT PRIMARY KEY",
    }
    database.run(f"CREATE TABLE t (v INTEGER, n {kinds[database.kind]})")
    database.run("INSERT INTO t(v) VALUES (5)", "INSERT INTO t(v) VALUES (6)")
    with source({**database.settings, "mode": "incrementing"}) as task:
        assert [row["n"] for row in values(task.read())] == [1, 2]
        assert [dict(offset) for offset in task.kept.by_partition.values()] == [{"incrementing": 2}]


@pytest.mark.parametrize("database", ["postgres", "mariadb"], indirect=True)
def test_a_wall_clock_of_another_zone(database: Database) -> None:
    """Columns without a zone are in db.timezone: ten o'clock in Zurich is nine in UTC."""
    drivers(database, f"1, 'a', '{PAST}'")
    with source({**database.settings, **BY_BOTH, "db.timezone": "Europe/Zurich"}) as task:
        (row,) = values(task.read())
        assert row["changed"] == datetime.datetime(2020, 1, 1, 9, tzinfo=datetime.UTC)
        assert task.read() == []


def test_old_names_of_partitions_are_known(database: Database) -> None:
    """Offsets that an older version of Confluent's connector kept under the bare table name."""
    drivers(database, f"1, 'a', '{PAST}'", f"2, 'b', '{PAST}'")
    kept = Kept()
    kept.by_partition[frozenset({"table": "driver"}.items())] = {"incrementing": 1}
    with source({**database.settings, **BY_ID}, kept) as task:
        assert ids(values(task.read())) == [2]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"mode": "never"}, ConfigException),
        ({"mode": "timestamp"}, ConfigException),
        ({**BY_ID, "numeric.mapping": "some"}, ConfigException),
        ({**BY_ID, "db.timezone": "Mars/Olympus"}, ConfigException),
        ({**BY_ID, "connection.url": "jdbc:oracle:thin:@x"}, ConfigException),
        ({**BY_ID, "query": "SELECT 1", "table.whitelist": "a"}, ConnectException),
        ({**BY_ID, "table.whitelist": "a", "table.blacklist": "b"}, ConnectException),
        ({**BY_ID, "table.include.list": "("}, ConfigException),
    ],
)
def test_settings_that_cannot_be(
    sqlite: Sqlite, settings: Mapping[str, str], fault: type[Exception]
) -> None:
    sqlite.run("CREATE TABLE a (id INTEGER PRIMARY KEY)")
    with pytest.raises(fault), source({**sqlite.settings, **settings}):
        pass
