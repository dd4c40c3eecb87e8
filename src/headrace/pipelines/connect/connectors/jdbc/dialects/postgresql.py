"""PostgreSQL, by ADBC: rows come by COPY as they are sent, and go by COPY into a staging table.

Where a table's types are exactly those of the rows, an insert copies into the table itself.
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

_STAGE: Final = "headrace_stage"
_NAME_BYTES: Final = 63
_TYPES: Final = {
    "bool": SqlType.BOOLEAN,
    "int2": SqlType.SMALLINT,
    "int4": SqlType.INTEGER,
    "int8": SqlType.BIGINT,
    "oid": SqlType.BIGINT,
    "float4": SqlType.REAL,
    "float8": SqlType.DOUBLE,
    "money": SqlType.DOUBLE,
    "numeric": SqlType.NUMERIC,
    "text": SqlType.TEXT,
    "varchar": SqlType.TEXT,
    "bpchar": SqlType.TEXT,
    "char": SqlType.TEXT,
    "name": SqlType.TEXT,
    "citext": SqlType.TEXT,
    "json": SqlType.TEXT,
    "jsonb": SqlType.TEXT,
    "uuid": SqlType.TEXT,
    "xml": SqlType.TEXT,
    "bytea": SqlType.BYTES,
    "date": SqlType.DATE,
    "time": SqlType.TIME,
    "timetz": SqlType.TIME,
    "timestamp": SqlType.TIMESTAMP,
    "timestamptz": SqlType.INSTANT,
}
_AS_THEY_ARE: Final = frozenset(_TYPES) - {"money", "char", "citext", "uuid", "xml", "timetz"}
_KINDS: Final = {
    "r": "TABLE",
    "p": "PARTITIONED TABLE",
    "v": "VIEW",
    "m": "MATERIALIZED VIEW",
    "f": "FOREIGN TABLE",
}
_SYSTEM: Final = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
# What a column of each Arrow type is copied into without a change.
_COPIED: Final = {
    pa.int16(): ("int2",),
    pa.int32(): ("int4",),
    pa.int64(): ("int8",),
    pa.float32(): ("float4",),
    pa.float64(): ("float8",),
    pa.bool_(): ("bool",),
    pa.string(): ("text", "varchar"),
    pa.binary(): ("bytea",),
    pa.date32(): ("date",),
    pa.time64("us"): ("time",),
    pa.timestamp("us"): ("timestamp",),
    pa.timestamp("us", tz="UTC"): ("timestamptz",),
}
_TEXTUAL: Final = ("text", "varchar", "bpchar", "name", "char", "citext")


class PostgresqlDialect(Dialect):
    """PostgreSQL, by ADBC."""

    name = "PostgreSqlDatabaseDialect"
    types: ClassVar = {
        Type.INT8: "SMALLINT",
        Type.INT16: "SMALLINT",
        Type.INT32: "INT",
        Type.INT64: "BIGINT",
        Type.FLOAT32: "REAL",
        Type.FLOAT64: "DOUBLE PRECISION",
        Type.BOOLEAN: "BOOLEAN",
        Type.STRING: "TEXT",
        Type.BYTES: "BYTEA",
    }
    logical_types: ClassVar = {
        schemas.DECIMAL: "DECIMAL",
        schemas.DATE: "DATE",
        schemas.TIME: "TIME",
        schemas.TIMESTAMP: "TIMESTAMP",
    }

    def parsed(self, text: str) -> TableId:
        """Names are cut, and those without quotes folded, as the server does it."""
        table = super().parsed(text)
        name = table.name.encode()[:_NAME_BYTES].decode(errors="ignore")
        return TableId(name if self.quoting else name.lower(), table.schema, table.catalog)

    def tables(
        self, session: Session, types: Collection[str], catalog: str | None, schema: str | None
    ) -> list[TableId]:
        """Tables of the database that the connection is to."""
        wanted = {kind.upper() for kind in types}
        letters = [letter for letter, kind in _KINDS.items() if kind in wanted]
        kinds = ",".join(map(text_literal, letters)) or "NULL"
        where = f"AND n.nspname LIKE {text_literal(schema)}" if schema is not None else ""
        rows = session.rows(
            "SELECT current_database()::text, n.nspname::text, c.relname::text FROM pg_class c "
            f"JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind::text IN ({kinds}) "
            f"AND {_SYSTEM} AND n.nspname NOT LIKE 'pg\\_temp%' {where} ORDER BY 2, 3"
        )
        return [TableId(str(name), str(place), str(base)) for base, place, name in rows]

    def describe(self, session: Session, table: TableId) -> Table | None:
        """A table of the schema that is named, or else the first of that name on the path."""
        name = text_literal(table.name)
        place = (
            f"n.nspname = {text_literal(table.schema)}"
            if table.schema
            else "pg_table_is_visible(c.oid)"
        )
        rows = session.rows(
            "SELECT c.relkind::text, n.nspname::text, "
            "a.attname::text, t.typname::text, t.typtype::text, "
            "a.atttypmod, a.attnotnull, COALESCE(a.attnum = ANY(i.indkey::int2[]), false), "
            "a.attidentity <> '' OR COALESCE(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', "
            "false) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
            "JOIN pg_type t ON t.oid = a.atttypid "
            "LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary "
            "LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum "
            f"WHERE c.relname = {name} AND {place} AND c.relkind IN ('r','p','v','m','f') "
            "ORDER BY a.attnum"
        )
        if not rows:
            return None
        columns = tuple(
            _column(
                str(column),
                str(kind),
                int(str(modifier)),
                enum=group == "e",
                optional=not required,
                primary_key=bool(key),
                auto_increment=bool(counting),
            )
            for _, _, column, kind, group, modifier, required, key, counting in rows
        )
        relation, schema = map(str, rows[0][:2])
        return Table(table, columns, _KINDS.get(relation, "TABLE"), schema)

    def described(self, session: Session, query: str) -> tuple[SqlColumn, ...]:
        """The columns that the server announces for the query."""
        assert isinstance(session, AdbcSession)
        made: list[SqlColumn] = []
        for field in session.described(query):
            said = {key.decode(): text.decode() for key, text in (field.metadata or {}).items()}
            kind = said.get("POSTGRESQL:type", "")
            modifier = int(said.get("POSTGRESQL:typmod", "-1"))
            enum = kind not in _TYPES and _is_enum(session, kind)
            made.append(_column(field.name, kind, modifier, enum=enum))
        return tuple(made)

    def now(self, session: Session) -> int:
        """The server's clock."""
        ((micros,),) = session.rows(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        )
        return int(str(micros))

    def listed(self, columns: Sequence[SqlColumn]) -> str:
        """The columns by name; what ADBC does not read as it is, is cast."""
        return ", ".join(self._expression(column) for column in columns)

    def _expression(self, column: SqlColumn) -> str:
        name = self.quoted(column.name)
        if column.type_name in _AS_THEY_ARE:
            return name
        if column.type_name == "money":
            return f"{name}::numeric::float8 AS {name}"
        if column.type_name == "bit":
            return f"({name}::int4 <> 0) AS {name}"
        if column.type_name == "timetz":
            return f"({name} AT TIME ZONE 'UTC')::time AS {name}"
        return f"{name}::text AS {name}"

    def read(
        self, session: Session, statement: str, columns: Sequence[SqlColumn], rows: int
    ) -> Generator[list[pa.Array], None, None]:
        """Columns as they come; those of extension types as what stores them."""
        assert isinstance(session, AdbcSession)
        for batch in session.stream(statement):
            arrays = [
                column.storage if isinstance(column, pa.ExtensionArray) else column
                for column in batch.columns
            ]
            yield from sliced(arrays, rows)

    def moment_literal(self, column: SqlColumn, micros: int) -> str:
        """A moment, with its zone where the column has zones."""
        instant = column.type is SqlType.INSTANT
        text = self.wall_clock(micros, instant=instant)
        return f"'{text}+00'::timestamptz" if instant else f"'{text}'::timestamp"

    def sql_type(self, field: SinkField) -> str:
        """Arrays have the type of their items."""
        if field.schema.type is Type.ARRAY and not field.schema.name:
            return self.sql_type(SinkField(field.name, field.schema.item)) + "[]"
        return super().sql_type(field)

    def literal(self, schema: Schema, value: object) -> str:
        """Booleans and bytes have literals of their own."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, bytes):
            return f"'\\x{value.hex()}'"
        return super().literal(schema, value)

    def written(self, schema: Schema, target: SqlColumn | None, values: pa.Array) -> pa.Array:
        """Text without NUL, which the server has no place for, and widths that it has."""
        if schema.type is Type.ARRAY:
            return values
        local = super().written(schema, target, values)
        if pa.types.is_string(local.type):
            return pc.replace_substring(local, "\0", "")
        if pa.types.is_timestamp(local.type):
            return local.cast(pa.timestamp("us", tz=local.type.tz))
        if pa.types.is_time(local.type):
            return local.cast(pa.time64("us"))
        return local.cast(pa.int16()) if local.type == pa.int8() else local

    def write(
        self, session: Session, write: str, table: Table, fields: Fields, data: pa.RecordBatch
    ) -> None:
        """COPY into the table if nothing has to be cast, else into a stage and on from there."""
        assert isinstance(session, AdbcSession)
        if write == "insert" and _copied(table, data):
            session.ingest(table.id.name, table.schema, data, temporary=False)
            return
        session.ingest(_STAGE, None, data, temporary=True)
        session.run(self._from_stage(write, table, fields))
        session.run(f"DROP TABLE pg_temp.{_STAGE}")

    def _from_stage(self, write: str, table: Table, fields: Fields) -> str:
        into = self.table(table.id)
        value = {name: self._cast(table, name) for name in fields.names}
        same = " AND ".join(f"t.{self.quoted(name)} = {value[name]}" for name in fields.keys)
        if write == "delete":
            return f"DELETE FROM {into} AS t USING pg_temp.{_STAGE} AS s WHERE {same}"
        if write == "update":
            new = ", ".join(f"{self.quoted(name)} = {value[name]}" for name in fields.others)
            where = f" WHERE {same}" if same else ""
            return f"UPDATE {into} AS t SET {new} FROM pg_temp.{_STAGE} AS s{where}"
        names = ",".join(map(self.quoted, fields.names))
        values = ",".join(value[name] for name in fields.names)
        insert = f"INSERT INTO {into} ({names}) SELECT {values} FROM pg_temp.{_STAGE} AS s"
        return insert if write == "insert" else f"{insert} {self._on_conflict(fields)}"

    def _on_conflict(self, fields: Fields) -> str:
        keys = ",".join(map(self.quoted, fields.keys))
        if not fields.others:
            return f"ON CONFLICT ({keys}) DO NOTHING"
        new = ",".join(
            f"{self.quoted(name)}=EXCLUDED.{self.quoted(name)}" for name in fields.others
        )
        return f"ON CONFLICT ({keys}) DO UPDATE SET {new}"

    def _cast(self, table: Table, name: str) -> str:
        """A staged value; text for a column that is not text is cast to the column's type."""
        target = table.column(name)
        value = f"s.{_quoted(name)}"
        if target is None or target.type is not SqlType.TEXT or target.type_name in _TEXTUAL:
            return value
        return f"CAST({value} AS {_quoted(target.type_name)})"


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _column(name: str, kind: str, modifier: int, *, enum: bool, **said: bool) -> SqlColumn:
    precision, scale = 0, UNSET
    if kind == "numeric" and modifier >= 4:
        precision, scale = (modifier - 4 >> 16) & 0xFFFF, modifier - 4 & 0x7FF
        scale = scale - 0x800 if scale >= 0x400 else scale
    sql_type = SqlType.TEXT if enum else _TYPES.get(kind)
    if kind == "bit" and modifier == 1:
        sql_type = SqlType.BOOLEAN
    return SqlColumn(name, sql_type, kind, precision=precision, scale=scale, **said)


def _is_enum(session: Session, kind: str) -> bool:
    """Whether a type, by its name or by the number that ADBC gives where it knows no name, is."""
    unnamed = re.fullmatch(r"unnamed<oid:(\d+)>", kind)
    which = f"oid = {unnamed[1]}" if unnamed else f"typname = {text_literal(kind)}"
    return bool(session.rows(f"SELECT 1 FROM pg_type WHERE typtype = 'e' AND {which}"))


def _copied(table: Table, data: pa.RecordBatch) -> bool:
    """Whether every column of `data` is, bit for bit, what its column in the table is copied as."""
    if table.kind not in ("TABLE", "PARTITIONED TABLE"):
        return False
    for field in data.schema:
        column = table.by_name.get(field.name)
        if column is None or column.type_name not in _COPIED.get(field.type, ()):
            return False
    return True
