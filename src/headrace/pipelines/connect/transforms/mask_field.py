"""MaskField: fields become the nothing of their type (0, "", false, empty), or what is set."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.config.definition import Definition, Key, Kind, not_empty
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.arrow_types import arrow_type
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.java_text import to_float32
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import (
    DECIMAL,
    EPOCH,
    INTEGER_BITS,
    Float32,
    Schema,
    Type,
)
from headrace.pipelines.connect.transforms.java_numbers import (
    NotANumber,
    double_of,
    integer_of,
    parsed_decimal,
)
from headrace.pipelines.connect.transforms.lists import as_list, names
from headrace.pipelines.connect.transforms.shapes import (
    REPLACE_NULL,
    SCHEMAS_KEPT,
    filled,
    java_type,
    joined,
    parted,
    require_map,
    require_struct,
    values_of,
)
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform

_PURPOSE = "mask fields"
_NOTHING: Final[Mapping[type, object]] = {
    bool: False,
    int: 0,
    float: 0.0,
    Float32: Float32(0.0),
    str: "",
    Decimal: Decimal(0),
    datetime.date: EPOCH.date(),
    datetime.time: datetime.time(),
    datetime.datetime: EPOCH,
}


class MaskField(Transform):
    """A field that is null stays null; a value that is null is a fault."""

    definition: ClassVar = Definition(
        (
            Key("fields", Kind.LIST, doc="The fields to mask.", importance="HIGH", check=names),
            Key(
                "replacement",
                Kind.STRING,
                None,
                "What masked numbers and strings become, instead of 0 and the empty string.",
                "LOW",
                check=not_empty,
            ),
            REPLACE_NULL,
        )
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        replacement = settings["replacement"]
        self._side = side
        self._fields = frozenset(as_list(settings["fields"]))
        self._replacement = replacement if isinstance(replacement, str) else None
        self._replace_null = bool(settings[REPLACE_NULL.name])
        self._masked_places = lru_cache(SCHEMAS_KEPT)(self._places)

    def _places(self, schema: Schema) -> list[int]:
        return [place for name, place in schema.places.items() if name in self._fields]

    def apply(self, record: Record) -> Record:
        value = self._side.held(record)
        schema = self._side.schema(record)
        if schema is None:
            held = require_map(value, _PURPOSE)
            masks = {name: self._mask(held.get(name), None) for name in self._fields}
            return self._side.changed(record, None, held | masks)
        held_struct = require_struct(value, _PURPOSE)
        values = list(values_of(held_struct, replace_null=self._replace_null))
        fields = held_struct.schema.fields
        for place in self._masked_places(held_struct.schema):
            values[place] = self._mask(values[place], fields[place].schema)
        return self._side.changed(record, schema, filled(held_struct.schema, values))

    def _mask(self, value: object, schema: Schema | None) -> object:
        if value is None:
            return None
        if self._replacement is not None:
            return _replaced(value, schema, self._replacement)
        if type(value) in _NOTHING:
            return _NOTHING[type(value)]
        if isinstance(value, list):
            return []
        if isinstance(value, dict):
            return {}
        raise DataException(f"Cannot mask value of type: class {java_type(value)}")

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        arrays = parted(column, replace_null=self._replace_null)
        schema = column.schema
        if arrays is None or schema is None:
            return None
        for place in self._masked_places(schema):
            masked = self._array(arrays[place], schema.fields[place].schema)
            if masked is None:
                return None
            arrays[place] = masked
        return [self._side.with_column(batch, joined(schema, arrays, len(batch)))]

    def _array(self, array: pa.Array, schema: Schema) -> pa.Array | None:
        """All rows masked alike; nulls stay. A decimal's mask has a scale of its own."""
        if not schema.type.is_primitive or schema.name == DECIMAL:
            return None
        present = next((value.as_py() for value in array if value.is_valid), None)
        if present is None:
            return array
        kind = arrow_type(schema)
        mask = pa.scalar(self._mask(present, schema), kind)
        if not array.null_count:
            return pa.repeat(mask, len(array))
        return pc.if_else(array.is_valid(), mask, pa.scalar(None, kind))


def _replaced(value: object, schema: Schema | None, replacement: str) -> object:
    """The replacement as a value of the same type; DataException if it cannot be."""
    make = _REPLACED.get(type(value))
    if make is None:
        raise DataException(
            f"Cannot mask value of type class {java_type(value)} with custom replacement."
        )
    return make(replacement, schema)


def _number(replacement: str) -> Decimal:
    try:
        return parsed_decimal(replacement)
    except NotANumber:
        raise DataException(
            f"Unable to convert {replacement} (class java.lang.String) to a number"
        ) from None


def _integer(replacement: str, schema: Schema | None) -> int:
    long = integer_of(_number(replacement), 64)
    return long if schema is None else integer_of(long, INTEGER_BITS[schema.type])


def _float(replacement: str, schema: Schema | None) -> float:
    double = double_of(_number(replacement))
    narrow = schema is not None and schema.type is Type.FLOAT32
    return to_float32(double) if narrow else double


def _decimal(replacement: str, schema: Schema | None) -> Decimal:
    try:
        return parsed_decimal(replacement)
    except NotANumber:
        raise DataException(
            f"Unable to convert {replacement} (class java.lang.String) to number"
        ) from None


_REPLACED: Final[Mapping[type, Callable[[str, Schema | None], object]]] = {
    int: _integer,
    float: _float,
    Float32: lambda replacement, schema: Float32(to_float32(_float(replacement, schema))),
    Decimal: _decimal,
    str: lambda replacement, schema: replacement,
}
