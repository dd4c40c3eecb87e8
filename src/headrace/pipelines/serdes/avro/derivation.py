"""The Avro schema of an Arrow type, for values that are written without a schema.

Names and the order of unions are those that spark-avro gives; bytes depend only on the latter. The
root is never a union: a null value is a null in the column of bytes.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from headrace.errors import ConfigError
from headrace.pipelines.serdes.avro.schema import (
    Array,
    Field,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
)

ROOT_NAME: Final = "topLevelRecord"

_SIMPLE: Final = {
    pa.null(): Primitive("null"),
    pa.bool_(): Primitive("boolean"),
    pa.int8(): Primitive("int"),
    pa.int16(): Primitive("int"),
    pa.int32(): Primitive("int"),
    pa.int64(): Primitive("long"),
    pa.float32(): Primitive("float"),
    pa.float64(): Primitive("double"),
    pa.string(): Primitive("string"),
    pa.large_string(): Primitive("string"),
    pa.binary(): Primitive("bytes"),
    pa.large_binary(): Primitive("bytes"),
    pa.date32(): Primitive("int", "date"),
    pa.time64("us"): Primitive("long", "time-micros"),
    pa.time64("ns"): Primitive("long", "time-micros"),
}


def schema_of(arrow: pa.DataType, name: str = ROOT_NAME) -> Node:
    """The schema of a type; records are named after the fields that hold them."""
    if arrow in _SIMPLE:
        return _SIMPLE[arrow]
    if pa.types.is_struct(arrow):
        record = Record(name, ())
        for each in arrow:
            below = _nullable(schema_of(each.type, f"{name}.{each.name}"), each.nullable)
            record.fields.append(Field(each.name, (), below, False, None))
        return record
    if pa.types.is_map(arrow):
        item = arrow.item_field
        return Map(_nullable(schema_of(item.type, name), item.nullable))
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        item = arrow.value_field
        return Array(_nullable(schema_of(item.type, name), item.nullable))
    if pa.types.is_timestamp(arrow):
        return Primitive("long", "timestamp-micros" if arrow.tz else "local-timestamp-micros")
    if pa.types.is_decimal(arrow):
        size = (((10**arrow.precision) - 1).bit_length() + 8) // 8
        return Fixed(f"{name}.fixed", (), size, "decimal", arrow.precision, arrow.scale)
    raise ConfigError(f"{name} is {arrow}, which has no Avro type: cast it, or leave it out")


def _nullable(node: Node, nullable: bool) -> Node:
    if nullable and not (isinstance(node, Primitive) and node.type == "null"):
        return Union((node, Primitive("null")))
    return node
