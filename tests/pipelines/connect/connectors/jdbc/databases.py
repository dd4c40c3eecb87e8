"""Databases to test with: one that is empty, for each test, of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import pymysql
from adbc_driver_postgresql import dbapi as postgresql
from adbc_driver_sqlite import dbapi as adbc_sqlite

from tests.servers.server import HOST, Server


class Database(Protocol):
    """A database beside its connectors: what a test does in it, and sees of it."""

    kind: str
    timestamp: str

    @property
    def settings(self) -> Mapping[str, str]:
        """The address, as a connector is given it."""

    def run(self, *statements: str) -> None:
        """Execute statements, each at once durable."""

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """A query's rows."""


@dataclass
class Sqlite:
    """A file. It is opened by the library that the connectors have: two SQLites in one process know
    nothing of each other's locks."""

    path: Path
    kind: str = "sqlite"
    timestamp: str = "TIMESTAMP"

    @property
    def settings(self) -> Mapping[str, str]:
        return {"connection.url": f"jdbc:sqlite:{self.path}"}

    def run(self, *statements: str) -> None:
        with adbc_sqlite.connect(str(self.path), autocommit=True) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with (
            adbc_sqlite.connect(str(self.path), autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(query)
            return list(cursor.fetchall())


@dataclass
class Postgres:
    """A database of a server."""

    server: Server
    name: str
    kind: str = "postgres"
    timestamp: str = "TIMESTAMP"

    @property
    def settings(self) -> Mapping[str, str]:
        url = f"jdbc:postgresql://{HOST}:{self.server.port}/{self.name}"
        return {"connection.url": url, "connection.user": "postgres"}

    @cached_property
    def connection(self) -> postgresql.Connection:
        uri = f"postgresql://postgres@{HOST}:{self.server.port}/{self.name}"
        return postgresql.connect(uri, autocommit=True)

    def run(self, *statements: str) -> None:
        for statement in statements:
            with self.connection.cursor() as cursor:
                cursor.execute(statement)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())


@dataclass
class Mariadb:
    """A database of a server."""

    server: Server
    name: str
    kind: str = "mariadb"
    timestamp: str = "DATETIME(6)"

    @property
    def settings(self) -> Mapping[str, str]:
        url = f"jdbc:mariadb://{HOST}:{self.server.port}/{self.name}"
        return {"connection.url": url, "connection.user": "root"}

    @cached_property
    def connection(self) -> pymysql.Connection:
        return pymysql.connect(
            host=HOST,
            port=self.server.port,
            user="root",
            database=self.name,
            autocommit=True,
            init_command="SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')",
        )

    def run(self, *statements: str) -> None:
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())


@contextmanager
def postgres_database(server: Server) -> Iterator[Postgres]:
    """A new database, dropped at the end."""
    name = f"test_{uuid4().hex}"
    whole, made = Postgres(server, "postgres"), Postgres(server, name)
    whole.run(f"CREATE DATABASE {name}")
    with closing(whole.connection):
        yield made
        if "connection" in vars(made):
            made.connection.close()
        whole.run(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def mariadb_database(server: Server) -> Iterator[Mariadb]:
    """A new database, dropped at the end."""
    name = f"test_{uuid4().hex}"
    whole, made = Mariadb(server, "mysql"), Mariadb(server, name)
    whole.run(f"CREATE DATABASE {name}")
    with closing(whole.connection):
        yield made
        if "connection" in vars(made):
            made.connection.close()
        whole.run(f"DROP DATABASE {name}")
