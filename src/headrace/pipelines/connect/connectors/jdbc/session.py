"""A connection to a database as the connectors use it, and what its faults mean to them."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

import pyarrow as pa

from headrace.pipelines.connect.connectors.jdbc.url import Address


class Trouble(Enum):
    """What can be done about a fault."""

    PASSING = "passing"  # a lost connection, a lock, a deadlock: the same may succeed later
    REFUSED = "refused"  # values that the table never takes
    MISSING = "missing"  # a table or a column that is not there
    OTHER = "other"


class SqlFault(Exception):
    """A statement that failed, in the words of the driver."""

    def __init__(self, message: str, trouble: Trouble) -> None:
        super().__init__(message)
        self.trouble = trouble


class Session(Protocol):
    """One connection. Every call raises SqlFault and nothing else of a driver."""

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """All rows of a query that has few."""

    def run(self, statement: str) -> None:
        """Execute what gives no rows."""

    def many(self, statement: str, data: pa.RecordBatch) -> int:
        """Execute a statement for every row of `data`; how many rows it changed, -1 if unknown."""

    def commit(self) -> None:
        """Make durable what was done since the last commit."""

    def rollback(self) -> None:
        """Undo what was done since the last commit."""

    def close(self) -> None:
        """Let go of the connection."""


def connect(address: Address, *, autocommit: bool) -> Session:
    """A connection; SqlFault if there is none to be had."""
    if address.adbc:
        from headrace.pipelines.connect.connectors.jdbc.adbc import AdbcSession

        return AdbcSession(address, autocommit=autocommit)
    from headrace.pipelines.connect.connectors.jdbc.alchemy import AlchemySession

    return AlchemySession(address, autocommit=autocommit)
