"""What a converter is: a record form that each one has, and a columnar form that each one has too.

The columnar forms here go row by row. A converter that can do better overrides them, and must give
what these would give, faults included: who meets a fault in a column asks again row by row to learn
which row it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa

from headrace.pipelines.connect.model.column import Column, of_values
from headrace.pipelines.connect.model.schema import Schema


class Converter(ABC):
    """A format, configured for keys, values or headers; its faults are those of `faults`."""

    @abstractmethod
    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """Bytes as a value and its schema."""

    @abstractmethod
    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """A value as bytes."""

    def decode_column(self, topic: str, data: pa.Array) -> Sequence[Column]:
        """A column of bytes as columns of values in a row, a new one where the schema changes."""
        rows = [self.decode(topic, row) for row in data.to_pylist()]
        runs = groupby(rows, key=lambda row: row[0])
        return [of_values(schema, [value for _, value in run]) for schema, run in runs]

    def encode_column(self, topic: str, column: Column) -> pa.Array:
        """A column of values as a column of bytes."""
        schema = column.schema
        if column.arrow is not None and 0 < len(column) == column.arrow.null_count:
            alike = pa.scalar(self.encode(topic, schema, None), pa.binary())
            return pa.repeat(alike, len(column))
        return pa.array(
            [self.encode(topic, schema, value) for value in column.to_values()], pa.binary()
        )

    def close(self) -> None:  # noqa: B027  (most have nothing to close)
        """Let go of connections; a converter that has none has nothing to do."""
