"""One server of each kind for the whole run, one empty database for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.connect.connectors.jdbc.databases import (
    Database,
    Mariadb,
    Postgres,
    Sqlite,
    mariadb_database,
    postgres_database,
)
from tests.servers.mariadb import mariadb as mariadb_server
from tests.servers.postgres import postgres as postgres_server
from tests.servers.server import Server


@pytest.fixture(scope="session")
def postgres_running() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_running() -> Iterator[Server]:
    with mariadb_server() as server:
        yield server


@pytest.fixture
def sqlite(tmp_path: Path) -> Sqlite:
    return Sqlite(tmp_path / "file.db")


@pytest.fixture
def postgres(postgres_running: Server) -> Iterator[Postgres]:
    with postgres_database(postgres_running) as database:
        yield database


@pytest.fixture
def mariadb(mariadb_running: Server) -> Iterator[Mariadb]:
    with mariadb_database(mariadb_running) as database:
        yield database


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database(request: pytest.FixtureRequest) -> Database:
    """An empty database, of one kind after the other."""
    made: Database = request.getfixturevalue(request.param)
    return made
