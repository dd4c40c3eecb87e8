"""SetSchemaMetadata: another name or version on the schema of the key or value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import ConfigException, DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from headrace.pipelines.connect.transforms.shapes import (
    REPLACE_NULL,
    SCHEMAS_KEPT,
    filled,
    parted,
    values_of,
)
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform


class SetSchemaMetadata(Transform):
    """A struct refers to its new schema; what is no struct is a fault, as it is in Kafka."""

    definition: ClassVar = Definition(
        (
            Key("schema.name", Kind.STRING, None, "The schema's new name.", "HIGH"),
            Key("schema.version", Kind.INT, None, "The schema's new version.", "HIGH"),
            REPLACE_NULL,
        )
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._side = side
        self._said = {
            attribute: settings[key]
            for attribute, key in (("name", "schema.name"), ("version", "schema.version"))
            if settings[key] is not None
        }
        if not self._said:
            raise ConfigException("Neither schema name nor version configured")
        self._replace_null = bool(settings[REPLACE_NULL.name])
        self._renamed = lru_cache(SCHEMAS_KEPT)(self._schema)

    def _schema(self, schema: Schema) -> Schema:
        return schema.but(**self._said)

    def apply(self, record: Record) -> Record:
        schema, value = self._side.schema(record), self._side.held(record)
        if schema is None:
            if value is None:
                return record
            raise DataException("Schema required for [updating schema metadata]")
        if schema.type is not Type.STRUCT:
            raise DataException("Cannot list fields on non-struct type")
        made = self._renamed(schema)
        if isinstance(value, Struct):
            value = filled(made, values_of(value, replace_null=self._replace_null))
        return self._side.changed(record, made, value)

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        if column.schema is None or parted(column, replace_null=self._replace_null) is None:
            return None
        return [self._side.with_column(batch, Column(self._renamed(column.schema), column.data))]
