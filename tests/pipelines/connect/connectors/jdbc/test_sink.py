"""The JDBC sink against real databases: what becomes of records, and of those that do not fit."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa
import pytest

from headrace.pipelines.connect.connectors.jdbc.sink import JdbcSink
from headrace.pipelines.connect.faults import ConfigException, ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column, nothing
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from headrace.pipelines.connect.tasks import RowsRefused, connector_of
from tests.pipelines.connect.connectors.jdbc.databases import Database, Postgres, Sqlite
from tests.pipelines.connect.connectors.jdbc.harness import Context, sink
from tests.pipelines.connect.connectors.jdbc.records import optional_records, records

AUTHOR = schemas.struct(
    {
        "id": schemas.INT32,
        "author_name": schemas.STRING,
        "age": schemas.INT32,
        "popularity_percentage": schemas.FLOAT32,
    },
    name="authors",
)
NAMED = schemas.struct({"id": schemas.INT32, "name": schemas.OPTIONAL_STRING})
KEY = schemas.struct({"id": schemas.INT32})
BY_VALUE = {"auto.create": "true", "pk.mode": "record_value", "pk.fields": "id"}
BY_KEY = {"auto.create": "true", "pk.mode": "record_key", "pk.fields": "id"}


def named(*pairs: tuple[int, str | None]) -> list[dict[str, object]]:
    return [{"id": number, "name": name} for number, name in pairs]


def put(database: Database, settings: Mapping[str, str], *batches: object) -> None:
    with sink({**database.settings, **settings}) as task:
        for batch in batches:
            task.put(batch)  # type: ignore[arg-type]
        assert task.flush({}) is None


def table(database: Database, name: str = "t") -> list[tuple[object, ...]]:
    return database.rows(f"SELECT id, name FROM {name} ORDER BY id")


def test_its_names() -> None:
    declared = connector_of(JdbcSink)
    assert declared.name == "io.confluent.connect.jdbc.JdbcSinkConnector"
    assert {"JdbcSinkConnector", "JdbcSink"} <= set(declared.aliases)


@pytest.mark.spec(
    "book2:A5-01", "book2:A5-04", "book2:A5-05", "book2:A5-06", "book2:A5-07", "book2:D-03"
)
def test_the_quickstart(sqlite: Sqlite) -> None:
    """The book's table, line by line as sqlite3 prints it."""
    rows = [
        {"id": 1, "author_name": "Chanchal", "age": 26, "popularity_percentage": 60.0},
        {"id": 2, "author_name": "Manish", "age": 32, "popularity_percentage": 80.0},
    ]
    put(sqlite, {"auto.create": "true"}, *records(AUTHOR, rows, topic="authors_sink"))
    printed = ["|".join(map(str, row)) for row in sqlite.rows("select * from authors_sink;")]
    assert printed == ["Chanchal|60.0|1|26", "Manish|80.0|2|32"]


@pytest.mark.spec("book2:B-08")
@pytest.mark.parametrize("size", ["2", "0"])
def test_inserts(database: Database, size: str) -> None:
    rows = named((1, "a"), (2, None), (3, "c"))
    put(database, {**BY_VALUE, "batch.size": size}, *records(NAMED, rows))
    assert table(database) == [(1, "a"), (2, None), (3, "c")]


def test_upserts_keep_the_last_of_each_key(database: Database) -> None:
    settings = {**BY_VALUE, "insert.mode": "upsert"}
    put(database, settings, *records(NAMED, named((1, "a"), (2, "b"), (1, "c"))))
    put(database, settings, *records(NAMED, named((2, "d"), (3, "e")), start=3))
    assert table(database) == [(1, "c"), (2, "d"), (3, "e")]


def test_upserts_of_keys_alone(database: Database) -> None:
    only = schemas.struct({"id": schemas.INT32})
    settings = {**BY_VALUE, "insert.mode": "upsert"}
    put(database, settings, *records(only, [{"id": 1}, {"id": 1}, {"id": 2}]))
    assert database.rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_updates_change_what_is_there(database: Database) -> None:
    put(database, BY_VALUE, *records(NAMED, named((1, "a"), (2, "b"))))
    update = {**BY_VALUE, "insert.mode": "update"}
    put(database, update, *records(NAMED, named((2, "x"), (9, "y"), (2, "z"))))
    assert table(database) == [(1, "a"), (2, "z")]


