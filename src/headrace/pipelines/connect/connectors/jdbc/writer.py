"""A batch written in one transaction, whatever some of its rows are like.

Rows go to the database many at a time. Where it refuses them, they are halved until the row is
found that it does not take: that one is named, the others are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.connectors.jdbc.arrangement import (
    Arranged,
    arranged,
    columns,
    last_of_each,
)
from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.fields import Fields, fields_of
from headrace.pipelines.connect.connectors.jdbc.positions import Positions
from headrace.pipelines.connect.connectors.jdbc.session import Session, SqlFault, Trouble
from headrace.pipelines.connect.connectors.jdbc.sink_settings import SinkSettings
from headrace.pipelines.connect.connectors.jdbc.structure import Structure
from headrace.pipelines.connect.connectors.jdbc.tables import Table
from headrace.pipelines.connect.faults import ConnectException, DataException
from headrace.pipelines.connect.model.batch import Batch

_POINT: Final = "headrace_rows"


@dataclass(frozen=True, slots=True)
class _Work:
    """Rows of one kind for one table; `rows` are their numbers in the batch."""

    write: str
    table: Table
    fields: Fields
    data: pa.RecordBatch
    rows: pa.Array


class Writer:
    """Writes batches; `positions` are kept with them if there are any."""

    def __init__(
        self,
        settings: SinkSettings,
        dialect: Dialect,
        connector: str,
        positions: Positions | None,
    ) -> None:
        self._settings = settings
        self._dialect = dialect
        self._connector = connector
        self._positions = positions
        self.structure = Structure(settings, dialect)

    def write(self, session: Session, batch: Batch) -> dict[int, str]:
        """Write the batch and commit; the rows that were refused, with the reasons."""
        if batch.value.schema is None and batch.value.to_values().count(None) != len(batch):
            raise ConnectException(
                f"records of topic {batch.topic} have no schema: a table needs one; use a converter"
                " with schemas"
            )
        asked = arranged(batch, self._settings, self._connector)
        refused = dict(asked.refused)
        works = self._works(session, batch, asked, refused)
        start = self._begin(session, batch)
        for work in works:
            size = self._settings.batch_size or len(work.rows)
            for place in range(0, len(work.rows), size):
                self._attempt(session, _part(work, place, place + size), start, batch, refused)
        self._finish(session, batch, start)
        session.commit()
        first = 0 if start is None else start
        return {row: why for row, why in refused.items() if batch.positions[row].as_py() >= first}

    def _works(
        self, session: Session, batch: Batch, asked: Arranged, refused: dict[int, str]
    ) -> list[_Work]:
        """The batch as writes and deletes that can follow one another."""
        table_id = self._dialect.parsed(self._table_name(batch.topic))
        settings = self._settings
        fields = fields_of(
            table_id.name,
            settings.pk_mode,
            settings.pk_fields,
            settings.whitelist,
            batch.key.schema,
            batch.value.schema,
        )
        if settings.insert_mode == "upsert" and not fields.keys:
            raise ConnectException(
                f"Write to table '{table_id}' in UPSERT mode requires key field names to be known, "
                "check the primary key configuration"
            )
        if settings.insert_mode == "update" and not fields.others and len(asked.writes):
            raise ConnectException(
                f"Write to table '{table_id}' in UPDATE mode requires fields beside the primary "
                "key's"
            )
        if not len(asked.writes):
            found = self.structure.find(session, table_id)
            if found is None and settings.auto_create:
                return []  # there is nothing yet that could be deleted
        table = self.structure.ready(session, table_id, fields)
        return [
            self._work(batch, table, fields, rows, write, refused)
            for write, rows in self._runs(asked)
            if len(rows)
        ]

    def _table_name(self, topic: str) -> str:
        name = self._settings.table_format.replace("${topic}", topic)
        if not name:
            raise ConnectException(
                f"Destination table name for topic '{topic}' is empty using the format string "
                f"'{self._settings.table_format}'"
            )
        return name

    def _runs(self, asked: Arranged) -> list[tuple[str, pa.Array]]:
        """Rows that follow each other and are all written, or all deleted."""
        mode = self._settings.insert_mode
        if not len(asked.deletes) or not len(asked.writes):
            return [(mode, asked.writes), ("delete", asked.deletes)]
        kinds = dict.fromkeys(asked.deletes.to_pylist(), "delete")
        kinds |= dict.fromkeys(asked.writes.to_pylist(), mode)
        runs: list[tuple[str, list[int]]] = []
        for row in sorted(kinds):
            if not runs or runs[-1][0] != kinds[row]:
                runs.append((kinds[row], []))
            runs[-1][1].append(row)
        return [(kind, pa.array(rows)) for kind, rows in runs]

    def _work(
        self,
        batch: Batch,
        table: Table,
        fields: Fields,
        rows: pa.Array,
        write: str,
        refused: dict[int, str],
    ) -> _Work:
        """The work of these rows; those with values that no column holds are refused."""
        try:
            return self._made(batch, table, fields, rows, write)
        except (DataException, pa.ArrowException):
            good: list[int] = []
            for row in rows.to_pylist():
                try:
                    self._made(batch, table, fields, pa.array([row]), write)
                    good.append(row)
                except (DataException, pa.ArrowException) as fault:
                    refused[row] = str(fault)
            return self._made(batch, table, fields, pa.array(good, pa.int64()), write)

    def _made(
        self, batch: Batch, table: Table, fields: Fields, rows: pa.Array, write: str
    ) -> _Work:
        part = batch.take(rows)
        only_keys = write == "delete"
        held = columns(part, fields, self._settings.pk_mode, keys_only=only_keys)
        schemas = {field.name: field.schema for field in fields.all}
        written = {
            name: self._dialect.written(schemas[name], table.column(name), values)
            for name, values in held.items()
        }
        # A column that differs from its field in case alone is written under its own name.
        names = {name: getattr(table.column(name), "name", name) for name in written}
        renamed = Fields(
            tuple(names[name] for name in fields.keys),
            tuple(names.get(name, name) for name in fields.others),
            fields.all,
        )
        data = pa.RecordBatch.from_arrays(list(written.values()), list(names.values()))
        return _Work(write, table, renamed, data, rows)

    def _attempt(
        self,
        session: Session,
        work: _Work,
        start: int | None,
        batch: Batch,
        refused: dict[int, str],
    ) -> None:
        if start is not None:
            fresh = pc.greater_equal(batch.positions.take(work.rows), start)
            work = _Work(
                work.write,
                work.table,
                work.fields,
                work.data.filter(fresh),
                work.rows.filter(fresh),
            )
        if len(work.rows):
            self._halved(session, work, refused)

    def _halved(self, session: Session, work: _Work, refused: dict[int, str]) -> None:
        session.run(f"SAVEPOINT {_POINT}")
        try:
            self._dialect.write(session, work.write, work.table, work.fields, self._distinct(work))
            session.run(f"RELEASE SAVEPOINT {_POINT}")
            return
        except SqlFault as fault:
            if fault.trouble is not Trouble.REFUSED:
                raise
            session.run(f"ROLLBACK TO SAVEPOINT {_POINT}")
            session.run(f"RELEASE SAVEPOINT {_POINT}")
            if len(work.rows) == 1:
                refused[work.rows[0].as_py()] = str(fault)
                return
        half = len(work.rows) // 2
        self._halved(session, _part(work, 0, half), refused)
        self._halved(session, _part(work, half, len(work.rows)), refused)

    def _distinct(self, work: _Work) -> pa.RecordBatch:
        """The last row of each key: what a statement about many rows at once can take."""
        if work.write == "insert" or not work.fields.keys or len(work.rows) == 1:
            return work.data
        rows = last_of_each(work.data, work.fields.keys)
        return work.data if len(rows) == len(work.rows) else work.data.take(rows)

    def _begin(self, session: Session, batch: Batch) -> int | None:
        if self._positions is None or batch.partition is None:
            return None
        return self._positions.locked(session, (batch.topic, batch.partition))

    def _finish(self, session: Session, batch: Batch, start: int | None) -> None:
        if self._positions is None or batch.partition is None or not len(batch):
            return
        end = batch.positions[len(batch) - 1].as_py() + 1
        if start is None or end > start:
            self._positions.move(session, (batch.topic, batch.partition), start, end)


def _part(work: _Work, start: int, stop: int) -> _Work:
    return _Work(
        work.write,
        work.table,
        work.fields,
        work.data.slice(start, stop - start),
        work.rows.slice(start, stop - start),
    )
