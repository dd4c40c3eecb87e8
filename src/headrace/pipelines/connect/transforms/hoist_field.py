"""HoistField: the whole key or value becomes the one field of a struct or a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema, Struct, Type, struct
from headrace.pipelines.connect.transforms.shapes import SCHEMAS_KEPT, filled, joined, parted
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform


class HoistField(Transform):
    """A null value becomes a field that is null."""

    definition: ClassVar = Definition(
        (Key("field", Kind.STRING, doc="The name of the one field of the struct or map made."),)
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        self._side = side
        self._field = str(self.definition.read(given)["field"])
        self._hoisted = lru_cache(SCHEMAS_KEPT)(self._struct)

    def _struct(self, schema: Schema) -> Schema:
        return struct(((self._field, schema),))

    def apply(self, record: Record) -> Record:
        schema, value = self._side.schema(record), self._side.held(record)
        if schema is None:
            return self._side.changed(record, None, {self._field: value})
        made = self._hoisted(schema)
        if isinstance(value, Struct):
            value.validate()
        return self._side.changed(record, made, filled(made, [value]))

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        array = column.arrow
        if column.schema is None or array is None:
            return None
        if array.null_count and not column.schema.optional:
            return None
        if column.schema.type is Type.STRUCT and parted(column, replace_null=False) is None:
            return None
        made = self._hoisted(column.schema)
        return [self._side.with_column(batch, joined(made, [array], len(array)))]
