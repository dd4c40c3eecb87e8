"""Connect's schemas as Arrow's types and back.

What Arrow's type does not say (names, versions, defaults, documentation, parameters) stays in the
schema, which travels beside the data: `Column` has both. So one direction is total for types that
Arrow can hold, and the other makes the plainest schema of an Arrow type.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Type

_PRIMITIVE: Final = {
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}
_LOGICAL: Final = {
    schemas.DATE: pa.date32(),
    schemas.TIME: pa.time32("ms"),
    schemas.TIMESTAMP: pa.timestamp("ms", tz="UTC"),
}
DECIMAL_DIGITS: Final = 38  # of decimal128; what has more stays in Python


def arrow_type(schema: Schema) -> pa.DataType:
    """The Arrow type of the schema's values."""
    if schema.name == schemas.DECIMAL:
        return pa.decimal128(DECIMAL_DIGITS, schema.scale)
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        return logical
    if schema.type is Type.STRUCT:
        return pa.struct([arrow_field(field.name, field.schema) for field in schema.fields])
    if schema.type is Type.ARRAY:
        return pa.list_(arrow_field("item", schema.item))
    if schema.type is Type.MAP:
        return pa.map_(arrow_type(schema.key), arrow_field("value", schema.item))
    return _PRIMITIVE[schema.type]


def arrow_field(name: str, schema: Schema) -> pa.Field:
    """The Arrow field of a struct's field."""
    return pa.field(name, arrow_type(schema), nullable=schema.optional)


_OF_ARROW: Final = {kind: Schema(type_) for type_, kind in _PRIMITIVE.items()} | {
    pa.large_string(): schemas.STRING,
    pa.large_binary(): schemas.BYTES,
    pa.date32(): schemas.date(),
    pa.date64(): schemas.date(),
    pa.uint8(): schemas.INT16,
    pa.uint16(): schemas.INT32,
    pa.uint32(): schemas.INT64,
}


def schema_of(kind: pa.DataType, *, optional: bool = True) -> Schema:
    """The plainest Connect schema that holds values of an Arrow type."""
    plain = _OF_ARROW.get(kind) or _parametrised(kind)
    return plain.but(optional=True) if optional else plain


def _parametrised(kind: pa.DataType) -> Schema:
    if pa.types.is_timestamp(kind):
        return schemas.timestamp()
    if pa.types.is_time(kind):
        return schemas.time()
    if pa.types.is_decimal(kind):
        return schemas.decimal(kind.scale)
    if pa.types.is_fixed_size_binary(kind):
        return schemas.BYTES
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return schemas.struct((f.name, schema_of(f.type, optional=f.nullable)) for f in fields)
    if pa.types.is_map(kind):
        keys = schema_of(kind.key_type, optional=False)
        return schemas.map_of(keys, schema_of(kind.item_type, optional=kind.item_field.nullable))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return schemas.array(schema_of(kind.value_type, optional=kind.value_field.nullable))
    raise DataException(
        f"Connect has no type for Arrow's {kind}: cast the column to one that it has"
    )
