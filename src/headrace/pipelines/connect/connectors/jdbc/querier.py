"""One table, or the query, as it is polled: what to ask next, and how far it was read.

A result stays open between polls until its last row is read, so a table of any size needs the
memory of two batches: one ahead, to know whether a batch is the last. By timestamps alone, rows of
one moment cannot be told apart: such a moment is over when a later row follows, or none.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.connectors.jdbc.criteria import Criteria, Progress
from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.rows import Shape, instants
from headrace.pipelines.connect.connectors.jdbc.session import Session, SqlFault, Trouble
from headrace.pipelines.connect.connectors.jdbc.source_settings import BULK, SourceSettings
from headrace.pipelines.connect.connectors.jdbc.tables import SqlColumn, Table, TableId
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model.batch import Batch, Mark, Position
from headrace.pipelines.connect.model.column import nothing
from headrace.pipelines.connect.tasks import Offsets


class Querier:
    """A table or the query. `due` is when it is polled next, by the task's clock."""

    def __init__(self, settings: SourceSettings, dialect: Dialect, table: TableId | None) -> None:
        self._settings = settings
        self._dialect = dialect
        self._table = table
        self._query = settings.query.rstrip("; \n")
        self.due = 0.0
        self.partition: Position = (
            {"query": "query"} if table is None else {"protocol": "1", "table": table.plain}
        )
        self._topic = settings.topic_prefix + ("" if table is None else table.name)
        self._progress = Progress()
        self._open: Generator[list[pa.Array], None, None] | None = None
        self._ahead: list[pa.Array] | None = None
        self._shape: Shape | None = None
        self._known: tuple[SqlColumn, ...] = ()
        self._criteria = Criteria()

    def __str__(self) -> str:
        return "the query" if self._table is None else f"table {self._table}"

    @property
    def reading(self) -> bool:
        """Whether a result has rows left."""
        return self._ahead is not None

    def resume(self, offsets: Offsets) -> None:
        """Go on from what was committed, under this name or one that older versions used."""
        if self._settings.mode == BULK:
            return
        found = next((said for said in map(offsets, self._names()) if said), None)
        self._progress = Progress.of(found)

    def _names(self) -> list[Position]:
        if self._table is None:
            return [self.partition]
        without = TableId(self._table.name, self._table.schema).plain
        return [
            self.partition,
            {"protocol": "1", "table": without},
            {"table": self._table.name},
        ]

    def validate(self, session: Session) -> None:
        """ConnectException unless the columns that tell new rows are there and never null."""
        if self._table is None or self._settings.mode == BULK:
            return
        table = self._dialect.describe(session, self._table)
        if table is None or not self._settings.validate_non_null:
            return
        criteria = self._criteria_of(table.columns)
        number = criteria.incrementing
        if number is not None and number.nullable:
            raise ConnectException(
                f"Cannot make incremental queries using incrementing column {number.name} on "
                f"{self._table.plain} because this column is nullable."
            )
        if criteria.timestamps and all(column.nullable for column in criteria.timestamps):
            raise ConnectException(
                "Cannot make incremental queries using timestamp columns "
                f"[{', '.join(column.name for column in criteria.timestamps)}] on "
                f"{self._table.plain} because all of these columns nullable."
            )

    def poll(self, session: Session) -> Batch | None:
        """The next batch; None if there is nothing new."""
        if self._ahead is None:
            self._open = self._ask(session)
            self._ahead = next(self._open, None)
        arrays = self._ahead
        if arrays is None or self._open is None:
            return None
        self._ahead = next(self._open, None)
        assert self._shape is not None
        column = self._shape.column(arrays)
        rows = len(column)
        marks = self._advance(arrays, rows)
        return Batch(self._topic, nothing(rows), column, pa.array(np.arange(rows)), marks=marks)

    def stop(self) -> None:
        """Leave the result; what was not yet read is asked for again."""
        if self._open is not None:
            self._open.close()
        self._open, self._ahead = None, None

    def _ask(self, session: Session) -> Generator[list[pa.Array], None, None]:
        columns = tuple(self._columns(session))
        if self._shape is None or columns != self._known:
            name = None if self._table is None else self._table.name
            self._shape = Shape(name, columns, self._settings.mapping, self._settings.timezone)
            self._known = columns
        self._criteria = self._criteria_of(columns)
        before = 0
        if self._criteria.timestamps:
            now = self._dialect.now(session)
            before = now - self._settings.delay_ms * 1000
            if self._progress.micros is None and self._settings.timestamp_initial is not None:
                wished = self._settings.timestamp_initial
                start = now if wished == -1 else wished * 1000
                self._progress = Progress(self._progress.incrementing, start)
        tail = self._criteria.tail(self._dialect, self._progress, before)
        if self._settings.query_suffix:
            tail += f" {self._settings.query_suffix}"
        origin = self._query if self._table is None else self._table
        statement = self._dialect.select(origin, self._shape.columns, tail)
        return self._dialect.read(session, statement, self._shape.columns, self._settings.rows)

    def _columns(self, session: Session) -> Sequence[SqlColumn]:
        if self._table is None:
            return self._dialect.described(session, self._query)
        table = self._dialect.describe(session, self._table)
        if table is None:
            raise SqlFault(f"no such table: {self._table}", Trouble.MISSING)
        return table.columns

    def _criteria_of(self, columns: Sequence[SqlColumn]) -> Criteria:
        table = Table(self._table or TableId("query"), tuple(columns))
        number = self._number(table) if self._settings.counts else None
        names = self._settings.timestamp_columns if self._settings.times else []
        return Criteria(number, [self._named(table, name) for name in names])

    def _number(self, table: Table) -> SqlColumn | None:
        if self._settings.incrementing_column:
            return self._named(table, self._settings.incrementing_column)
        counting = [column for column in table.columns if column.auto_increment]
        if counting:
            return counting[0]
        raise ConnectException(
            f"{self} has no column that counts by itself: name one in incrementing.column.name"
        )

    def _named(self, table: Table, name: str) -> SqlColumn:
        column = table.column(name)
        if column is None:
            names = ",".join(each.name for each in table.columns)
            raise ConnectException(f"Incrementing or timestamp column {name} not found in {names}")
        if column.type is None:
            raise ConnectException(
                f"column {name} is of type {column.type_name}, which cannot tell new rows"
            )
        return column

    def _advance(self, arrays: Sequence[pa.Array], rows: int) -> tuple[Mark, ...]:
        """How far these rows take the table, and behind which of them."""
        number = self._criteria.incrementing
        last = None if number is None else _number(self._of(arrays, number), rows - 1)
        if not self._criteria.timestamps:
            return () if last is None else self._reached(rows, Progress(last))
        moments = self._moments(arrays)
        final = moments[rows - 1].as_py()
        if last is not None:
            return self._reached(rows, Progress(last, final))
        following = None if self._ahead is None else self._moments(self._ahead)[0].as_py()
        if following is None or following > final:
            return self._reached(rows, Progress(None, final))
        earlier = pc.sum(pc.not_equal(moments, final)).as_py() or 0
        if not earlier:
            return ()
        return self._reached(earlier, Progress(None, moments[earlier - 1].as_py()))

    def _reached(self, before: int, progress: Progress) -> tuple[Mark, ...]:
        self._progress = progress
        return (Mark(before, self.partition, progress.offset),)

    def _moments(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """The moment of each row, in microseconds."""
        each = [
            instants(column, self._of(arrays, column), self._settings.timezone)
            for column in self._criteria.timestamps
        ]
        return pc.coalesce(*each)

    def _of(self, arrays: Sequence[pa.Array], column: SqlColumn) -> pa.Array:
        assert self._shape is not None
        return arrays[self._shape.columns.index(column)]


def _number(values: pa.Array, row: int) -> int:
    value = values[row].as_py()
    if value is None:
        raise ConnectException(f"Null value for incrementing column of type: {values.type}")
    try:
        return int(value)
    except ValueError as error:
        raise ConnectException(f"Invalid type for incrementing column: {values.type}") from error
