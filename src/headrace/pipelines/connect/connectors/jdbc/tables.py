"""Names and shapes of tables, as a database reports them.

`SqlType` is what the databases' many types have in common, and what a type becomes in a record
depends on nothing else. A column whose type has no counterpart has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final


class SqlType(Enum):
    """JDBC's types, as far as records can hold them."""

    BOOLEAN = "boolean"
    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    REAL = "real"
    DOUBLE = "double"
    NUMERIC = "numeric"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"  # a wall clock's, in the zone that db.timezone names
    INSTANT = "instant"  # a moment, whatever the zone


UNSET: Final = -1
"""The scale of numbers that have as many digits behind the point as each needs."""


@dataclass(frozen=True, slots=True)
class TableId:
    """A table's name and where it lies."""

    name: str
    schema: str | None = None
    catalog: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The names from the outermost to the table's own."""
        return tuple(part for part in (self.catalog, self.schema, self.name) if part)

    @property
    def plain(self) -> str:
        """The full name without quotes, as source partitions have it."""
        return ".".join(self.parts)

    def __str__(self) -> str:
        return ".".join(f'"{part}"' for part in self.parts)


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column. `type_name` is the database's own name of its type, in lower case."""

    name: str
    type: SqlType | None
    type_name: str = ""
    optional: bool = True
    precision: int = 0
    scale: int = UNSET
    primary_key: bool = False
    auto_increment: bool = False

    @property
    def nullable(self) -> bool:
        """Whether a row may have no value; SQLite does not say of its keys that they have one."""
        return self.optional and not self.primary_key


@dataclass(frozen=True)
class Table:
    """A table's columns in their order. `kind` is TABLE, VIEW or what else the database has;
    `schema` is where it was found, whether or not its name says so."""

    id: TableId
    columns: tuple[SqlColumn, ...]
    kind: str = "TABLE"
    schema: str | None = None

    @cached_property
    def by_name(self) -> dict[str, SqlColumn]:
        """Each column by its name."""
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> SqlColumn | None:
        """The column of that name, or the only one that differs in case alone."""
        exact = self.by_name.get(name)
        if exact is not None:
            return exact
        alike = [column for column in self.columns if column.name.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else None
