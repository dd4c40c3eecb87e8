"""Connections by ADBC: rows are Arrow on both ways, and never Python's objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import adbc_driver_manager
import pyarrow as pa
from adbc_driver_manager import dbapi

from headrace.pipelines.connect.connectors.jdbc.session import SqlFault, Trouble
from headrace.pipelines.connect.connectors.jdbc.url import Address, sanitized

_CHUNK_BYTES: Final = 1 << 20  # what PostgreSQL's driver gathers into one batch
_CHUNK_ROWS: Final = 1000  # what SQLite's does
_SQLSTATE: Final = re.compile(r"SQLSTATE: (\w{5})")
_PASSING: Final = ("08", "40", "53", "57P", "55P03")
_REFUSED: Final = ("21", "22", "23")
_MISSING: Final = ("42P01", "42703", "3F000")
_WORDS: Final = (
    (re.compile(r"constraint failed|datatype mismatch|too big"), Trouble.REFUSED),
    (
        re.compile(
            r"no such (table|column)|has no column named|(relation|Column) \".*\" does not exist"
        ),
        Trouble.MISSING,
    ),
    (
        re.compile(r"is locked|is busy|disk I/O|is full|connection|could not (receive|send)"),
        Trouble.PASSING,
    ),
)


class AdbcSession:
    """A connection of SQLite's or PostgreSQL's driver.

    Transactions are begun and ended by statements, not by ADBC, which would let nothing pass in a
    transaction with a fault, the way back to a savepoint included.
    """

    def __init__(self, address: Address, *, autocommit: bool) -> None:
        self._sqlite = address.dialect == "sqlite"
        self._begins = self._begun = False
        with _faults():
            self._connection = _connected(address)
        if self._sqlite:
            self.rows(f"PRAGMA busy_timeout = {address.lock_wait_ms}")
        self._begins = not autocommit

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """All rows of a query that has few."""
        with self._cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def run(self, statement: str) -> None:
        """Execute what gives no rows."""
        with self._cursor() as cursor:
            cursor.execute(statement)

    def described(self, statement: str) -> pa.Schema:
        """The columns that a query would give."""
        with self._cursor() as cursor:
            return cursor.adbc_execute_schema(statement)

    def stream(self, statement: str) -> Iterator[pa.RecordBatch]:
        """A query's rows as the database sends them, in batches as the driver makes them."""
        option, size = (
            ("adbc.sqlite.query.batch_rows", _CHUNK_ROWS)
            if self._sqlite
            else ("adbc.postgresql.batch_size_hint_bytes", _CHUNK_BYTES)
        )
        with self._cursor() as cursor:
            cursor.adbc_statement.set_options(**{option: str(size)})
            cursor.execute(statement)
            yield from cursor.fetch_record_batch()

    def many(self, statement: str, data: pa.RecordBatch) -> int:
        """Execute a statement for every row of `data`."""
        with self._cursor() as cursor:
            cursor.executemany(statement, data)
            return int(cursor.rowcount)

    def ingest(
        self, table: str, schema: str | None, data: pa.RecordBatch, *, temporary: bool
    ) -> None:
        """Copy `data` into a table: one that there is, or a temporary one that is made of it."""
        with self._cursor() as cursor:
            cursor.adbc_ingest(
                table,
                data,
                mode="create" if temporary else "append",
                db_schema_name=schema,
                temporary=temporary,
            )

    def commit(self) -> None:
        """Make durable what was done since the last commit."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """Undo what was done since the last commit."""
        self._end("ROLLBACK")

    def close(self) -> None:
        """Let go of the connection."""
        with _faults():
            self._connection.close()

    @contextmanager
    def _cursor(self) -> Iterator[dbapi.Cursor]:
        with _faults(), self._connection.cursor() as cursor:
            if self._begins and not self._begun:
                # A writer of SQLite that has read first may not get the lock that it then needs.
                cursor.execute("BEGIN IMMEDIATE" if self._sqlite else "BEGIN")
                self._begun = True
            yield cursor

    def _end(self, statement: str) -> None:
        if self._begun:
            self._begun = False
            with _faults(), self._connection.cursor() as cursor:
                cursor.execute(statement)


def _connected(address: Address) -> dbapi.Connection:
    if address.dialect == "sqlite":
        from adbc_driver_sqlite import dbapi as sqlite

        return sqlite.connect(address.uri, autocommit=True)
    from adbc_driver_postgresql import dbapi as postgresql

    made: dbapi.Connection = postgresql.connect(address.uri, autocommit=True)
    return made


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except adbc_driver_manager.Error as error:
        raise _fault(str(error), error.sqlstate) from error
    except (pa.ArrowException, OSError) as error:  # what a stream of batches meets on its way
        raise _fault(str(error), None) from error


def _fault(message: str, state: str | None) -> SqlFault:
    found = _SQLSTATE.search(message)
    code = state or (found[1] if found else "")
    for known, trouble in (
        (_PASSING, Trouble.PASSING),
        (_REFUSED, Trouble.REFUSED),
        (_MISSING, Trouble.MISSING),
    ):
        if code.startswith(known):
            return SqlFault(sanitized(message.strip()), trouble)
    trouble = next((kind for words, kind in _WORDS if words.search(message)), Trouble.OTHER)
    return SqlFault(sanitized(message.strip()), Trouble.OTHER if code else trouble)