def test_tombstones_delete(database: Database) -> None:
    """Those between other records too, in batches of one schema or of two."""
    name = schemas.struct({"name": schemas.STRING})
    settings = {**BY_KEY, "delete.enabled": "true", "insert.mode": "upsert"}
    rows = [{"name": "a"}, {"name": "b"}, None, {"name": "c"}, None, {"name": "d"}]
    keys: list[object] = [Struct.of(KEY, {"id": number}) for number in (1, 2, 1, 3, 2, 1)]
    put(database, settings, *records(name, rows, keys=keys, key_schema=KEY))
    assert table(database) == [(1, "d"), (3, "c")]
    database.run("DROP TABLE t")
    put(database, settings, optional_records(name, rows, keys, KEY))
    assert table(database) == [(1, "d"), (3, "c")]


def test_a_delete_from_a_table_that_is_not_there_yet(database: Database) -> None:
    settings = {**BY_KEY, "delete.enabled": "true"}
    keys: list[object] = [Struct.of(KEY, {"id": 1})]
    put(database, settings, *records(NAMED, [None], keys=keys, key_schema=KEY))
    with pytest.raises(
        ConnectException, match='Table "t" is missing and auto-creation is disabled'
    ):
        put(
            database,
            {**settings, "auto.create": "false"},
            *records(NAMED, [None], keys=keys, key_schema=KEY),
        )


def test_keys_that_are_no_structs(database: Database) -> None:
    name = schemas.struct({"name": schemas.STRING})
    settings = {**BY_KEY, "delete.enabled": "true", "insert.mode": "upsert"}
    rows = [{"name": "a"}, {"name": "b"}, None]
    batches = records(name, rows, keys=[1, 2, 1], key_schema=schemas.INT64)
    put(database, settings, *batches)
    assert table(database) == [(2, "b")]


def test_keys_of_kafka(database: Database) -> None:
    settings = {"auto.create": "true", "pk.mode": "kafka", "insert.mode": "upsert"}
    kinds = {"mariadb": "VARCHAR(100)"}  # MariaDB has no keys of TEXT
    database.run(
        f"CREATE TABLE t (__connect_topic {kinds.get(database.kind, 'TEXT')}, "
        "__connect_partition INTEGER, __connect_offset BIGINT, id INTEGER, name TEXT, "
        "PRIMARY KEY (__connect_topic, __connect_partition, __connect_offset))"
    )
    batches = records(NAMED, named((1, "a"), (1, "b")), start=7)
    put(database, settings, *batches)
    put(database, settings, *batches)
    assert database.rows("SELECT * FROM t ORDER BY 3") == [
        ("t", 0, 7, 1, "a"),
        ("t", 0, 8, 1, "b"),
    ]


def test_fields_of_the_whitelist(database: Database) -> None:
    settings = {**BY_VALUE, "fields.whitelist": "age", "table.name.format": "x_${topic}"}
    row = {"id": 1, "author_name": "C", "age": 26, "popularity_percentage": 60.0}
    put(database, settings, *records(AUTHOR, [row], topic="a"))
    assert sorted(map(str, database.rows("SELECT id, age FROM x_a"))) == ["(1, 26)"]
    with pytest.raises(Exception, match=r"(?i)author_name"):
        database.rows("SELECT x_a.author_name FROM x_a")


ALL = schemas.struct(
    {
        "id": schemas.INT32,
        "i8": schemas.INT8,
        "i16": schemas.INT16,
        "i64": schemas.INT64,
        "f32": schemas.FLOAT32,
        "f64": schemas.FLOAT64,
        "yes": schemas.BOOLEAN,
        "text": schemas.STRING,
        "raw": schemas.BYTES,
        "amount": schemas.decimal(2),
        "day": schemas.date(),
        "hour": schemas.time(),
        "moment": schemas.timestamp(),
        "perhaps": Schema(Type.STRING, optional=True, default="it's"),
    }
)
MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)
VALUES = {
    "id": 1,
    "i8": -8,
    "i16": -16,
    "i64": 1 << 60,
    "f32": 0.5,
    "f64": 0.1,
    "yes": True,
    "text": "naïve 'x' \\ %s :p0",
    "raw": b"\0\xff",
    "amount": Decimal("-12.30"),
    "day": datetime.date(2020, 1, 2),
    "hour": datetime.time(3, 4, 5, 678000),
    "moment": MOMENT,
}


