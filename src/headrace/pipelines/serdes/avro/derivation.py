"""The Avro schema of an Arrow type, for values that are written without a schema.

Names and the order of unions are those that spark-avro gives; bytes depend only on the latter. The
root is never a union: a null value is a null in the column of bytes.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from headrace.errors import ConfigError
from headrace.schemas.avro.schema import (
    Array,
    AvroType,
    Field,
    Fixed,
    Map,
    Name,
    Primitive,
    Record,
    Union,
    tag,
)

ROOT_NAME: Final = "topLevelRecord"

_SIMPLE: Final = {
    pa.null(): "null",
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "bytes",
    pa.large_binary(): "bytes",
}
_LOGICAL: Final = {
    pa.date32(): ("int", "date"),
    pa.time64("us"): ("long", "time-micros"),
    pa.time64("ns"): ("long", "time-micros"),
}


def schema_of(arrow: pa.DataType, name: str = ROOT_NAME) -> AvroType:
    """The schema of a type; records are named after the fields that hold them."""
    if arrow in _SIMPLE:
        return Primitive(_SIMPLE[arrow], {})
    if arrow in _LOGICAL:
        return _logical(*_LOGICAL[arrow])
    if pa.types.is_struct(arrow):
        return _record(arrow, name)
    if pa.types.is_map(arrow):
        return Map(_field_type(arrow.item_field, name), {})
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return Array(_field_type(arrow.value_field, name), {})
    if pa.types.is_timestamp(arrow):
        return _logical("long", "timestamp-micros" if arrow.tz else "local-timestamp-micros")
    if pa.types.is_decimal(arrow):
        size = (((10**arrow.precision) - 1).bit_length() + 8) // 8
        digits = {"precision": arrow.precision, "scale": arrow.scale}
        return Fixed(Name(name, "fixed"), None, size, [], {"logicalType": "decimal", **digits})
    raise ConfigError(f"{name} is {arrow}, which has no Avro type: cast it, or leave it out")


def _record(arrow: pa.DataType, name: str) -> Record:
    space, _, last = name.rpartition(".")
    fields = [Field(each.name, _field_type(each, f"{name}.{each.name}")) for each in arrow]
    return Record(Name(space or None, last), None, False, fields, [], {})


def _field_type(field: pa.Field, name: str) -> AvroType:
    node = schema_of(field.type, name)
    if not field.nullable or node.kind == "null":
        return node
    null = Primitive("null", {})
    return Union([node, null], [tag(node), tag(null)])


def _logical(kind: str, logical: str) -> Primitive:
    return Primitive(kind, {"logicalType": logical})
