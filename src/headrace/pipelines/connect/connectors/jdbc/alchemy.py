"""Connections by SQLAlchemy, for the databases that ADBC has no driver for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
import sqlalchemy
from sqlalchemy import exc

from headrace.pipelines.connect.connectors.jdbc.session import SqlFault, Trouble
from headrace.pipelines.connect.connectors.jdbc.url import Address, sanitized

# MySQL's numbers: lock waits and deadlocks, too many connections, read-only, the server is gone.
_PASSING: Final = frozenset((1040, 1205, 1213, 1290, 1927, 2002, 2003, 2006, 2013, 2055))
_MISSING: Final = frozenset((1049, 1051, 1054, 1146))
_NO_NUMBER: Final = "can not be used with MySQL"  # what PyMySQL says of NaN and infinities
_REFUSED: Final = frozenset((1048, 1062, 1264, 1265, 1292, 1364, 1366, 1406, 1452, 4025))


class AlchemySession:
    """A connection of any driver that SQLAlchemy knows."""

    def __init__(self, address: Address, *, autocommit: bool) -> None:
        with _faults():
            self._engine = sqlalchemy.create_engine(address.uri, poolclass=sqlalchemy.NullPool)
            self._connection = self._engine.connect()
            if autocommit:
                self._connection = self._connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def inspecting(self) -> Iterator[sqlalchemy.Inspector]:
        """A fresh look at the tables."""
        with _faults():
            yield sqlalchemy.inspect(self._connection)

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """All rows of a query that has few."""
        with _faults():
            return [tuple(row) for row in self._plain(statement)]

    def run(self, statement: str) -> None:
        """Execute what gives no rows."""
        with _faults():
            self._plain(statement).close()

    def first(self, query: str, rows: int) -> tuple[list[str], list[tuple[object, ...]]]:
        """The names of a query's columns, and its first rows."""
        whole = _text(f"({query}) headrace_query")
        some = sqlalchemy.select(sqlalchemy.text("*")).select_from(whole).limit(rows)
        with _faults():
            result = self._connection.execute(some)
            return list(result.keys()), [tuple(row) for row in result]

    def objects(
        self, statement: str, rows: int
    ) -> Iterator[tuple[list[str], list[tuple[object, ...]]]]:
        """A query's rows, at most `rows` at a time, with the names of its columns. Who leaves it
        before its end closes the session next."""
        with _faults():
            result = self._plain(statement, stream_results=True, max_row_buffer=rows)
            names = list(result.keys())
            left: object | None = result.cursor
            try:
                while found := result.fetchmany(rows):
                    yield names, [tuple(row) for row in found]
                left = None
            finally:
                if left is None:
                    result.close()
                else:
                    _abandon(left)
                    self._connection.invalidate()

    def many(self, statement: str, data: pa.RecordBatch) -> int:
        """Execute a statement with parameters p0, p1, … for every row of `data`."""
        columns = [column.to_pylist() for column in data.columns]
        values = [
            {f"p{place}": value for place, value in enumerate(row)}
            for row in zip(*columns, strict=True)
        ]
        with _faults():
            return self._connection.execute(_text(statement), values).rowcount

    def commit(self) -> None:
        """Make durable what was done since the last commit."""
        with _faults():
            self._connection.commit()

    def rollback(self) -> None:
        """Undo what was done since the last commit."""
        with _faults():
            self._connection.rollback()

    def close(self) -> None:
        """Let go of the connection."""
        with _faults():
            self._connection.close()
            self._engine.dispose()

    def _plain(self, statement: str, **options: object) -> sqlalchemy.CursorResult[object]:
        return self._connection.exec_driver_sql(
            statement, execution_options={"no_parameters": True, **options}
        )


def _text(statement: str) -> sqlalchemy.TextClause:
    """A statement whose colons, but for those of parameters p0, p1, …, mean nothing."""
    return sqlalchemy.text(re.sub(r":(?!p\d+\b)", r"\:", statement))


def _abandon(cursor: object) -> None:
    """Have PyMySQL forget a result: it would read it to its end, however long, before it closes."""
    result = getattr(cursor, "_result", None)
    if result is not None and getattr(result, "unbuffered_active", False):
        result.unbuffered_active, result.connection = False, None


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except exc.DBAPIError as error:
        raise SqlFault(sanitized(str(error.orig)), _trouble(error)) from error
    except exc.NoSuchTableError as error:
        raise SqlFault(f"no such table: {error}", Trouble.MISSING) from error
    except exc.SQLAlchemyError as error:
        raise SqlFault(sanitized(str(error)), Trouble.OTHER) from error


def _trouble(error: exc.DBAPIError) -> Trouble:
    words = error.orig.args if error.orig is not None else ()
    code = words[0] if words else None
    if error.connection_invalidated or code in _PASSING or isinstance(error, exc.InterfaceError):
        return Trouble.PASSING
    if code in _MISSING:
        return Trouble.MISSING
    if (
        _NO_NUMBER in str(code)
        or code in _REFUSED
        or isinstance(error, exc.IntegrityError | exc.DataError)
    ):
        return Trouble.REFUSED
    return Trouble.OTHER