def test_every_type(database: Database) -> None:
    put(database, BY_VALUE, *records(ALL, [VALUES]))
    names = ", ".join(field.name for field in ALL.fields)
    (row,) = database.rows(f"SELECT {names} FROM t")
    found = dict(zip(VALUES, row, strict=False)) | {"perhaps": row[-1]}
    expected: dict[str, object] = {**VALUES, "perhaps": "it's"}
    if database.kind == "sqlite":
        millis = int(MOMENT.timestamp() * 1000)
        day = millis - millis % 86_400_000
        expected |= {"amount": -12.3, "day": day, "hour": millis - day, "moment": millis, "yes": 1}
    else:
        expected["moment"] = MOMENT.replace(tzinfo=None)
        found["amount"] = Decimal(str(found["amount"]))
    if database.kind == "mariadb":
        expected |= {
            "hour": datetime.timedelta(hours=3, minutes=4, seconds=5, milliseconds=678),
            "yes": 1,
        }
    assert found == expected


@pytest.mark.parametrize("database", ["postgres", "mariadb"], indirect=True)
def test_moments_in_another_zone(database: Database) -> None:
    """A column without zones has the wall clock of db.timezone, one with zones the moment."""
    kind = {"postgres": "TIMESTAMPTZ", "mariadb": "TIMESTAMP(3)"}[database.kind]
    database.run(f"CREATE TABLE t (id INTEGER, wall {database.timestamp}, instant {kind} NULL)")
    both = schemas.struct(
        {"id": schemas.INT32, "wall": schemas.timestamp(), "instant": schemas.timestamp()}
    )
    row = {"id": 1, "wall": MOMENT, "instant": MOMENT}
    put(database, {"db.timezone": "Europe/Zurich"}, *records(both, [row]))
    ((wall, instant),) = database.rows("SELECT wall, instant FROM t")
    assert isinstance(wall, datetime.datetime)
    assert isinstance(instant, datetime.datetime)
    assert wall == MOMENT.replace(tzinfo=None) + datetime.timedelta(hours=1)
    assert instant.replace(tzinfo=datetime.UTC) == MOMENT


def test_a_table_gets_the_columns_it_lacks(database: Database) -> None:
    more = schemas.struct(
        [
            *((field.name, field.schema) for field in NAMED.fields),
            ("age", schemas.INT32.but(optional=True)),
            ("city", Schema(Type.STRING, default="Bern")),
        ]
    )
    put(database, BY_VALUE, *records(NAMED, named((1, "a"))))
    row = {"id": 2, "name": "b", "age": 44, "city": "Zug"}
    evolve = {**BY_VALUE, "auto.evolve": "true"}
    put(database, evolve, *records(more, [row]))
    assert database.rows("SELECT id, name, age FROM t ORDER BY id") == [
        (1, "a", None),
        (2, "b", 44),
    ]


def test_columns_it_may_not_get(database: Database) -> None:
    put(database, BY_VALUE, *records(NAMED, named((1, "a"))))
    optional = schemas.struct({"id": schemas.INT32, "age": schemas.INT32.but(optional=True)})
    with pytest.raises(ConnectException) as fault:
        put(database, BY_VALUE, *records(optional, [{"id": 2, "age": 44}]))
    assert str(fault.value) == (
        "Table \"t\" is missing fields ([SinkRecordField{schema=Schema{INT32}, name='age', "
        "isPrimaryKey=false}]) and auto-evolution is disabled"
    )
    required = schemas.struct({"id": schemas.INT32, "age": schemas.INT32})
    with pytest.raises(ConnectException) as fault:
        put(
            database,
            {**BY_VALUE, "auto.evolve": "true"},
            *records(required, [{"id": 2, "age": 44}]),
        )
    assert str(fault.value) == (
        'Cannot ALTER TABLE "t" to add missing field SinkRecordField{schema=Schema{INT32}, '
        "name='age', isPrimaryKey=false}, as the field is not optional and does not have a "
        "default value"
    )
    assert table(database) == [(1, "a")]


