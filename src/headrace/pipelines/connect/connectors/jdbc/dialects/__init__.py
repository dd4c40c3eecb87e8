"""One module per kind of database, and the choice between them."""

from __future__ import annotations

from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.url import Address
from headrace.pipelines.connect.faults import ConfigException

_NAMES = {
    "SqliteDatabaseDialect": "sqlite",
    "PostgreSqlDatabaseDialect": "postgresql",
    "MySqlDatabaseDialect": "mysql",
    "GenericDatabaseDialect": "generic",
}


def dialect_of(address: Address, *, quoting: bool, zone: str, named: str = "") -> Dialect:
    """The dialect of a database, or the one that is named. Only its driver is imported."""
    if named and named not in _NAMES:
        raise ConfigException.of("dialect.name", named, f"Must be one of {', '.join(_NAMES)}")
    kind = _NAMES[named] if named else address.dialect
    if named and (kind in ("sqlite", "postgresql")) != address.adbc:
        raise ConfigException.of(
            "dialect.name", named, "This dialect has another driver than connection.url names"
        )
    return _class(kind)(quoting=quoting, zone=zone)


def _class(kind: str) -> type[Dialect]:
    if kind == "sqlite":
        from headrace.pipelines.connect.connectors.jdbc.dialects.sqlite import SqliteDialect

        return SqliteDialect
    if kind == "postgresql":
        from headrace.pipelines.connect.connectors.jdbc.dialects.postgresql import PostgresqlDialect

        return PostgresqlDialect
    if kind == "mysql":
        from headrace.pipelines.connect.connectors.jdbc.dialects.mysql import MysqlDialect

        return MysqlDialect
    from headrace.pipelines.connect.connectors.jdbc.dialects.alchemy import AlchemyDialect

    return AlchemyDialect
