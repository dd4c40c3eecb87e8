"""What a database has of its own: names, types, statements, and how its tables are looked up.

The statements are those that Confluent's connector writes. A dialect knows no connection: where it
needs to ask, it is given a session.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Sequence
from decimal import Decimal
from typing import ClassVar
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.connectors.jdbc.fields import Fields, SinkField
from headrace.pipelines.connect.connectors.jdbc.session import Session
from headrace.pipelines.connect.connectors.jdbc.tables import SqlColumn, SqlType, Table, TableId
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import EPOCH, Schema, Type


class Dialect(ABC):
    """A kind of database, with the connector's choices about quotes and the time zone."""

    name: ClassVar[str]
    quotes: ClassVar[tuple[str, str]] = ('"', '"')
    opening: ClassVar[tuple[str, ...]] = ()  # what a fresh connection is told
    locking: ClassVar[str] = " FOR UPDATE"  # behind a query whose rows nobody else may change
    types: ClassVar[dict[Type, str]] = {}
    logical_types: ClassVar[dict[str, str]] = {}

    def __init__(self, *, quoting: bool = True, zone: str = "UTC") -> None:
        self.quoting = quoting
        self.zone = zone

    # --- names ---

    def quoted(self, name: str) -> str:
        """A name as statements have it."""
        return self.enclosed(name) if self.quoting else name

    def enclosed(self, name: str) -> str:
        """A name in quotes, whatever the connector's choice."""
        before, after = self.quotes
        return f"{before}{name.replace(after, after * 2)}{after}"

    def table(self, table: TableId) -> str:
        """A table's full name as statements have it."""
        return ".".join(self.quoted(part) for part in table.parts)

    def parsed(self, text: str) -> TableId:
        """The table that a full name means, quoted or not."""
        parts = split_names(text, ".", self.quotes)
        return TableId(*reversed(parts[-3:]))

    # --- looking up ---

    @abstractmethod
    def tables(
        self, session: Session, types: Collection[str], catalog: str | None, schema: str | None
    ) -> list[TableId]:
        """Tables of these types, in the catalogs and schemas that the patterns match."""

    @abstractmethod
    def describe(self, session: Session, table: TableId) -> Table | None:
        """A table's columns; None if there is no such table."""

    @abstractmethod
    def described(self, session: Session, query: str) -> tuple[SqlColumn, ...]:
        """The columns of a query's rows."""

    @abstractmethod
    def now(self, session: Session) -> int:
        """The database's clock, in microseconds since 1970."""

    # --- reading ---

    @abstractmethod
    def read(
        self, session: Session, statement: str, columns: Sequence[SqlColumn], rows: int
    ) -> Generator[list[pa.Array], None, None]:
        """Rows of a statement that `select` made, as an array for each column, at most `rows` at
        a time. Numbers of NUMERIC columns are text, TIMESTAMP has no zone, INSTANT is in UTC."""

    def select(self, origin: TableId | str, columns: Sequence[SqlColumn], tail: str) -> str:
        """The query of a table's or another query's rows that `read` understands. `tail` has its
        conditions and its order."""
        listed = self.listed(columns)
        if isinstance(origin, TableId):
            return f"SELECT {listed or '*'} FROM {self.table(origin)}{tail}"
        whole = f"{origin}{tail}"
        return f"SELECT {listed} FROM ({whole}) AS headrace_query" if listed else whole

    def listed(self, columns: Sequence[SqlColumn]) -> str | None:
        """What a query has to select for these columns; None if they come as they are."""
        return None

    def moment(self, column: SqlColumn) -> str:
        """A column with timestamps as it can be compared."""
        return self.quoted(column.name)

    def moment_literal(self, column: SqlColumn, micros: int) -> str:
        """A moment as it compares with a column."""
        return f"'{self.wall_clock(micros, instant=column.type is SqlType.INSTANT)}'"

    def wall_clock(self, micros: int, *, instant: bool) -> str:
        """A moment as text, in UTC or in the connector's zone."""
        moment = EPOCH + datetime.timedelta(microseconds=micros)
        local = moment if instant else moment.astimezone(ZoneInfo(self.zone))
        return local.replace(tzinfo=None).isoformat(" ", "microseconds")

    # --- tables made and changed ---

    def create_table(self, table: TableId, fields: Sequence[SinkField]) -> str:
        """The statement that makes a table."""
        lines = [f"\n{self._column(field)}" for field in fields]
        keys = [self.quoted(field.name) for field in fields if field.primary_key]
        if keys:
            lines.append(f"\nPRIMARY KEY({','.join(keys)})")
        return f"CREATE TABLE {self.table(table)} ({','.join(lines)})"

    def alter_table(self, table: TableId, fields: Sequence[SinkField]) -> list[str]:
        """The statements that add columns to a table."""
        between = "\n" if len(fields) > 1 else ""
        added = ",".join(f"{between}ADD {self._column(field)}" for field in fields)
        return [f"ALTER TABLE {self.table(table)} {added}"]

    def _column(self, field: SinkField) -> str:
        start = f"{self.quoted(field.name)} {self.sql_type(field)}"
        if field.schema.default is not None:
            return f"{start} DEFAULT {self.literal(field.schema, field.schema.default)}"
        return f"{start} NULL" if field.optional else f"{start} NOT NULL"

    def sql_type(self, field: SinkField) -> str:
        """The type of a column for a field's values."""
        schema = field.schema
        kind = self.logical_types.get(schema.name or "") or self.types.get(schema.type)
        if kind is None:
            raise ConnectException(
                f"{schema.name or 'null'} ({schema.type.name}) type doesn't have a mapping to the "
                f"SQL database column type"
            )
        return kind

    def literal(self, schema: Schema, value: object) -> str:
        """A default value as a statement has it."""
        if isinstance(value, bool):
            return "1" if value else "0"
        if isinstance(value, int | float | Decimal):
            return str(value)
        if isinstance(value, bytes):
            return f"x'{value.hex()}'"
        if isinstance(value, datetime.datetime):
            micros = (value - EPOCH) // datetime.timedelta(microseconds=1)
            value = self.wall_clock(micros, instant=False)[:-3]
        elif isinstance(value, datetime.date | datetime.time):
            value = value.isoformat()
        if isinstance(value, str):
            return text_literal(value)
        raise ConnectException(f"Unsupported type for column value: {schema.type.name}")

    # --- writing ---

    def statement(self, write: str, table: TableId, fields: Fields) -> str:
        """The statement of one row's insert, upsert, update or delete."""
        keys, others = fields.keys, fields.others
        if write == "insert":
            return f"INSERT INTO {self._into(table, fields)}"
        if write == "upsert":
            return self.upsert(table, fields)
        named = list(others if write == "update" else ()) + list(keys)
        given = dict(zip(named, self.parameters(len(named)), strict=True))
        equal = {name: f"{self.quoted(name)} = {given[name]}" for name in named}
        where = f" WHERE {' AND '.join(equal[name] for name in keys)}" if keys else ""
        if write == "delete":
            return f"DELETE FROM {self.table(table)}{where}"
        changed = ", ".join(equal[name] for name in others)
        return f"UPDATE {self.table(table)} SET {changed}{where}"

    def upsert(self, table: TableId, fields: Fields) -> str:
        """The statement that inserts a row or replaces what has its key."""
        raise ConnectException(
            f"Write to table '{table}' in UPSERT mode is not supported with the {self.name} "
            "dialect."
        )

    def _into(self, table: TableId, fields: Fields) -> str:
        names = ",".join(map(self.quoted, fields.names))
        return (
            f"{self.table(table)}({names}) VALUES({','.join(self.parameters(len(fields.names)))})"
        )

    def parameters(self, count: int) -> list[str]:
        """What stands for the values of a statement."""
        return ["?"] * count

    def write(
        self, session: Session, write: str, table: Table, fields: Fields, data: pa.RecordBatch
    ) -> None:
        """Write rows whose columns are those that `statement` wants, by name."""
        wanted = fields.names
        if write == "update":
            wanted = fields.others + fields.keys
        elif write == "delete":
            wanted = fields.keys
        changed = session.many(self.statement(write, table.id, fields), data.select(list(wanted)))
        if write == "insert" and changed not in (-1, len(data)):
            raise ConnectException(
                f"Update count ({changed}) did not sum up to total number of records inserted "
                f"({len(data)})"
            )

    def written(self, schema: Schema, target: SqlColumn | None, values: pa.Array) -> pa.Array:
        """A field's values as the database takes them: moments as its wall clock shows them."""
        if schema.type not in self.types:
            raise ConnectException(f"Unsupported source data type: {schema.type.name}")
        if schema.name == schemas.TIMESTAMP and not (
            target is not None and target.type is SqlType.INSTANT
        ):
            return pc.local_timestamp(values.cast(pa.timestamp("us", tz=self.zone)))
        return values


def sliced(arrays: Sequence[pa.Array], rows: int) -> Iterator[list[pa.Array]]:
    """Arrays of one length in pieces of at most `rows`."""
    for start in range(0, len(arrays[0]), rows):
        yield [array.slice(start, rows) for array in arrays]


def text_literal(text: str) -> str:
    """A string as standard SQL has it."""
    quote = text.replace("'", "''")
    return f"'{quote}'"


def split_names(text: str, separator: str, quotes: tuple[str, str]) -> list[str]:
    """Names between separators, without their quotes; a quoted name may have any character."""
    closing = {'"': '"', "`": "`"} | dict([quotes])
    parts = [""]
    end = ""
    for letter in text:
        if end and letter == end:
            end = ""
        elif end:
            parts[-1] += letter
        elif letter in closing:
            end = closing[letter]
        elif letter == separator:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