def test_a_table_that_may_not_be_created(database: Database) -> None:
    with pytest.raises(ConnectException) as fault:
        put(database, {}, *records(NAMED, named((1, "a"))))
    assert str(fault.value) == 'Table "t" is missing and auto-creation is disabled'


def test_a_table_that_vanishes_and_one_that_changes(database: Database) -> None:
    """It is made again if that is allowed; a lost column is a fault, or comes back."""
    settings = {**database.settings, **BY_VALUE}
    with sink(settings) as task:
        task.put(records(NAMED, named((1, "a")))[0])
        database.run("DROP TABLE t")
        task.put(records(NAMED, named((2, "b")), start=1)[0])
        assert table(database) == [(2, "b")]
        database.run("ALTER TABLE t DROP COLUMN name")
        with pytest.raises(ConnectException, match=r"missing fields .* auto-evolution is disabled"):
            task.put(records(NAMED, named((3, "c")), start=2)[0])
    with sink({**settings, "auto.evolve": "true"}) as task:
        task.put(records(NAMED, named((3, "c")), start=2)[0])
    assert table(database) == [(2, None), (3, "c")]


@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_rows_that_do_not_fit_are_named_and_the_others_written(
    database: Database, mode: str
) -> None:
    database.run(
        "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(5) NOT NULL "
        "CHECK (LENGTH(name) < 6))"
    )
    rows = named((1, "a"), (2, "much too long"), (3, "c"), (4, None), (5, "e"), (6, "longer"))
    settings = {**database.settings, **BY_VALUE, "insert.mode": mode}
    (batch,) = records(NAMED, rows)
    with sink(settings) as task:
        with pytest.raises(RowsRefused) as fault:
            task.put(batch)
        assert list(fault.value.rows) == [1, 3, 5]
        assert all(fault.value.rows.values())
        task.put(records(NAMED, named((7, "g")), start=6)[0])
    assert table(database) == [(1, "a"), (3, "c"), (5, "e"), (7, "g")]


def test_a_key_that_is_there_already(database: Database) -> None:
    put(database, BY_VALUE, *records(NAMED, named((2, "old"))))
    (batch,) = records(NAMED, named((1, "a"), (2, "b"), (3, "c"), (1, "again")))
    with sink({**database.settings, **BY_VALUE}) as task, pytest.raises(RowsRefused) as fault:
        task.put(batch)
    assert list(fault.value.rows) == [1, 3]
    assert table(database) == [(1, "a"), (2, "old"), (3, "c")]


def test_records_without_what_their_mode_needs(sqlite: Sqlite) -> None:
    name = schemas.struct({"name": schemas.STRING})
    keys: list[object] = [None, Struct.of(KEY, {"id": 2})]
    (batch,) = records(name, [{"name": "a"}, {"name": "b"}], keys=keys, key_schema=KEY, start=5)
    with sink({**sqlite.settings, **BY_KEY}) as task, pytest.raises(RowsRefused) as fault:
        task.put(batch)
    assert fault.value.rows == {
        0: "The JDBC sink connector 'jdbc' is configured with 'delete.enabled=false' and "
        "'pk.mode=record_key' and therefore requires non-null record keys, but found record at "
        "(topic='t',partition=0,offset=5,timestamp=1000) with a null key and STRUCT key schema."
    }
    assert table(sqlite) == [(2, "b")]
    (tombstone,) = records(NAMED, [None])
    with sink({**sqlite.settings, **BY_VALUE}) as task, pytest.raises(ConnectException) as missing:
        task.put(tombstone)
    assert "record value schema is missing" in str(missing.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"insert.mode": "upsert"}, "in UPSERT mode requires key field names to be known"),
        ({"pk.mode": "record_key"}, "PK mode for table 't' is RECORD_KEY, but record key schema"),
        ({"pk.mode": "record_value", "pk.fields": "no"}, "does not contain field: no"),
        ({"pk.mode": "kafka", "pk.fields": "a,b"}, "or exactly 3, defined fields are: \\[a, b\\]"),
    ],
)
def test_settings_that_the_records_do_not_fit(
    sqlite: Sqlite, settings: Mapping[str, str], message: str
) -> None:
    with pytest.raises(ConnectException, match=message):
        put(sqlite, {"auto.create": "true", **settings}, *records(NAMED, named((1, "a"))))


