"""HeaderFrom: fields become headers, and stay (copy) or go (move)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Definition, Key, Kind, one_of
from headrace.pipelines.connect.faults import ConfigException, DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import values_of as values_of_array
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.model.schema import Schema, Type
from headrace.pipelines.connect.transforms.lists import as_list, some
from headrace.pipelines.connect.transforms.shapes import (
    REPLACE_NULL,
    SCHEMAS_KEPT,
    filled,
    joined,
    parted,
    require_map,
    require_struct,
    schema_text,
    struct_like,
    values_of,
)
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform


class HeaderFrom(Transform):
    """Headers that are there already stay, also those of the same name."""

    definition: ClassVar = Definition(
        (
            Key(
                "fields",
                Kind.LIST,
                doc="The fields that become headers.",
                importance="HIGH",
                check=some,
            ),
            Key(
                "headers",
                Kind.LIST,
                doc="The names of the headers, as many as there are fields and in their order.",
                importance="HIGH",
                check=some,
            ),
            Key(
                "operation",
                Kind.STRING,
                doc="Whether the fields stay in the key or value (copy) or go from it (move).",
                importance="HIGH",
                check=one_of("move", "copy"),
            ),
            REPLACE_NULL,
        )
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        fields, headers = as_list(settings["fields"]), as_list(settings["headers"])
        if len(fields) != len(headers):
            raise ConfigException(
                "'fields' config must have the same number of elements as 'headers' config."
            )
        self._side = side
        self._named: list[tuple[str, str]] = list(zip(fields, headers, strict=True))
        self._moves = settings["operation"] == "move"
        self._purpose = f"header {settings['operation']}"
        self._replace_null = bool(settings[REPLACE_NULL.name])
        self._rest = lru_cache(SCHEMAS_KEPT)(self._plan)

    def _plan(self, schema: Schema) -> tuple[Schema, list[int], list[int]]:
        """What stays: a schema and the places of its fields; and the places of what is taken."""
        if schema.type is not Type.STRUCT:
            raise DataException("Cannot list fields on non-struct type")
        taken = {field for field, _ in self._named}
        missing = [field for field, _ in self._named if field not in schema.places]
        if missing:
            raise DataException(f"Field does not exist: {missing[0]}")
        stays = [field for field in schema.fields if field.name not in taken]
        made = struct_like(schema, [(field.name, field.schema) for field in stays])
        return (
            made,
            [schema.places[field.name] for field in stays],
            [schema.places[field] for field, _ in self._named],
        )

    def apply(self, record: Record) -> Record:
        schema, value = self._side.schema(record), self._side.held(record)
        if schema is None:
            return self._without_schema(record, value)
        held = require_struct(value, self._purpose)
        made, stay, taken = self._rest(schema)
        values = values_of(held, replace_null=self._replace_null)
        new = [
            _header(header, values[place], schema.fields[place].schema)
            for (_, header), place in zip(self._named, taken, strict=True)
        ]
        if self._moves:
            rest = filled(made, [values[place] for place in stay])
            record = self._side.changed(record, made, rest)
        return record.but(headers=(*record.headers, *new))

    def _without_schema(self, record: Record, value: object) -> Record:
        held = require_map(value, self._purpose)
        new = [Header(header, held.get(field)) for field, header in self._named]
        if self._moves:
            gone = {field for field, _ in self._named}
            rest = {name: item for name, item in held.items() if name not in gone}
            record = self._side.changed(record, None, rest)
        return record.but(headers=(*record.headers, *new))

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        arrays = parted(column, replace_null=self._replace_null)
        schema = column.schema
        if arrays is None or schema is None:
            return None
        made, stay, taken = self._rest(schema)
        fields = [schema.fields[place].schema for place in taken]
        taken_values = [
            values_of_array(field, arrays[place])
            for field, place in zip(fields, taken, strict=True)
        ]
        before = batch.headers or [()] * len(batch)
        names = [header for _, header in self._named]
        headers = [
            (*old, *map(Header, names, row, fields))
            for old, row in zip(before, zip(*taken_values, strict=True), strict=True)
        ]
        if self._moves:
            rest = joined(made, [arrays[place] for place in stay], len(batch))
            batch = self._side.with_column(batch, rest)
        return [batch.but(headers=headers)]


def _header(name: str, value: object, schema: Schema) -> Header:
    if value is None and not schema.optional:
        told = f"A null value requires an optional schema but was {schema_text(schema)}"
        raise DataException(told)
    return Header(name, value, schema)
