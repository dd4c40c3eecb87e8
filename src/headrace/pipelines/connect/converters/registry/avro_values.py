"""Connect's values in Avro's JSON encoding and back: what `headrace.schemas.avro` reads and writes.

A value is written for a given Avro type, which need not be the one that its Connect schema maps to:
with `use.latest.version` it is what the subject has. Defaults are written without the names of a
union's types.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any, Final

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.logical import (
    date_of,
    days_of,
    decimal_bytes,
    decimal_of,
    milliseconds_of,
    milliseconds_of_day,
    time_of,
    timestamp_of,
)
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from headrace.schemas.avro import schema as avro
from headrace.schemas.avro.schema import AvroType, Json

NAMESPACE: Final = "io.confluent.connect.avro"
UNION: Final = f"{NAMESPACE}.Union"
_KINDS: Final = {
    "int": (Type.INT8, Type.INT16, Type.INT32),
    "long": (Type.INT64,),
    "float": (Type.FLOAT32,),
    "double": (Type.FLOAT64,),
    "boolean": (Type.BOOLEAN,),
    "string": (Type.STRING,),
    "enum": (Type.STRING,),
    "bytes": (Type.BYTES,),
    "fixed": (Type.BYTES,),
    "array": (Type.ARRAY, Type.MAP),
    "map": (Type.MAP,),
    "record": (Type.STRUCT,),
}


def to_avro(node: AvroType, schema: Schema, value: object) -> Json:
    """A value for an Avro type."""
    if value is None and schema.default is not None:
        value = schema.default
    if isinstance(node, avro.Union):
        return _to_union(node, schema, value)
    if value is None:
        if node.kind == "null":
            return None
        raise DataException(
            f"Invalid value: null used for required field, schema type: {schema.type.name}"
        )
    if isinstance(value, Struct):
        return _to_record(node, value)
    if isinstance(value, list) and isinstance(node, avro.Array):
        return [to_avro(node.items, schema.item, item) for item in value]
    if isinstance(value, dict):
        return _to_map(node, schema, value)
    return plain(schema, value)


def _to_union(node: avro.Union, schema: Schema, value: object) -> Json:
    if value is None:
        if "null" in node.tags:
            return None
        raise DataException("Invalid value: null used for a union without null")
    if isinstance(value, Struct) and value.schema.name == UNION:
        held = zip(value.schema.fields, value.values, strict=True)
        schema, value = next(
            ((field.schema, item) for field, item in held if item is not None), (schema, None)
        )
        return _to_union(node, schema, value)
    for tag, branch in zip(node.tags, node.branches, strict=True):
        if schema.type in _KINDS.get(branch.kind, ()) and _named_alike(branch, schema):
            return {tag: to_avro(branch, schema, value)}
    raise DataException(
        f"the union [{', '.join(node.tags)}] has no type for {schema.type.name}"
        f"{f' {schema.name}' if schema.name else ''}"
    )


def _named_alike(branch: AvroType, schema: Schema) -> bool:
    if not isinstance(branch, avro.Record) or schema.name is None:
        return True
    return branch.name.full == schema.name


def _to_record(node: AvroType, value: Struct) -> Json:
    if not isinstance(node, avro.Record):
        raise DataException(f"a struct cannot be written as {avro.tag(node)}")
    made: dict[str, Json] = {}
    for part in node.fields:
        field = value.schema.field(part.name)
        if field is not None:
            made[part.name] = to_avro(part.type, field.schema, value.given(part.name))
        elif isinstance(part.type, avro.Union) and "null" in part.type.tags:
            made[part.name] = None
        else:
            raise DataException(f"the struct has no field {part.name} of {node.name.full}")
    return made


def _to_map(node: AvroType, schema: Schema, value: dict[Any, object]) -> Json:
    if isinstance(node, avro.Map):
        return {str(key): to_avro(node.values, schema.item, item) for key, item in value.items()}
    if not isinstance(node, avro.Array) or not isinstance(node.items, avro.Record):
        raise DataException(f"a map cannot be written as {avro.tag(node)}")
    key_field, item_field = node.items.fields
    return [
        {
            key_field.name: to_avro(key_field.type, schema.key, key),
            item_field.name: to_avro(item_field.type, schema.item, item),
        }
        for key, item in value.items()
    ]


def plain(schema: Schema, value: object) -> Json:
    """A value without parts."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, Decimal):
        return decimal_bytes(schema, value).decode("latin-1")
    if isinstance(value, datetime.datetime):
        return milliseconds_of(value)
    if isinstance(value, datetime.date):
        return days_of(value)
    if isinstance(value, datetime.time):
        return milliseconds_of_day(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bool | int | float | str):
        return value
    raise DataException(f"Avro has no value for {type(value).__name__}")


