"""ValueToKey: fields of the value become the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema, struct
from headrace.pipelines.connect.transforms.lists import as_list, names
from headrace.pipelines.connect.transforms.shapes import (
    REPLACE_NULL,
    SCHEMAS_KEPT,
    filled,
    joined,
    parted,
    require_map,
    require_struct,
    values_of,
)
from headrace.pipelines.connect.transforms.transform import Transform

_PURPOSE = "copying fields from value to key"


class ValueToKey(Transform):
    """The value stays as it is."""

    definition: ClassVar = Definition(
        (
            Key(
                "fields",
                Kind.LIST,
                doc="The fields of the value that make up the key.",
                importance="HIGH",
                check=names,
            ),
            REPLACE_NULL,
        )
    )

    def __init__(self, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._fields = list(dict.fromkeys(as_list(settings["fields"])))
        self._replace_null = bool(settings[REPLACE_NULL.name])
        self._key = lru_cache(SCHEMAS_KEPT)(self._plan)

    def _plan(self, schema: Schema) -> tuple[Schema, list[int]]:
        """The key's schema, and which field of the value each of its fields is."""
        for name in self._fields:
            if name not in schema.places:
                raise DataException(f"Field does not exist: {name}")
        places = [schema.places[name] for name in self._fields]
        return struct((schema.fields[p].name, schema.fields[p].schema) for p in places), places

    def apply(self, record: Record) -> Record:
        if record.value_schema is None:
            held = require_map(record.value, _PURPOSE)
            return record.but(key={name: held.get(name) for name in self._fields}, key_schema=None)
        value = require_struct(record.value, _PURPOSE)
        schema, places = self._key(value.schema)
        values = values_of(value, replace_null=self._replace_null)
        return record.but(
            key=filled(schema, [values[place] for place in places]),
            key_schema=schema,
            value_schema=value.schema,
        )

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        arrays = parted(batch.value, replace_null=self._replace_null)
        if arrays is None or batch.value.schema is None:
            return None
        schema, places = self._key(batch.value.schema)
        return [batch.but(key=joined(schema, [arrays[place] for place in places], len(batch)))]