def test_numbers_with_more_digits_than_arrow_has(sqlite: Sqlite) -> None:
    number = schemas.struct({"id": schemas.INT32, "n": schemas.decimal(0)})
    rows = [{"id": place, "n": Decimal(10) ** place} for place in (1, 50, 2)]
    (batch,) = records(number, rows)
    with sink({**sqlite.settings, **BY_VALUE}) as task, pytest.raises(RowsRefused) as fault:
        task.put(batch)
    assert list(fault.value.rows) == [1]
    assert sqlite.rows("SELECT id, n FROM t ORDER BY id") == [(1, 10), (2, 100)]


@pytest.mark.parametrize("database", ["postgres", "mariadb"], indirect=True)
def test_moments_and_numbers_beyond_a_databases_own(database: Database) -> None:
    """A year that PostgreSQL's microseconds do not reach; a number that MariaDB has not."""
    far = pa.array([0, 1 << 62, 1000], pa.timestamp("ms", tz="UTC"))
    number = pa.array([0.5, 1.5, float("nan")])
    value = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3], pa.int32()), far, number], names=["id", "at", "n"]
    )
    schema = schemas.struct({"id": schemas.INT32, "at": schemas.timestamp(), "n": schemas.FLOAT64})
    batch = Batch("t", nothing(3), Column(schema, value), pa.array([0, 1, 2]), partition=0)
    with sink({**database.settings, **BY_VALUE}) as task, pytest.raises(RowsRefused) as fault:
        task.put(batch)
    refused, kept = ([1], [(1,), (3,)]) if database.kind == "postgres" else ([1, 2], [(1,)])
    assert list(fault.value.rows) == refused
    assert database.rows("SELECT id FROM t ORDER BY id") == kept


def test_arrays_of_postgres(postgres: Postgres) -> None:
    lists = schemas.struct({"id": schemas.INT32, "n": schemas.array(schemas.INT64)})
    put(postgres, BY_VALUE, *records(lists, [{"id": 1, "n": [1, 2]}, {"id": 2, "n": []}]))
    assert postgres.rows("SELECT id, n FROM t ORDER BY id") == [(1, [1, 2]), (2, [])]


def test_types_that_no_column_has(sqlite: Sqlite) -> None:
    sqlite.run("CREATE TABLE t (id INTEGER, m TEXT)")
    kinds: list[tuple[str, Schema, object]] = [
        ("MAP", schemas.map_of(schemas.STRING, schemas.STRING), {"a": "b"}),
        ("ARRAY", schemas.array(schemas.STRING), ["a"]),
    ]
    for kind, schema, value in kinds:
        row = schemas.struct({"id": schemas.INT32, "m": schema})
        with pytest.raises(ConnectException, match=f"Unsupported source data type: {kind}"):
            put(sqlite, {}, *records(row, [{"id": 1, "m": value}]))


def test_settings_that_cannot_be(sqlite: Sqlite) -> None:
    for settings in ({"delete.enabled": "true"}, {"insert.mode": "merge"}, {"pk.mode": "some"}):
        with pytest.raises(ConfigException):
            put(sqlite, settings, *records(NAMED, named((1, "a"))))


def test_views_are_written_only_if_their_kind_is_allowed(postgres: Postgres) -> None:
    postgres.run(
        "CREATE TABLE base (id INTEGER, name TEXT)", "CREATE VIEW t AS SELECT id, name FROM base"
    )
    with pytest.raises(ConnectException, match="is a VIEW"):
        put(postgres, {}, *records(NAMED, named((1, "a"))))
    put(postgres, {"table.types": "TABLE,VIEW"}, *records(NAMED, named((1, "a"))))
    assert table(postgres, "base") == [(1, "a")]


