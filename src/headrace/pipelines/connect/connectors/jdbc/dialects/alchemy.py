"""Databases that SQLAlchemy knows: tables looked up by its inspector, rows as Python's objects."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from fnmatch import translate
from typing import ClassVar, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import sqlalchemy
from sqlalchemy import types as sql

from headrace.pipelines.connect.connectors.jdbc.alchemy import AlchemySession
from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.session import Session
from headrace.pipelines.connect.connectors.jdbc.tables import (
    UNSET,
    SqlColumn,
    SqlType,
    Table,
    TableId,
)
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import EPOCH, Type

_PROBED_ROWS: Final = 100  # of a query, to learn its columns' types from
_MICROSECOND: Final = datetime.timedelta(microseconds=1)

_TYPES: Final[tuple[tuple[type, SqlType], ...]] = (
    (sql.Boolean, SqlType.BOOLEAN),
    (sql.SmallInteger, SqlType.SMALLINT),
    (sql.BigInteger, SqlType.BIGINT),
    (sql.Integer, SqlType.INTEGER),
    (sql.REAL, SqlType.REAL),
    (sql.Float, SqlType.DOUBLE),
    (sql.Numeric, SqlType.NUMERIC),
    (sql.LargeBinary, SqlType.BYTES),
    (sql.BINARY, SqlType.BYTES),
    (sql.VARBINARY, SqlType.BYTES),
    (sql.String, SqlType.TEXT),
    (sql.JSON, SqlType.TEXT),
    (sql.Uuid, SqlType.TEXT),
    (sql.DateTime, SqlType.TIMESTAMP),
    (sql.Date, SqlType.DATE),
    (sql.Time, SqlType.TIME),
)
_OF_VALUES: Final[tuple[tuple[type, SqlType], ...]] = (
    (bool, SqlType.BOOLEAN),
    (int, SqlType.BIGINT),
    (float, SqlType.DOUBLE),
    (Decimal, SqlType.NUMERIC),
    (bytes, SqlType.BYTES),
    (datetime.datetime, SqlType.TIMESTAMP),
    (datetime.date, SqlType.DATE),
    (datetime.time, SqlType.TIME),
    (datetime.timedelta, SqlType.TIME),
)
_ARROW: Final = {
    SqlType.BOOLEAN: pa.bool_(),
    SqlType.TINYINT: pa.int64(),
    SqlType.SMALLINT: pa.int64(),
    SqlType.INTEGER: pa.int64(),
    SqlType.BIGINT: pa.int64(),
    SqlType.REAL: pa.float64(),
    SqlType.DOUBLE: pa.float64(),
    SqlType.NUMERIC: pa.string(),
    SqlType.TEXT: pa.string(),
    SqlType.BYTES: pa.binary(),
    SqlType.DATE: pa.date32(),
    SqlType.TIME: pa.time64("us"),
    SqlType.TIMESTAMP: pa.timestamp("us"),
    SqlType.INSTANT: pa.timestamp("us", tz="UTC"),
}


class AlchemyDialect(Dialect):
    """Any database that SQLAlchemy has a driver for; it has no upsert."""

    name = "GenericDatabaseDialect"
    types: ClassVar = {
        Type.INT8: "SMALLINT",
        Type.INT16: "SMALLINT",
        Type.INT32: "INTEGER",
        Type.INT64: "BIGINT",
        Type.FLOAT32: "REAL",
        Type.FLOAT64: "DOUBLE PRECISION",
        Type.BOOLEAN: "SMALLINT",
        Type.STRING: "VARCHAR(4000)",
        Type.BYTES: "BLOB",
    }
    logical_types: ClassVar = {
        schemas.DECIMAL: "DECIMAL",
        schemas.DATE: "DATE",
        schemas.TIME: "TIME",
        schemas.TIMESTAMP: "TIMESTAMP",
    }

    def parameters(self, count: int) -> list[str]:
        """Names, which SQLAlchemy turns into what its driver wants."""
        return [f":p{place}" for place in range(count)]

    def tables(
        self, session: Session, types: Collection[str], catalog: str | None, schema: str | None
    ) -> list[TableId]:
        """Tables and views of the schemas that the pattern matches, or of the default one."""
        wanted = {kind.upper() for kind in types}
        found: list[TableId] = []
        with _inspecting(session) as inspector:
            for place in self._places(inspector, catalog, schema):
                names = inspector.get_table_names(place) if "TABLE" in wanted else []
                names += inspector.get_view_names(place) if "VIEW" in wanted else []
                found += [self.identified(place, name) for name in sorted(names)]
        return found

    def _places(
        self, inspector: sqlalchemy.Inspector, catalog: str | None, schema: str | None
    ) -> list[str | None]:
        pattern = self.place_pattern(catalog, schema)
        if pattern is None:
            return [inspector.default_schema_name]
        matching = re.compile(translate(pattern.replace("%", "*").replace("_", "?")))
        return [name for name in inspector.get_schema_names() if matching.match(name)]

    def place_pattern(self, catalog: str | None, schema: str | None) -> str | None:
        """Which of the two patterns is about what SQLAlchemy calls a schema."""
        return schema

    def identified(self, place: str | None, name: str) -> TableId:
        """A table of what SQLAlchemy calls a schema."""
        return TableId(name, place)

    def place_of(self, table: TableId) -> str | None:
        """What SQLAlchemy calls the table's schema."""
        return table.schema

    def describe(self, session: Session, table: TableId) -> Table | None:
        """What the inspector finds."""
        place = self.place_of(table)
        with _inspecting(session) as inspector:
            view = table.name in inspector.get_view_names(place)
            if not view and not inspector.has_table(table.name, place):
                return None
            keys = inspector.get_pk_constraint(table.name, place)["constrained_columns"]
            found = inspector.get_columns(table.name, place)
        columns = tuple(
            SqlColumn(
                column["name"],
                self.sql_type_of(column["type"]),
                str(column["type"]).lower(),
                bool(column["nullable"]) and column["name"] not in keys,
                *_digits(column["type"]),
                primary_key=column["name"] in keys,
                auto_increment=column.get("autoincrement") is True,
            )
            for column in found
        )
        return Table(table, columns, "VIEW" if view else "TABLE")

    def sql_type_of(self, kind: sql.TypeEngine[object]) -> SqlType | None:
        """The plain type of a type of SQLAlchemy's."""
        return next((plain for known, plain in _TYPES if isinstance(kind, known)), None)

    def described(self, session: Session, query: str) -> tuple[SqlColumn, ...]:
        """The columns of a query, by the values of its first rows; text where all are null."""
        assert isinstance(session, AlchemySession)
        names, rows = session.first(query, _PROBED_ROWS)
        return tuple(
            _of_values(name, [row[place] for row in rows]) for place, name in enumerate(names)
        )

    def now(self, session: Session) -> int:
        """The server's clock; a time without a zone is in the connector's."""
        ((value,),) = session.rows("SELECT CURRENT_TIMESTAMP")
        moment = value if isinstance(value, datetime.datetime) else _parsed(str(value))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(self.zone))
        return (aware - EPOCH) // _MICROSECOND

    def read(
        self, session: Session, statement: str, columns: Sequence[SqlColumn], rows: int
    ) -> Generator[list[pa.Array], None, None]:
        """Python's values as arrays."""
        assert isinstance(session, AlchemySession)
        for names, found in session.objects(statement, rows):
            places = {name: place for place, name in enumerate(names)}
            yield [
                _array(column, [row[places[column.name]] for row in found]) for column in columns
            ]


