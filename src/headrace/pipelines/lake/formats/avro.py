"""Avro object container files, by fastavro."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, BinaryIO, Final, TypeAlias

import pyarrow as pa

from headrace.pipelines.lake.faults import LakeFault, MissingExtra
from headrace.pipelines.lake.rows import Rows

try:
    from fastavro import parse_schema
    from fastavro.write import Writer
except ImportError as fault:
    raise MissingExtra("Avro", fault) from fault

Json: TypeAlias = Any
_Step: TypeAlias = Callable[[Any], object]
_BLOCK_BYTES: Final = 64 << 10
_DECIMAL_DIGITS: Final = 38


class AvroFormat:
    """`codec` is null, deflate or snappy, as Avro calls them."""

    extension = ".avro"

    def __init__(self, codec: str = "null") -> None:
        self._codec = codec

    def open(self, out: BinaryIO, rows: Rows) -> AvroFile:
        """Begin a file under the schema of the rows."""
        kind = rows.values.type
        schema = avro_of(kind) if rows.avro is None else json.loads(rows.avro)
        try:
            writer = Writer(
                out, parse_schema(schema), codec=self._codec, sync_interval=_BLOCK_BYTES
            )
        except ValueError as fault:
            raise LakeFault(f"Avro cannot write {schema}: {fault}") from fault
        return AvroFile(writer, _step(kind, schema, {}))


class AvroFile:
    """A file of records."""

    def __init__(self, writer: Any, step: _Step | None) -> None:
        self._writer = writer
        self._step = step

    def write(self, rows: Rows) -> None:
        """Add values."""
        step, write = self._step, self._writer.write
        for value in rows.values.to_pylist():
            write(value if step is None or value is None else step(value))

    def finish(self) -> None:
        """Write the last block."""
        self._writer.flush()

    def abandon(self) -> None:
        """Nothing is held beside memory."""


# --- what fastavro takes of what Arrow gives ---


def _step(kind: pa.DataType, node: Json, named: dict[str, Json]) -> _Step | None:
    """How a value of an Arrow type becomes a datum of an Avro type; None if it already is."""
    if isinstance(node, str):
        node = named.get(node, node)
    if isinstance(node, list):
        return _union_step(kind, node, named)
    if isinstance(node, dict) and isinstance(node.get("type"), dict | list):
        return _step(kind, node["type"], named)
    if isinstance(node, dict) and "name" in node:
        space = node.get("namespace")
        named[f"{space}.{node['name']}" if space else node["name"]] = node
        named.setdefault(node["name"], node)
    if pa.types.is_struct(kind):
        return _record_step(kind, node, named)
    if pa.types.is_map(kind):
        return _map_step(kind, node, named)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        item = _step(kind.value_type, node["items"], named)
        return None if item is None else lambda value: [_given(item, each) for each in value]
    return None


def _given(step: _Step | None, value: object) -> object:
    return value if step is None or value is None else step(value)


def _record_step(kind: pa.DataType, node: Json, named: dict[str, Json]) -> _Step | None:
    nodes = {field["name"]: field["type"] for field in node["fields"]}
    fields = [kind.field(place) for place in range(kind.num_fields)]
    found = ((field.name, _step(field.type, nodes[field.name], named)) for field in fields)
    steps = {name: step for name, step in found if step is not None}
    if not steps:
        return None

    def made(value: dict[str, object]) -> object:
        return value | {name: _given(step, value[name]) for name, step in steps.items()}

    return made


def _map_step(kind: pa.DataType, node: Json, named: dict[str, Json]) -> _Step:
    if node["type"] == "map":
        item = _step(kind.item_type, node["values"], named)
        return lambda pairs: {key: _given(item, value) for key, value in pairs}
    key_node, item_node = node["items"]["fields"]
    key = _step(kind.key_type, key_node["type"], named)
    item = _step(kind.item_type, item_node["type"], named)
    return lambda pairs: [
        {key_node["name"]: _given(key, name), item_node["name"]: _given(item, value)}
        for name, value in pairs
    ]


def _union_step(kind: pa.DataType, node: list[Json], named: dict[str, Json]) -> _Step | None:
    branches = [branch for branch in node if branch != "null"]
    if len(branches) == 1:
        return _step(kind, branches[0], named)
    # A struct of optional fields stands for a union: the field that is there is the value.
    steps = [
        (kind.field(place).name, _step(kind.field(place).type, branch, named))
        for place, branch in enumerate(branches)
    ]

    def made(value: dict[str, object]) -> object:
        held = ((step, value[name]) for name, step in steps if value[name] is not None)
        step, item = next(held, (None, None))
        return _given(step, item)

    return made


# --- the plainest Avro schema of an Arrow type ---

_PLAIN: Final = {
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.uint8(): "int",
    pa.uint16(): "int",
    pa.uint32(): "long",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "bytes",
    pa.large_binary(): "bytes",
    pa.null(): "null",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.time32("ms"): {"type": "int", "logicalType": "time-millis"},
}


def avro_of(kind: pa.DataType, name: str = "value") -> Json:
    """The Avro schema of an Arrow type; records are called after their fields."""
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain
    if pa.types.is_timestamp(kind):
        unit = "timestamp-millis" if kind.unit in ("s", "ms") else "timestamp-micros"
        return {"type": "long", "logicalType": unit}
    if pa.types.is_decimal(kind):
        about = {"precision": min(kind.precision, _DECIMAL_DIGITS), "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **about}
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        made = [_avro_field(field, f"{name}_{field.name}") for field in fields]
        return {"type": "record", "name": name, "fields": made}
    if pa.types.is_map(kind):
        return {"type": "map", "values": _optional(kind.item_field, f"{name}_item")}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "items": _optional(kind.value_field, f"{name}_item")}
    raise LakeFault(f"Avro has no type for Arrow's {kind}: cast the column, or write Parquet")


def _avro_field(field: pa.Field, name: str) -> Json:
    made = {"name": field.name, "type": _optional(field, name)}
    return {**made, "default": None} if field.nullable else made


def _optional(field: pa.Field, name: str) -> Json:
    made = avro_of(field.type, name)
    return ["null", made] if field.nullable and made != "null" else made
