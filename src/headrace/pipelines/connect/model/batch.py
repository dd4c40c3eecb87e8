"""Records that travel together: rows of one topic and one pair of schemas, as columns.

A source's batch says where in the source it ends (`marks`), a sink's batch which partition it came
from. `positions` numbers the rows: of a sink their offsets, of a source their place in what was
polled. Whatever drops or reorders rows keeps the numbers of those that stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from headrace.pipelines.connect.model.column import Column, nothing, of_arrow, of_values
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.model.schema import Schema, Struct

Position: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Mark:
    """Once every row before `before` has left, the source's `partition` is done up to `offset`."""

    before: int
    partition: Position
    offset: Position


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one topic. Keys and values have as many rows as `positions` has numbers."""

    topic: str
    key: Column
    value: Column
    positions: pa.Int64Array
    timestamps: pa.Int64Array | None = None
    headers: list[tuple[Header, ...]] | None = None
    partition: int | None = None
    marks: tuple[Mark, ...] = field(default=())

    def __post_init__(self) -> None:
        rows = len(self.positions)
        assert len(self.key) == len(self.value) == rows, (len(self.key), len(self.value), rows)
        assert self.timestamps is None or len(self.timestamps) == rows
        assert self.headers is None or len(self.headers) == rows

    def __len__(self) -> int:
        return len(self.positions)

    def but(self, **changes: object) -> Batch:
        """The same batch with other attributes."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def take(self, rows: pa.Array) -> Batch:
        """The rows of these numbers, in their order."""
        chosen = rows.to_pylist() if self.headers is not None else ()
        return self.but(
            key=self.key.take(rows),
            value=self.value.take(rows),
            positions=self.positions.take(rows),
            timestamps=None if self.timestamps is None else self.timestamps.take(rows),
            headers=None if self.headers is None else [self.headers[row] for row in chosen],
        )

    def slice(self, start: int, stop: int) -> Batch:
        """Rows `start` to `stop`."""
        return self.but(
            key=self.key.slice(start, stop),
            value=self.value.slice(start, stop),
            positions=self.positions.slice(start, stop - start),
            timestamps=None
            if self.timestamps is None
            else self.timestamps.slice(start, stop - start),
            headers=None if self.headers is None else self.headers[start:stop],
        )

    def filter(self, mask: pa.BooleanArray) -> Batch:
        """The rows where `mask` is true."""
        return self.take(pa.array(np.flatnonzero(mask.to_numpy(zero_copy_only=False))))

    def records(self) -> list[Record]:
        """Each row in record form."""
        key_schema, value_schema = self.key.schema, self.value.schema
        rows = len(self)
        times = [None] * rows if self.timestamps is None else self.timestamps.to_pylist()
        headers = [()] * rows if self.headers is None else self.headers
        return [
            Record(
                self.topic,
                value,
                value_schema,
                key,
                key_schema,
                self.partition,
                time,
                carried,
                position,
            )
            for value, key, time, carried, position in zip(
                self.value.to_values(),
                self.key.to_values(),
                times,
                headers,
                self.positions.to_pylist(),
                strict=True,
            )
        ]

    @classmethod
    def of_rows(
        cls,
        rows: Sequence[object],
        *,
        topic: str,
        partition: Position,
        offset: Position,
        schema: Schema | None = None,
        keys: Sequence[object] | None = None,
        key_schema: Schema | None = None,
        timestamps: Sequence[int | None] | None = None,
    ) -> Batch:
        """What a source polled, row by row: values, or dicts of fields where `schema` is a struct.

        `offset` is where `partition` of the source stands after the last row.
        """
        key = (
            nothing(len(rows))
            if keys is None
            else of_values(key_schema, _structs(key_schema, keys))
        )
        value = of_values(schema, _structs(schema, rows))
        return cls._polled(topic, key, value, partition, offset, timestamps)

    @classmethod
    def of_arrow(
        cls,
        value: pa.Array | pa.RecordBatch | pa.Table,
        *,
        topic: str,
        partition: Position,
        offset: Position,
        key: pa.Array | None = None,
        timestamps: Sequence[int | None] | None = None,
    ) -> Batch:
        """What a source polled, as an Arrow column, or as a table each row of which is a struct."""
        whole = value.to_struct_array() if isinstance(value, pa.RecordBatch | pa.Table) else value
        values = of_arrow(whole)
        keys = nothing(len(values)) if key is None else of_arrow(key)
        return cls._polled(topic, keys, values, partition, offset, timestamps)

    @classmethod
    def _polled(
        cls,
        topic: str,
        key: Column,
        value: Column,
        partition: Position,
        offset: Position,
        timestamps: Sequence[int | None] | None,
    ) -> Batch:
        rows = len(value)
        times = None if timestamps is None else pa.array(timestamps, pa.int64())
        marks = (Mark(rows, partition, offset),)
        return cls(topic, key, value, pa.array(np.arange(rows)), times, marks=marks)


def of_records(records: Iterable[Record], marks: tuple[Mark, ...] = ()) -> list[Batch]:
    """Records as batches, in their order: a new one where topic, partition or a schema changes.

    `marks` are the last batch's.
    """
    made: list[Batch] = []
    run: list[Record] = []
    for record in records:
        if run and not _alike(run[0], record):
            made.append(_batch(run))
            run = []
        run.append(record)
    if run:
        made.append(_batch(run))
    if made and marks:
        made[-1] = made[-1].but(marks=marks)
    return made


def _alike(one: Record, other: Record) -> bool:
    return (
        one.topic == other.topic
        and one.partition == other.partition
        and one.value_schema == other.value_schema
        and one.key_schema == other.key_schema
    )


def _batch(run: list[Record]) -> Batch:
    first = run[0]
    timed = any(record.timestamp is not None for record in run)
    return Batch(
        first.topic,
        of_values(first.key_schema, [record.key for record in run]),
        of_values(first.value_schema, [record.value for record in run]),
        pa.array([record.position for record in run], pa.int64()),
        pa.array([record.timestamp for record in run], pa.int64()) if timed else None,
        [record.headers for record in run] if any(record.headers for record in run) else None,
        first.partition,
    )


def _structs(schema: Schema | None, rows: Sequence[object]) -> Sequence[object]:
    """Dicts as structs, where the schema is a struct's."""
    if schema is None or not schema.fields:
        return rows
    return [Struct.of(schema, row) if isinstance(row, dict) else row for row in rows]