def _inspecting(session: Session) -> AbstractContextManager[sqlalchemy.Inspector]:
    assert isinstance(session, AlchemySession)
    return session.inspecting()


def _digits(kind: sql.TypeEngine[object]) -> tuple[int, int]:
    if not isinstance(kind, sql.Numeric) or kind.precision is None:
        return 0, UNSET
    return kind.precision, kind.scale or 0


def _of_values(name: str, values: Sequence[object]) -> SqlColumn:
    given = [value for value in values if value is not None]
    kind = next(
        (plain for known, plain in _OF_VALUES if given and isinstance(given[0], known)), None
    )
    return SqlColumn(name, kind or SqlType.TEXT)


def _parsed(text: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise ConnectException(
            f"the database's clock says {text!r}, which is not a time"
        ) from error


def _array(column: SqlColumn, values: list[object]) -> pa.Array:
    assert column.type is not None
    step = _STEPS.get(column.type)
    given = values if step is None else [None if v is None else step(v) for v in values]
    return pa.array(given, _ARROW[column.type])


def _number(value: object) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _time(value: object) -> object:
    if isinstance(value, datetime.timedelta):
        return (EPOCH + value % datetime.timedelta(days=1)).time()
    return value


def _moment(value: object) -> object:
    """A moment, or a year's first day; MySQL's zero dates, which are text or 0, are none."""
    if isinstance(value, int):
        return datetime.date(value, 1, 1) if value else None
    return None if isinstance(value, str) else value


def _bits(value: object) -> object:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else value


_STEPS: Final[dict[SqlType, Callable[[object], object]]] = {
    SqlType.BOOLEAN: bool,
    SqlType.TINYINT: _bits,
    SqlType.NUMERIC: _number,
    SqlType.TEXT: str,
    SqlType.TIME: _time,
    SqlType.DATE: _moment,
    SqlType.TIMESTAMP: _moment,
    SqlType.INSTANT: _moment,
}
