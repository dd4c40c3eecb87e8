"""What the source makes of each database's types, null and not."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Context, Decimal

import pytest

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema
from tests.pipelines.connect.connectors.jdbc.databases import Database, Mariadb, Postgres, Sqlite
from tests.pipelines.connect.connectors.jdbc.harness import sink, source, values
from tests.pipelines.connect.connectors.jdbc.records import records

BY_ID = {"mode": "incrementing", "incrementing.column.name": "id"}
MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)
UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
Expected = tuple[str, str, Schema | None, object]

POSTGRES: list[Expected] = [
    ("boolean", "true", schemas.BOOLEAN, True),
    ("smallint", "-2", schemas.INT16, -2),
    ("integer", "-4", schemas.INT32, -4),
    ("bigint", "1152921504606846976", schemas.INT64, 1 << 60),
    ("real", "0.5", schemas.FLOAT32, 0.5),
    ("double precision", "0.1", schemas.FLOAT64, 0.1),
    ("money", "1.5", schemas.FLOAT64, 1.5),
    ("numeric(10,2)", "-12.3", schemas.decimal(2), Decimal("-12.30")),
    ("numeric(40,2)", "1" + "0" * 37 + ".25", schemas.decimal(2), Decimal("1" + "0" * 37 + ".25")),
    ("numeric(38,2)", "9" * 36 + ".99", schemas.decimal(2), Decimal("9" * 36 + ".99")),
    ("numeric", "0.001", schemas.decimal(127), Decimal("0.001")),
    ("text", "'naïve'", schemas.STRING, "naïve"),
    ("varchar(9)", "'x'", schemas.STRING, "x"),
    ("char(3)", "'x'", schemas.STRING, "x  "),
    ("jsonb", "'{\"a\": 1}'", schemas.STRING, '{"a": 1}'),
    ("uuid", f"'{UUID}'", schemas.STRING, UUID),
    ("mood", "'ok'", schemas.STRING, "ok"),
    ("bytea", "'\\x00ff'", schemas.BYTES, b"\0\xff"),
    ("date", "'2020-01-02'", schemas.date(), MOMENT.date()),
    ("time", "'03:04:05.678901'", schemas.time(), MOMENT.time()),
    ("timestamp", "'2020-01-02 03:04:05.678901'", schemas.timestamp(), MOMENT),
    ("timestamptz", "'2020-01-02 05:04:05.678901+02'", schemas.timestamp(), MOMENT),
    ("bit(1)", "B'1'", schemas.BOOLEAN, True),
    ("bit(3)", "B'101'", None, None),
    ("integer[]", "'{1,2}'", None, None),
    ("point", "'(1,2)'", None, None),
]
MARIADB: list[Expected] = [
    ("tinyint", "-1", schemas.INT8, -1),
    ("tinyint unsigned", "200", schemas.INT16, 200),
    ("smallint", "-2", schemas.INT16, -2),
    ("int", "-4", schemas.INT32, -4),
    ("int unsigned", "4000000000", schemas.INT64, 4_000_000_000),
    ("bigint", "1152921504606846976", schemas.INT64, 1 << 60),
    ("float", "0.5", schemas.FLOAT32, 0.5),
    ("double", "0.1", schemas.FLOAT64, 0.1),
    ("decimal(10,2)", "-12.3", schemas.decimal(2), Decimal("-12.30")),
    ("bigint unsigned", "5", schemas.INT64, 5),
    ("bit(1)", "1", schemas.INT8, 1),
    ("bit(8)", "b'1000001'", schemas.INT8, 65),
    ("year", "2020", schemas.date(), datetime.date(2020, 1, 1)),
    ("text", "'naïve'", schemas.STRING, "naïve"),
    ("varchar(9)", "'x'", schemas.STRING, "x"),
    ("enum('sad','ok')", "'ok'", schemas.STRING, "ok"),
    ("varbinary(9)", "x'00ff'", schemas.BYTES, b"\0\xff"),
    ("date", "'2020-01-02'", schemas.date(), MOMENT.date()),
    ("time(6)", "'03:04:05.678901'", schemas.time(), MOMENT.time()),
    ("datetime(6)", "'2020-01-02 03:04:05.678901'", schemas.timestamp(), MOMENT),
    ("timestamp(6)", "'2020-01-02 03:04:05.678901'", schemas.timestamp(), MOMENT),
]
SQLITE: list[Expected] = [
    ("boolean", "1", schemas.BOOLEAN, True),
    ("tinyint", "-1", schemas.INT16, -1),
    ("smallint", "-2", schemas.INT32, -2),
    ("integer", "-4", schemas.INT32, -4),
    ("int", "-4", schemas.INT64, -4),
    ("bigint", "1152921504606846976", schemas.INT64, 1 << 60),
    ("real", "0.5", schemas.FLOAT32, 0.5),
    ("float", "0.1", schemas.FLOAT64, 0.1),
    ("double", "0.1", schemas.FLOAT64, 0.1),
    ("numeric(10,2)", "-12.3", schemas.decimal(2), Decimal("-12.30")),
    (
        "numeric(50,2)",
        "1.5e40",
        schemas.decimal(2),
        Decimal("1.5e40").quantize(Decimal("0.01"), context=Context(prec=60)),
    ),
    ("text", "'naïve'", schemas.STRING, "naïve"),
    ("varchar(9)", "'x'", schemas.STRING, "x"),
    ("blob", "x'00ff'", schemas.BYTES, b"\0\xff"),
    ("date", "'2020-01-02'", schemas.date(), MOMENT.date()),
    ("time", "'03:04:05.678'", schemas.STRING, "03:04:05.678"),
    ("timestamp", "'2020-01-02 03:04:05.678'", schemas.timestamp(), MOMENT),
    ("timestamp", str(int(MOMENT.timestamp() * 1000)), schemas.timestamp(), MOMENT),
]
TYPES: Mapping[str, list[Expected]] = {"postgres": POSTGRES, "mariadb": MARIADB, "sqlite": SQLITE}


@pytest.mark.spec("book2:D-02")
def test_every_type(database: Database) -> None:
    """Each type in one column that may be null and one that may not; a row of nulls comes first."""
    if database.kind == "postgres":
        database.run("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    types = TYPES[database.kind]
    columns = [
        f"n{place} {kind} NULL, r{place} {kind} NOT NULL" for place, (kind, *_) in enumerate(types)
    ]
    database.run(f"CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, {', '.join(columns)})")
    nulls = ", ".join(f"NULL, {given}" for _, given, _, _ in types)
    whole = ", ".join(f"{given}, {given}" for _, given, _, _ in types)
    database.run(f"INSERT INTO t VALUES (1, {nulls})", f"INSERT INTO t VALUES (2, {whole})")
    with source({**database.settings, **BY_ID}) as task:
        batches = task.read()
    first, second = values(batches)
    schema = batches[0].value.schema
    assert schema is not None
    for place, (kind, _, expected, value) in enumerate(types):
        names = (f"n{place}", f"r{place}")
        fields = [schema.field(name) for name in names]
        if expected is None:
            assert fields == [None, None], kind
            continue
        found = [field.schema for field in fields if field is not None]
        assert found == [expected.but(optional=True), expected], kind
        assert [first[names[0]], first[names[1]]] == [None, value], kind
        assert [second[names[0]], second[names[1]]] == [value, value], kind


def test_numbers_that_are_mapped(postgres: Postgres) -> None:
    postgres.run(
        "CREATE TABLE t (id NUMERIC(9) PRIMARY KEY, a NUMERIC(5,2), b NUMERIC(40,2), c NUMERIC)",
        "INSERT INTO t VALUES (1, 1.25, 2.5, 3.5)",
    )
    settings = {**postgres.settings, **BY_ID, "numeric.mapping": "best_fit_eager_double"}
    with source(settings) as task:
        assert values(task.read()) == [{"id": 1, "a": 1.25, "b": 2.5, "c": 3.5}]
        assert list(task.kept.by_partition.values()) == [{"incrementing": 1}]


def test_numbers_that_are_none(postgres: Postgres) -> None:
    postgres.run("CREATE TABLE t (id INTEGER PRIMARY KEY, n NUMERIC)")
    postgres.run("INSERT INTO t VALUES (1, 'NaN')")
    with (
        source({**postgres.settings, **BY_ID}) as task,
        pytest.raises(ConnectException, match=r"nan is not a decimal: numeric\.mapping="),
    ):
        task.poll()


def test_moments_of_offsets_keep_their_microseconds(postgres: Postgres) -> None:
    postgres.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, at TIMESTAMPTZ NOT NULL)",
        "INSERT INTO t VALUES (1, '2020-01-02 03:04:05.678901+00')",
        "INSERT INTO t VALUES (2, '2020-01-02 03:04:05.678902+00')",
    )
    by_time = {"mode": "timestamp", "timestamp.column.name": "at", "batch.max.rows": "1"}
    with source({**postgres.settings, **by_time}) as task:
        (first,) = task.poll()
        assert dict(first.marks[0].offset) == {
            "timestamp": 1577934245678,
            "timestamp_nanos": 678901000,
        }
    with source({**postgres.settings, **by_time}, task.kept) as again:
        assert [row["id"] for row in values(again.read())] == [2]


def test_values_that_are_not_of_their_columns_type(sqlite: Sqlite) -> None:
    """SQLite stores anything anywhere: it is read as Java's driver reads it."""
    sqlite.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s TEXT, r REAL)",
        "INSERT INTO t VALUES (1, 'many', 5, 2)",
        "INSERT INTO t VALUES (2, 3.75, x'4142', 'x')",
    )
    with source({**sqlite.settings, **BY_ID}) as task:
        assert values(task.read()) == [
            {"id": 1, "n": 0, "s": "5", "r": 2.0},
            {"id": 2, "n": 3, "s": "AB", "r": 0.0},
        ]


