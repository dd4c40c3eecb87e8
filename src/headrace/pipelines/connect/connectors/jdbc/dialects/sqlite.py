"""SQLite: a type of each value rather than of a column, and moments as numbers or as text.

A column's values are read as its declared type says, by SQLite's own casts, which is what Java's
driver does; nulls are read beside the values, because ADBC learns a column's type from its values.
Moments are milliseconds since 1970, or text, which is taken for UTC.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Sequence
from typing import ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.connectors.jdbc.adbc import AdbcSession
from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import (
    Dialect,
    sliced,
    text_literal,
)
from headrace.pipelines.connect.connectors.jdbc.fields import Fields, SinkField
from headrace.pipelines.connect.connectors.jdbc.session import Session
from headrace.pipelines.connect.connectors.jdbc.tables import (
    UNSET,
    SqlColumn,
    SqlType,
    Table,
    TableId,
)
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Type

_DECLARED: Final = re.compile(
    r"\s*([a-z0-9_ ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*$", re.I
)
# Java's driver calls no integers signed but those of INTEGER: the others are a size larger.
_TYPES: Final = {
    "bool": SqlType.BOOLEAN,
    "boolean": SqlType.BOOLEAN,
    "tinyint": SqlType.SMALLINT,
    "smallint": SqlType.INTEGER,
    "int2": SqlType.INTEGER,
    "integer": SqlType.INTEGER,
    "date": SqlType.DATE,
    "time": SqlType.TEXT,
    "datetime": SqlType.INSTANT,
    "timestamp": SqlType.INSTANT,
    "decimal": SqlType.NUMERIC,
    "numeric": SqlType.NUMERIC,
    "real": SqlType.REAL,
    "float": SqlType.DOUBLE,
    "double": SqlType.DOUBLE,
    "double precision": SqlType.DOUBLE,
}
_STORED: Final = {"integer": "integer", "real": "double", "blob": "blob"}  # of values, by typeof()
_VIEW: Final = "headrace_query"
_CASTS: Final = {
    SqlType.BOOLEAN: ("INTEGER", "0"),
    SqlType.SMALLINT: ("INTEGER", "0"),
    SqlType.INTEGER: ("INTEGER", "0"),
    SqlType.BIGINT: ("INTEGER", "0"),
    SqlType.REAL: ("REAL", "0.0"),
    SqlType.DOUBLE: ("REAL", "0.0"),
    SqlType.NUMERIC: ("TEXT", "'0'"),
    SqlType.TEXT: ("TEXT", "''"),
    SqlType.BYTES: ("BLOB", "x''"),
}


class SqliteDialect(Dialect):
    """SQLite, by ADBC."""

    name = "SqliteDatabaseDialect"
    quotes = ("`", "`")
    locking = ""
    types: ClassVar = {
        Type.BOOLEAN: "INTEGER",
        Type.INT8: "INTEGER",
        Type.INT16: "INTEGER",
        Type.INT32: "INTEGER",
        Type.INT64: "INTEGER",
        Type.FLOAT32: "REAL",
        Type.FLOAT64: "REAL",
        Type.STRING: "TEXT",
        Type.BYTES: "BLOB",
    }
    logical_types: ClassVar = dict.fromkeys(
        (schemas.DECIMAL, schemas.DATE, schemas.TIME, schemas.TIMESTAMP), "NUMERIC"
    )

    def tables(
        self, session: Session, types: Collection[str], catalog: str | None, schema: str | None
    ) -> list[TableId]:
        """The file's tables and views; it has neither catalogs nor schemas."""
        wanted = ",".join(text_literal(kind.lower()) for kind in types)
        rows = session.rows(
            f"SELECT name FROM sqlite_master WHERE type IN ({wanted or 'NULL'}) "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        return [TableId(str(name)) for (name,) in rows]

    def describe(self, session: Session, table: TableId) -> Table | None:
        """The columns as they were declared."""
        name = text_literal(table.name)
        made = session.rows(f"SELECT type, sql FROM sqlite_master WHERE name = {name}")
        if not made:
            return None
        columns = self._columns(session, table.name, "autoincrement" in str(made[0][1]).lower())
        return Table(table, columns, str(made[0][0]).upper())

    def described(self, session: Session, query: str) -> tuple[SqlColumn, ...]:
        """The columns of a query, as a view of it has them; by their first row if it does not."""
        session.run(f"CREATE TEMP VIEW {_VIEW} AS {query}")
        try:
            columns = self._columns(session, _VIEW, False)
            kinds = ",".join(f"typeof({self.quoted(column.name)})" for column in columns)
            first = session.rows(f"SELECT {kinds} FROM {_VIEW} LIMIT 1") or [("",) * len(columns)]
        finally:
            session.run(f"DROP VIEW {_VIEW}")
        return tuple(
            column if column.type_name else _column(column.name, _STORED.get(str(kind), "text"))
            for column, kind in zip(columns, first[0], strict=True)
        )

    def _columns(self, session: Session, table: str, counting: bool) -> tuple[SqlColumn, ...]:
        rows = session.rows(
            f'SELECT name, type, "notnull", pk FROM pragma_table_info({text_literal(table)})'
        )
        return tuple(
            _column(
                str(name),
                str(declared),
                optional=not required,
                primary_key=bool(key),
                auto_increment=counting and bool(key),
            )
            for name, declared, required, key in rows
        )

    def now(self, session: Session) -> int:
        """The clock of this machine: the database has no other."""
        ((millis,),) = session.rows("SELECT " + _millis("'now'"))
        return int(str(millis)) * 1000

    def listed(self, columns: Sequence[SqlColumn]) -> str:
        """Values without nulls, and beside each whether it is null."""
        parts: list[str] = []
        for place, column in enumerate(columns):
            name = self.quoted(column.name)
            parts.append(f"{_value(column, name)} AS v{place}")
            parts.append(f"{name} IS NULL AS n{place}")
        return ", ".join(parts)

    def read(
        self, session: Session, statement: str, columns: Sequence[SqlColumn], rows: int
    ) -> Generator[list[pa.Array], None, None]:
        """Values with their nulls put back."""
        assert isinstance(session, AdbcSession)
        for batch in session.stream(statement):
            given = batch.columns
            arrays = [
                _typed(column, pc.if_else(pc.equal(null, 0), value, None))
                for column, value, null in zip(columns, given[::2], given[1::2], strict=True)
            ]
            yield from sliced(arrays, rows)

    def moment(self, column: SqlColumn) -> str:
        """Milliseconds since 1970."""
        return _moment(self.quoted(column.name))

    def moment_literal(self, column: SqlColumn, micros: int) -> str:
        """Milliseconds since 1970."""
        return str(micros // 1000)

    def alter_table(self, table: TableId, fields: Sequence[SinkField]) -> list[str]:
        """SQLite adds one column at a time."""
        return [
            each
            for field in fields
            for each in super(SqliteDialect, self).alter_table(table, [field])
        ]

    def upsert(self, table: TableId, fields: Fields) -> str:
        """A row in the place of any that has its key."""
        return f"INSERT OR REPLACE INTO {self._into(table, fields)}"

    def written(self, schema: Schema, target: SqlColumn | None, values: pa.Array) -> pa.Array:
        """Days, times and moments as milliseconds, exact numbers as text, as Java's driver does."""
        if schema.name == schemas.DECIMAL:
            return values.cast(pa.string())
        if schema.name == schemas.DATE:
            return values.cast(pa.timestamp("ms")).cast(pa.int64())
        if schema.name == schemas.TIME:
            return values.cast(pa.int32())
        if schema.name == schemas.TIMESTAMP:
            return values.cast(pa.int64())
        return super().written(schema, target, values)


def _column(name: str, declared: str, **said: bool) -> SqlColumn:
    found = _DECLARED.match(declared)
    base, precision, scale = (
        (found[1].lower(), found[2], found[3]) if found else (declared, None, None)
    )
    kind = _TYPES.get(base) or _affinity(base)
    digits = int(precision) if precision else 0
    behind = int(scale) if scale else (0 if precision else UNSET)
    return SqlColumn(name, kind, declared.lower(), precision=digits, scale=behind, **said)


def _affinity(base: str) -> SqlType:
    """SQLite's own rule of what a declared type means."""
    if "int" in base:
        return SqlType.BIGINT
    if any(part in base for part in ("char", "clob", "text")):
        return SqlType.TEXT
    if "blob" in base or "binary" in base:
        return SqlType.BYTES
    return SqlType.DOUBLE if any(part in base for part in ("floa", "doub")) else SqlType.TEXT


def _value(column: SqlColumn, name: str) -> str:
    if column.type in (SqlType.INSTANT, SqlType.DATE):
        return f"COALESCE({_moment(name)}, 0)"
    assert column.type is not None
    kind, instead = _CASTS[column.type]
    return f"COALESCE(CAST({name} AS {kind}), {instead})"


def _moment(value: str) -> str:
    """A value as milliseconds: a number is that, text is parsed."""
    return (
        f"CASE typeof({value}) WHEN 'text' THEN {_millis(value)} ELSE CAST({value} AS INTEGER) END"
    )


def _millis(value: str) -> str:
    seconds = f"CAST(strftime('%s', {value}) AS INTEGER)"
    return f"({seconds} * 1000 + CAST(substr(strftime('%f', {value}), 4) AS INTEGER))"


def _typed(column: SqlColumn, values: pa.Array) -> pa.Array:
    if column.type is SqlType.INSTANT:
        return values.cast(pa.timestamp("ms", tz="UTC")).cast(pa.timestamp("us", tz="UTC"))
    if column.type is SqlType.DATE:
        return values.cast(pa.timestamp("ms")).cast(pa.date32(), safe=False)
    return values
