"""MySQL and MariaDB, by SQLAlchemy and PyMySQL.

Sessions are in UTC, so that TIMESTAMP columns are moments; DATETIME columns are a wall clock's.
"""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import types as sql
from sqlalchemy.dialects import mysql

from headrace.pipelines.connect.connectors.jdbc.dialects.alchemy import AlchemyDialect
from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import text_literal
from headrace.pipelines.connect.connectors.jdbc.fields import Fields, SinkField
from headrace.pipelines.connect.connectors.jdbc.session import Session
from headrace.pipelines.connect.connectors.jdbc.tables import SqlColumn, SqlType, TableId
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Type

_UNSIGNED = {
    SqlType.TINYINT: SqlType.SMALLINT,
    SqlType.SMALLINT: SqlType.INTEGER,
    SqlType.INTEGER: SqlType.BIGINT,
}


class MysqlDialect(AlchemyDialect):
    """MySQL and MariaDB."""

    name = "MySqlDatabaseDialect"
    quotes = ("`", "`")
    # Moments in UTC, and values that do not fit refused rather than cut.
    opening = ("SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')",)
    types: ClassVar = {
        Type.INT8: "TINYINT",
        Type.INT16: "SMALLINT",
        Type.INT32: "INT",
        Type.INT64: "BIGINT",
        Type.FLOAT32: "FLOAT",
        Type.FLOAT64: "DOUBLE",
        Type.BOOLEAN: "TINYINT",
        Type.STRING: "TEXT",
        Type.BYTES: "VARBINARY(1024)",
    }
    logical_types: ClassVar = {
        schemas.DATE: "DATE",
        schemas.TIME: "TIME(3)",
        schemas.TIMESTAMP: "DATETIME(3)",
    }

    def place_pattern(self, catalog: str | None, schema: str | None) -> str | None:
        """Databases are catalogs."""
        return catalog

    def identified(self, place: str | None, name: str) -> TableId:
        """A database's table."""
        return TableId(name, None, place)

    def place_of(self, table: TableId) -> str | None:
        """The table's database; a name of two parts has it before the point."""
        return table.catalog or table.schema

    def sql_type_of(self, kind: sql.TypeEngine[object]) -> SqlType | None:
        """As Java's driver has it: bits are small numbers, a year is its first day."""
        if isinstance(kind, mysql.TINYINT):
            plain: SqlType | None = SqlType.TINYINT
        elif isinstance(kind, mysql.TIMESTAMP):
            plain = SqlType.INSTANT
        elif isinstance(kind, mysql.BIT):
            plain = SqlType.TINYINT
        elif isinstance(kind, mysql.YEAR):
            plain = SqlType.DATE
        elif isinstance(kind, mysql.FLOAT):
            plain = SqlType.REAL
        else:
            plain = super().sql_type_of(kind)
        if plain is not None and getattr(kind, "unsigned", False):
            return _UNSIGNED.get(plain, plain)
        return plain

    def now(self, session: Session) -> int:
        """The server's clock."""
        ((micros,),) = session.rows("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)")
        return int(str(micros))

    def moment_literal(self, column: SqlColumn, micros: int) -> str:
        """A moment as the column's clock shows it."""
        return text_literal(self.wall_clock(micros, instant=column.type is SqlType.INSTANT))

    def sql_type(self, field: SinkField) -> str:
        """Decimals have all the digits that there are."""
        if field.schema.name == schemas.DECIMAL:
            return f"DECIMAL(65,{field.schema.scale})"
        return super().sql_type(field)

    def literal(self, schema: Schema, value: object) -> str:
        """In strings a backslash has a meaning."""
        if isinstance(value, str):
            return text_literal(value.replace("\\", "\\\\"))
        return super().literal(schema, value)

    def upsert(self, table: TableId, fields: Fields) -> str:
        """A row, or new values for the one that has its key."""
        names = ",".join(map(self.quoted, fields.names))
        values = ",".join(self.parameters(len(fields.names)))
        new = ",".join(
            f"{self.quoted(name)}=values({self.quoted(name)})"
            for name in fields.others or fields.keys
        )
        into = f"{self.table(table)}({names}) values({values})"
        return f"insert into {into} on duplicate key update {new}"
