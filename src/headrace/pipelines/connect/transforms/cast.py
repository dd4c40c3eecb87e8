"""Cast: fields, or the whole key or value, as another type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final

from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import ConfigException, DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema, Type
from headrace.pipelines.connect.transforms.cast_columns import cast_array
from headrace.pipelines.connect.transforms.casting import OUTPUTS, cast, listed
from headrace.pipelines.connect.transforms.lists import as_list, split_as_java
from headrace.pipelines.connect.transforms.shapes import (
    REPLACE_NULL,
    SCHEMAS_KEPT,
    filled,
    joined,
    parted,
    require_map,
    require_struct,
    struct_like,
    values_of,
)
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform

_PURPOSE = "cast types"
_WHOLE: Final = None  # the name of what has no fields


def _check_spec(name: str, value: object) -> None:
    if not isinstance(value, list) or not value:
        raise ConfigException("Must specify at least one field to cast.")
    _casts(value)


def _casts(spec: list[str]) -> dict[str | None, Type]:
    casts: dict[str | None, Type] = {}
    for text in spec:
        parts = split_as_java(text)
        if len(parts) > 2:
            shown = f"[{', '.join(spec)}]"
            raise ConfigException.of("renames", shown, f"Invalid rename mapping: {text}")
        if len(parts) == 1:
            casts[_WHOLE] = _target(parts[0])
        else:
            casts[parts[0].strip()] = _target(parts[1])
    if _WHOLE in casts and len(spec) > 1:
        raise ConfigException(
            "Cast transformations that specify a type to cast the entire value to "
            "may only specify a single cast in their spec"
        )
    return casts


def _target(text: str) -> Type:
    name = text.strip().upper()
    if name not in Type.__members__:
        raise ConfigException(f"Invalid type found in casting spec: {text.strip()}")
    if Type[name] not in OUTPUTS:
        raise ConfigException(
            f"Cast transformation does not support casting to {name}; "
            f"supported types are {listed(OUTPUTS)}"
        )
    return Type[name]


class Cast(Transform):
    """A null value stays as it is."""

    definition: ClassVar = Definition(
        (
            Key(
                "spec",
                Kind.LIST,
                doc="Fields and their types, as in id:int64,price:float64; or one type alone, for "
                "the whole key or value. Types are int8, int16, int32, int64, float32, float64, "
                "boolean and string. Bytes can only become strings, in base64.",
                importance="HIGH",
                check=_check_spec,
            ),
            REPLACE_NULL,
        )
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._side = side
        self._casts = _casts(as_list(settings["spec"]))
        self._whole = self._casts.pop(_WHOLE, None)
        self._replace_null = bool(settings[REPLACE_NULL.name])
        self._changed = lru_cache(SCHEMAS_KEPT)(self._schema)

    def _schema(self, schema: Schema) -> Schema:
        if self._whole is not None:
            default = cast(schema.default, schema, self._whole)
            return schema.but(type=self._whole, fields=(), keys=None, values=None, default=default)
        if schema.type is not Type.STRUCT:
            raise DataException("Cannot list fields on non-struct type")
        fields = [
            (field.name, self._field_schema(field.schema, self._casts.get(field.name)))
            for field in schema.fields
        ]
        made = struct_like(schema, fields, optional=schema.optional)
        cast(schema.default, schema, Type.STRUCT)
        return made

    def _field_schema(self, schema: Schema, target: Type | None) -> Schema:
        if target is None:
            return schema
        default = cast(schema.default, schema, target)
        return Schema(target, optional=schema.optional, default=default)

    def apply(self, record: Record) -> Record:
        schema, value = self._side.schema(record), self._side.held(record)
        if value is None:
            return record
        if schema is None:
            return self._side.changed(record, None, self._without_schema(value))
        made = self._changed(schema)
        if self._whole is not None:
            return self._side.changed(record, made, cast(value, schema, self._whole))
        held = require_struct(value, _PURPOSE)
        values = [
            item if target is None else cast(item, field.schema, target)
            for field, item, target in zip(
                held.schema.fields,
                values_of(held, replace_null=self._replace_null),
                map(self._casts.get, held.schema.places),
                strict=True,
            )
        ]
        return self._side.changed(record, made, filled(made, values))

    def _without_schema(self, value: object) -> object:
        if self._whole is not None:
            return cast(value, None, self._whole)
        held = require_map(value, _PURPOSE)
        changed = {
            name: cast(held.get(name), None, target)
            for name, target in self._casts.items()
            if name is not None
        }
        return held | changed

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        if self._whole is not None:
            return self._whole_column(batch, column, self._whole)
        arrays = parted(column, replace_null=self._replace_null)
        if arrays is None or column.schema is None:
            return None
        made = self._changed(column.schema)
        for place, field in enumerate(column.schema.fields):
            target = self._casts.get(field.name)
            if target is not None:
                arrays[place] = cast_array(arrays[place], field.schema, target)
                if arrays[place] is None:
                    return None
        return [self._side.with_column(batch, joined(made, arrays, len(batch)))]

    def _whole_column(self, batch: Batch, column: Column, target: Type) -> list[Batch] | None:
        schema = column.schema
        if schema is None or schema.name is not None or column.arrow is None:
            return None
        array = None if column.arrow.null_count else cast_array(column.arrow, schema, target)
        if array is None:
            return None
        return [self._side.with_column(batch, Column(self._changed(schema), array))]