def from_avro(node: AvroType, schema: Schema, given: Json) -> object:
    """The value of a Connect schema that was read as an Avro type."""
    if given is None:
        return None
    if isinstance(node, avro.Union):
        return _from_union(node, schema, given)
    if schema.type is Type.STRUCT:
        assert isinstance(node, avro.Record)
        assert isinstance(given, dict)
        pairs = zip(node.fields, schema.fields, strict=True)
        return Struct(schema, [from_avro(p.type, f.schema, given[p.name]) for p, f in pairs])
    if schema.type is Type.ARRAY:
        assert isinstance(node, avro.Array)
        assert isinstance(given, list)
        return [from_avro(node.items, schema.item, item) for item in given]
    if schema.type is Type.MAP:
        return _from_map(node, schema, given)
    return from_plain(schema, given)


def _from_union(node: avro.Union, schema: Schema, given: Json) -> object:
    assert isinstance(given, dict)
    ((tag, inner),) = given.items()
    branch = node.branches[node.tags.index(tag)]
    if schema.name != UNION:
        return from_avro(branch, schema, inner)
    others = [each for each in node.branches if each.kind != "null"]
    place = next(at for at, each in enumerate(others) if each is branch)
    made = Struct(schema)
    made.values[place] = from_avro(branch, schema.fields[place].schema, inner)
    return made


def _from_map(node: AvroType, schema: Schema, given: Json) -> dict[object, object]:
    if isinstance(node, avro.Map):
        assert isinstance(given, dict)
        return {key: from_avro(node.values, schema.item, item) for key, item in given.items()}
    assert isinstance(node, avro.Array)
    assert isinstance(node.items, avro.Record)
    assert isinstance(given, list)
    key, item = node.items.fields
    made = {}
    for entry in given:
        assert isinstance(entry, dict)
        read = from_avro(key.type, schema.key, entry[key.name])
        made[read] = from_avro(item.type, schema.item, entry[item.name])
    return made


def from_plain(schema: Schema, given: Json) -> object:
    """A value without parts."""
    if schema.name == schemas.DECIMAL:
        return decimal_of(schema, str(given).encode("latin-1"))
    if schema.type is Type.BYTES:
        return str(given).encode("latin-1")
    if isinstance(given, str) and schema.type in (Type.FLOAT32, Type.FLOAT64):
        return float(given.replace("Infinity", "inf"))
    if isinstance(given, int) and not isinstance(given, bool):
        if schema.name == schemas.DATE:
            return date_of(given)
        if schema.name == schemas.TIME:
            return time_of(given)
        if schema.name == schemas.TIMESTAMP:
            return timestamp_of(given)
        return float(given) if schema.type in (Type.FLOAT32, Type.FLOAT64) else given
    return given


def to_default(schema: Schema, value: object) -> Json:
    """A default of a schema."""
    if value is None:
        return None
    if isinstance(value, Struct):
        pairs = zip(value.schema.fields, value.values, strict=True)
        return {field.name: to_default(field.schema, item) for field, item in pairs}
    if isinstance(value, list):
        return [to_default(schema.item, item) for item in value]
    if isinstance(value, dict):
        if schema.key.type is Type.STRING and not schema.key.optional:
            return {str(key): to_default(schema.item, item) for key, item in value.items()}
        return [
            {"key": to_default(schema.key, key), "value": to_default(schema.item, item)}
            for key, item in value.items()
        ]
    return plain(schema, value)


def from_default(schema: Schema, given: Json) -> object:
    """The default that `to_default` wrote, or another of the same form."""
    if given is None:
        return None
    if schema.type is Type.STRUCT and isinstance(given, dict):
        parts = [from_default(field.schema, given.get(field.name)) for field in schema.fields]
        return Struct(schema, parts)
    if schema.type is Type.ARRAY and isinstance(given, list):
        return [from_default(schema.item, item) for item in given]
    if schema.type is Type.MAP and isinstance(given, dict):
        return {key: from_default(schema.item, item) for key, item in given.items()}
    if schema.type is Type.MAP and isinstance(given, list):
        return {
            from_default(schema.key, entry["key"]): from_default(schema.item, entry["value"])
            for entry in given
            if isinstance(entry, dict)
        }
    return from_plain(schema, given)