def test_integers_that_are_wider_than_their_type(sqlite: Sqlite) -> None:
    sqlite.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n TINYINT)",
        "INSERT INTO t VALUES (1, 5)",
        f"INSERT INTO t VALUES (2, {1 << 40})",
        "INSERT INTO t VALUES (3, 6)",
    )
    with source({**sqlite.settings, **BY_ID, "batch.max.rows": "1"}) as task:
        batches = task.read()
    assert [row["n"] for row in values(batches)] == [5, 1 << 40, 6]
    kinds = [batch.value.schema.field("n") for batch in batches if batch.value.schema]
    assert [kind and kind.schema.type.name for kind in kinds] == ["INT16", "INT64", "INT64"]


def test_a_timestamp_column_that_is_none(sqlite: Sqlite) -> None:
    sqlite.run("CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT NOT NULL)")
    sqlite.run("INSERT INTO t VALUES (1, '2020-01-01')")
    by_time = {"mode": "timestamp", "timestamp.column.name": "at"}
    with (
        source({**sqlite.settings, **by_time}) as task,
        pytest.raises(ConnectException, match="at is of type text"),
    ):
        task.poll()


def test_a_dialect_that_nobody_wrote(mariadb: Mariadb) -> None:
    """What SQLAlchemy alone knows is enough for both ways, but for upserts."""
    generic = {
        **mariadb.settings,
        "dialect.name": "GenericDatabaseDialect",
        "quote.sql.identifiers": "never",
    }
    row = schemas.struct({"id": schemas.INT32, "at": schemas.timestamp(), "yes": schemas.BOOLEAN})
    given = [{"id": 1, "at": MOMENT.replace(microsecond=0), "yes": True}]
    with sink({**generic, "auto.create": "true"}) as task:
        task.put(records(row, given)[0])
    with source({**generic, **BY_ID, "validate.non.null": "false"}) as found:
        assert values(found.read()) == [{**given[0], "yes": 1}]
    upsert = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}
    with (
        sink({**generic, **upsert}) as task,
        pytest.raises(ConnectException, match="not supported with the GenericDatabaseDialect"),
    ):
        task.put(records(row, given)[0])
