"""What transforms ask of a value's shape, and how they build structs and struct columns.

A struct column is taken apart into the arrays of its fields and put together again; no value is
copied. `parted` gives None where a row or a field would need a look of its own: then the transform
goes by records.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa

from headrace.pipelines.connect.config.definition import Key, Kind
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.arrow_types import arrow_field
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.schema import (
    Float32,
    Schema,
    Struct,
    Type,
    check,
    struct,
)

SCHEMAS_KEPT: Final = 64
"""How many schemas a transform remembers the outcome of."""

REPLACE_NULL: Final = Key(
    "replace.null.with.default",
    Kind.BOOLEAN,
    True,
    "Whether a field that is null and has a default counts as its default. If not, it is null.",
)

_JAVA: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "java.lang.Boolean",
    int: "java.lang.Long",
    float: "java.lang.Double",
    Float32: "java.lang.Float",
    str: "java.lang.String",
    bytes: "[B",
    list: "java.util.ArrayList",
    dict: "java.util.HashMap",
    Decimal: "java.math.BigDecimal",
    datetime.date: "java.util.Date",
    datetime.time: "java.util.Date",
    datetime.datetime: "java.util.Date",
    Struct: "org.apache.kafka.connect.data.Struct",
}


def java_type(value: object) -> str:
    """The class that a value without a schema has in Java."""
    return _JAVA.get(type(value), type(value).__name__)


def schema_text(schema: Schema) -> str:
    """A schema as Java prints it."""
    named = f"{schema.name}:" if schema.name else ""
    return f"Schema{{{named}{schema.type.name}}}"


def require_map(value: object, purpose: str) -> dict[str, object]:
    """The value, if it is a map; DataException if not."""
    if isinstance(value, dict):
        return value
    raise DataException(
        f"Only Map objects supported in absence of schema for [{purpose}], "
        f"found: {java_type(value)}"
    )


def require_struct(value: object, purpose: str) -> Struct:
    """The value, if it is a struct; DataException if not."""
    if isinstance(value, Struct):
        return value
    raise DataException(f"Only Struct objects supported for [{purpose}], found: {java_type(value)}")


def struct_like(
    schema: Schema, fields: Iterable[tuple[str, Schema]], *, optional: bool = False
) -> Schema:
    """A struct of other fields under the name, version, text and parameters of `schema`."""
    return struct(
        fields,
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        parameters=schema.parameters,
        optional=optional,
    )


def values_of(value: Struct, *, replace_null: bool) -> list[object]:
    """The values of a struct's fields, nulls with or without their defaults."""
    if not replace_null or not value.schema.has_defaults:
        return value.values
    return [
        field.schema.default if held is None else held
        for field, held in zip(value.schema.fields, value.values, strict=True)
    ]


def filled(schema: Schema, values: list[object]) -> Struct:
    """The struct of values that fit their fields; DataException if one is null and must not be."""
    for field, value in zip(schema.fields, values, strict=True):
        if value is None and not field.schema.optional:
            check(field.schema, value, field.name)
    return Struct(schema, values)


def parted(column: Column, *, replace_null: bool) -> list[pa.Array] | None:
    """The arrays of a struct column's fields; None if a null of a row or a field has to be judged.

    That is: a row without a value, a null that is replaced by a default, a null that may not be.
    """
    rows = struct_array(column)
    if rows is None or rows.null_count:
        return None
    assert column.schema is not None
    arrays = [rows.field(place) for place in range(rows.type.num_fields)]
    for field, array in zip(column.schema.fields, arrays, strict=True):
        if array.null_count and _judged(field.schema, replace_null=replace_null):
            return None
    return arrays


def struct_array(column: Column) -> pa.StructArray | None:
    """The Arrow array of a column of structs, if it is one."""
    if column.schema is None or column.schema.type is not Type.STRUCT:
        return None
    return column.arrow


def _judged(schema: Schema, *, replace_null: bool) -> bool:
    return not schema.optional or (replace_null and schema.default is not None)


def joined(schema: Schema, arrays: Sequence[pa.Array], rows: int) -> Column:
    """The struct column of the arrays of its fields."""
    if not arrays:
        return Column(schema, [Struct(schema) for _ in range(rows)])
    fields = [arrow_field(field.name, field.schema) for field in schema.fields]
    return Column(schema, pa.StructArray.from_arrays(arrays, fields=fields))
