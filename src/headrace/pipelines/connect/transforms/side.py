"""The key or the value of a record: what the names `…$Key` and `…$Value` choose between."""

from __future__ import annotations

from enum import Enum

from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema


class Side(Enum):
    """A side of a record; a value is its name in the class names of transforms."""

    KEY = "Key"
    VALUE = "Value"

    def schema(self, record: Record) -> Schema | None:
        """The schema on this side."""
        return record.value_schema if self is Side.VALUE else record.key_schema

    def held(self, record: Record) -> object:
        """The value on this side."""
        return record.value if self is Side.VALUE else record.key

    def changed(self, record: Record, schema: Schema | None, value: object) -> Record:
        """The record with another value on this side."""
        # Spelt out: `replace` takes as long as a transform.
        of_value = self is Side.VALUE
        return Record(
            record.topic,
            value if of_value else record.value,
            schema if of_value else record.value_schema,
            record.key if of_value else value,
            record.key_schema if of_value else schema,
            record.partition,
            record.timestamp,
            record.headers,
            record.position,
        )

    def column(self, batch: Batch) -> Column:
        """The values of a batch on this side."""
        return batch.value if self is Side.VALUE else batch.key

    def with_column(self, batch: Batch, column: Column) -> Batch:
        """The batch with other values on this side."""
        return batch.but(value=column) if self is Side.VALUE else batch.but(key=column)
