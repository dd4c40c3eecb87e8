"""Offsets kept in the database beside the rows: what makes a sink exactly once.

A write locks its partition's row, leaves out what lies before the offset there, and moves the
offset on in the same transaction. So a repeated batch, and a second task that believes the
partition its own, write nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect, text_literal
from headrace.pipelines.connect.connectors.jdbc.session import Session, SqlFault, Trouble
from headrace.pipelines.connect.connectors.jdbc.tables import TableId
from headrace.pipelines.connect.tasks import Partition

TABLE: Final = "_headrace_offsets"


class Positions:
    """A connector's offsets in the database."""

    def __init__(self, dialect: Dialect, connector: str) -> None:
        self._dialect = dialect
        self._connector = connector
        self._table = dialect.enclosed(TABLE)
        self._names = [
            dialect.enclosed(name) for name in ("connector", "topic", "partition", "offset")
        ]

    def create(self, session: Session) -> None:
        """Make the table unless it is there."""
        if self._dialect.describe(session, TableId(TABLE)) is not None:
            return
        connector, topic, partition, offset = self._names
        try:
            session.run(
                f"CREATE TABLE {self._table} ({connector} VARCHAR(255) NOT NULL, "
                f"{topic} VARCHAR(255) NOT NULL, {partition} INTEGER NOT NULL, "
                f"{offset} BIGINT NOT NULL, PRIMARY KEY ({connector}, {topic}, {partition}))"
            )
            session.commit()
        except SqlFault:
            session.rollback()
            if self._dialect.describe(session, TableId(TABLE)) is None:
                raise  # no other task has made it meanwhile

    def of(self, session: Session, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The offset of the next record of each partition that has one."""
        found = {place: self._read(session, place, "") for place in partitions}
        session.rollback()
        return {place: offset for place, offset in found.items() if offset is not None}

    def locked(self, session: Session, partition: Partition) -> int | None:
        """The offset of the next record, which nobody else changes before this transaction ends."""
        return self._read(session, partition, self._dialect.locking)

    def move(self, session: Session, partition: Partition, old: int | None, new: int) -> None:
        """Let the next record be the one at `new`."""
        if old is None:
            values = ", ".join(self._values(partition))
            names = ", ".join(self._names)
            try:
                session.run(f"INSERT INTO {self._table} ({names}) VALUES ({values}, {new})")
            except SqlFault as fault:
                # There was no row to lock, and another task was first: the next look tells.
                raise SqlFault(str(fault), Trouble.PASSING) from fault
            return
        offset = self._names[3]
        session.run(f"UPDATE {self._table} SET {offset} = {new} WHERE {self._where(partition)}")

    def _read(self, session: Session, partition: Partition, locking: str) -> int | None:
        rows = session.rows(
            f"SELECT {self._names[3]} FROM {self._table} WHERE {self._where(partition)}{locking}"
        )
        return int(str(rows[0][0])) if rows else None

    def _where(self, partition: Partition) -> str:
        pairs = zip(self._names, self._values(partition), strict=False)
        return " AND ".join(f"{name} = {value}" for name, value in pairs)

    def _values(self, partition: Partition) -> list[str]:
        topic, number = partition
        return [text_literal(self._connector), text_literal(topic), str(number)]