def test_types_of_postgres_that_text_is_cast_to(postgres: Postgres) -> None:
    """And numbers that are narrower, and text with NUL, which PostgreSQL cannot hold."""
    postgres.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE t (id SMALLINT PRIMARY KEY, j JSONB, u UUID, m mood, n NUMERIC(6,1), c TEXT)",
    )
    uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    text = dict.fromkeys(("j", "u", "m", "c"), schemas.STRING)
    whole = schemas.struct({"id": schemas.INT64, **text, "n": schemas.FLOAT64})
    good = {"j": '{"a": 1}', "u": uuid, "m": "ok", "c": "x\0y", "n": 1.25}
    rows = [{"id": 1, **good}, {"id": 1 << 40, **good}, {"id": 3, **good, "m": "glad"}]
    (batch,) = records(whole, rows)
    settings = {**postgres.settings, **BY_VALUE, "insert.mode": "upsert"}
    with sink(settings) as task, pytest.raises(RowsRefused) as fault:
        task.put(batch)
    assert list(fault.value.rows) == [1, 2]
    assert postgres.rows("SELECT id, j::text, u::text, m::text, n::text, c FROM t") == [
        (1, '{"a": 1}', uuid, "ok", "1.3", "xy")
    ]


def test_each_record_exactly_once(database: Database) -> None:
    """Offsets lie beside the rows: a batch that comes again, in part or whole, changes nothing."""
    settings = {**database.settings, "auto.create": "true", "headrace.exactly.once": "true"}
    context = Context("orders")
    with sink(settings, context) as task:
        assert task.assigned([("t", 0)]) == {}
        task.put(records(NAMED, named((1, "a"), (2, "b")))[0])
        task.put(records(NAMED, named((1, "a"), (2, "b"), (3, "c")))[0])
    with sink(settings, context) as task:
        assert task.assigned([("t", 0), ("t", 1)]) == {("t", 0): 3}
        task.put(records(NAMED, named((3, "c"), (4, "d")), start=2)[0])
    assert table(database) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    kept = database.rows('SELECT connector, topic, "partition", "offset" FROM _headrace_offsets')
    assert kept == [("orders", "t", 0, 4)]


def test_a_refused_row_does_not_hold_the_offset_back(database: Database) -> None:
    settings = {**database.settings, **BY_VALUE, "headrace.exactly.once": "true"}
    with sink(settings) as task:
        task.assigned([("t", 0)])
        with pytest.raises(RowsRefused):
            task.put(records(NAMED, named((1, "a"), (1, "b"), (2, "c")))[0])
        assert task.assigned([("t", 0)]) == {("t", 0): 3}
    assert table(database) == [(1, "a"), (2, "c")]


def test_names_that_have_to_be_quoted(database: Database) -> None:
    odd = schemas.struct({"select": schemas.INT32, "two words": schemas.STRING})
    settings = {"auto.create": "true", "pk.mode": "record_value", "pk.fields": "select"}
    row = {"select": 1, "two words": "x"}
    put(database, settings, *records(odd, [row], topic="order"))
    put(database, {**settings, "insert.mode": "upsert"}, *records(odd, [row], topic="order"))
    assert database.rows('SELECT "select", "two words" FROM "order"') == [(1, "x")]


def test_names_that_are_too_long(postgres: Postgres) -> None:
    put(postgres, BY_VALUE, *records(NAMED, named((1, "a")), topic="t" * 70))
    put(postgres, BY_VALUE, *records(NAMED, named((2, "b")), topic="t" * 70))
    assert table(postgres, "t" * 63) == [(1, "a"), (2, "b")]


def test_columns_that_differ_in_case(database: Database) -> None:
    database.run('CREATE TABLE t ("ID" INTEGER, "Name" VARCHAR(10))')
    put(database, {}, *records(NAMED, named((1, "a"))))
    assert database.rows('SELECT "ID", "Name" FROM t') == [(1, "a")]
