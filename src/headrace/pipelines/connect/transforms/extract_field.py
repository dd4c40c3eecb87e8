"""ExtractField: one field takes the place of the whole key or value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import IllegalArgumentException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.field_path import SYNTAX_VERSION, FieldPath
from headrace.pipelines.connect.transforms.shapes import (
    REPLACE_NULL,
    require_map,
    require_struct,
    struct_array,
)
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform

_PURPOSE = "field extraction"


class ExtractField(Transform):
    """A null value stays null."""

    definition: ClassVar = Definition(
        (
            Key("field", Kind.STRING, doc="The field to extract."),
            REPLACE_NULL,
            SYNTAX_VERSION,
        )
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._side = side
        self._path = FieldPath(str(settings["field"]), str(settings[SYNTAX_VERSION.name]))
        self._replace_null = bool(settings[REPLACE_NULL.name])

    def apply(self, record: Record) -> Record:
        schema, value = self._side.schema(record), self._side.held(record)
        if schema is None:
            found = None if value is None else self._path.of_map(require_map(value, _PURPOSE))
            return self._side.changed(record, None, found)
        held = None if value is None else require_struct(value, _PURPOSE)
        field = self._path.field_in(schema)
        if field is None:
            raise IllegalArgumentException(f"Unknown field: {self._path.text}")
        if held is None:
            return self._side.changed(record, field.schema, None)
        found = self._path.of_struct(held, replace_null=self._replace_null)
        return self._side.changed(record, field.schema, found)

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        rows = struct_array(column)
        schema = column.schema
        if rows is None or schema is None:
            return None
        for step in self._path.steps:
            place = schema.places.get(step)
            if place is None:
                return None
            # A row that is null is null in each of its fields.
            rows = rows.flatten()[place] if rows.null_count else rows.field(place)
            schema = schema.fields[place].schema
            if rows.null_count and self._replace_null and schema.default is not None:
                return None
        return [self._side.with_column(batch, Column(schema, rows))]
