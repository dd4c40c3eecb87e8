"""A connector's task in a test, without a broker or a worker: the test makes each call.

    with ConnectHarness(Numbers, {"topic": "numbers"}) as source:
        assert source.poll() == [{"number": 1}]
        source.restart()  # as a crash would; it goes on behind what was acknowledged

Everything that a source yields counts as acknowledged. A sink is given rows as if they had been
read from a partition; what it refuses is in `refused`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

import pyarrow as pa

from headrace.pipelines.connect.model.batch import Batch, Position
from headrace.pipelines.connect.model.column import nothing, of_values
from headrace.pipelines.connect.model.schema import Schema, Struct
from headrace.pipelines.connect.tasks import (
    Partition,
    RowsRefused,
    SinkTask,
    SourceTask,
    connector_of,
)


class ConnectHarness:
    """One task. `offsets` are where the source's partitions stand, as a worker keeps them."""

    def __init__(
        self, kind: type[SourceTask] | type[SinkTask], settings: Mapping[str, str], *, task: int = 0
    ) -> None:
        self._kind = kind
        self._settings = settings
        self.connector = connector_of(kind).name
        self.task = task
        self.batches: list[Batch] = []
        """What a source has yielded."""
        self.refused: dict[int, str] = {}
        """The offsets of rows that a sink has refused, with its reasons."""
        self.reconfigured = 0
        """How often the task has asked for new task settings."""
        self._kept: list[tuple[Position, Position]] = []
        self._next: dict[Partition, int] = {}
        self._running = self._opened()

    # -- what a test does -------------------------------------------------------------------------

    def poll(self) -> list[object]:
        """The values of what one poll brings; structs are dicts."""
        assert isinstance(self._running, SourceTask), f"{self.connector} is not a source"
        found: list[object] = []
        for batch in self._running.poll():
            self.batches.append(batch)
            found += [_plain(value) for value in batch.value.to_values()]
            for mark in batch.marks:
                self._kept.append((mark.partition, mark.offset))
                self._running.commit(mark.partition, mark.offset)
        return found

    def put(
        self,
        rows: Sequence[object],
        *,
        topic: str = "topic",
        partition: int = 0,
        schema: Schema | None = None,
        keys: Sequence[object] | None = None,
        key_schema: Schema | None = None,
    ) -> None:
        """Give rows to a sink, as the next ones of a partition; dicts fill a struct's schema."""
        assert isinstance(self._running, SinkTask), f"{self.connector} is not a sink"
        place = (topic, partition)
        if place not in self._next:
            self._next[place] = self._running.assigned([place]).get(place, 0)
        first = self._next[place]
        key = nothing(len(rows)) if keys is None else of_values(key_schema, keys)
        values = [_structured(schema, row) for row in rows]
        numbers = pa.array(range(first, first + len(rows)), pa.int64())
        batch = Batch(topic, key, of_values(schema, values), numbers, partition=partition)
        try:
            self._running.put(batch)
        except RowsRefused as refused:
            self.refused |= {first + row: reason for row, reason in refused.rows.items()}
        self._next[place] = first + len(rows)

    def flush(self) -> Mapping[Partition, int]:
        """Have a sink make durable what it was given; returns the offsets to be committed."""
        assert isinstance(self._running, SinkTask), f"{self.connector} is not a sink"
        lowered = self._running.flush(self._next)
        return dict(self._next) if lowered is None else lowered

    def restart(self) -> None:
        """Close the task and start another from the offsets that are kept."""
        self._running.close()
        self._next.clear()
        self._running = self._opened()

    @property
    def offsets(self) -> list[tuple[Position, Position]]:
        """Each partition of the source with its last offset."""
        return [(where, at) for where, at in self._kept if at is self._offset_of(where)]

    def close(self) -> None:
        """End the task."""
        self._running.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- what the task asks -----------------------------------------------------------------------

    def wait(self, seconds: float) -> bool:
        """A test does not rest."""
        return False

    def reconfigure(self) -> None:
        """Counted."""
        self.reconfigured += 1

    def seek(self, offsets: Mapping[Partition, int]) -> None:
        """The next rows of these partitions are numbered from there."""
        self._next |= offsets

    # -- inside -----------------------------------------------------------------------------------

    def _opened(self) -> SourceTask | SinkTask:
        declared = connector_of(self._kind).settings
        configs = self._kind.task_configs(declared.of(self._settings), self.task + 1)
        settings = declared.of({**self._settings, **configs[self.task]})
        made = self._kind()
        made.context = self
        try:
            if isinstance(made, SourceTask):
                made.open(settings, self._offset_of)
            else:
                made.open(settings)
        except BaseException:
            made.close()
            raise
        return made

    def _offset_of(self, partition: Position) -> Mapping[str, object] | None:
        found = [at for where, at in self._kept if where == partition]
        return found[-1] if found else None


def _plain(value: object) -> object:
    if isinstance(value, Struct):
        named = zip(value.schema.fields, value.values, strict=True)
        return {field.name: _plain(each) for field, each in named}
    return value


def _structured(schema: Schema | None, row: object) -> object:
    if schema is not None and schema.fields and isinstance(row, dict):
        return Struct.of(schema, row)
    return row
