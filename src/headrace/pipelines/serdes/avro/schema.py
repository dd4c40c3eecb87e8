"""Avro schemas as plain nodes, and default values as bytes.

fastavro reads and checks the JSON and resolves names; this module only turns its answer into nodes
that the compiler of programs can walk. A named type is one node however often it is referred to, so
a recursive schema is a cycle of nodes. Nothing here compares two schemas.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import fastavro
import fastavro.schema

from headrace.errors import ConfigError

PRIMITIVES: Final = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
)
MAX_DECIMAL_PRECISION: Final = 38


@dataclass(slots=True, eq=False)
class Primitive:
    type: str
    logical: str | None = None
    precision: int = 0
    scale: int = 0


@dataclass(slots=True, eq=False)
class Fixed:
    name: str
    aliases: tuple[str, ...]
    size: int
    logical: str | None = None
    precision: int = 0
    scale: int = 0


@dataclass(slots=True, eq=False)
class Enum:
    name: str
    aliases: tuple[str, ...]
    symbols: tuple[str, ...]
    default: str | None


@dataclass(slots=True, eq=False)
class Array:
    items: Node


@dataclass(slots=True, eq=False)
class Map:
    values: Node


@dataclass(slots=True, eq=False)
class Union:
    branches: tuple[Node, ...]


@dataclass(slots=True, eq=False)
class Field:
    name: str
    aliases: tuple[str, ...]
    type: Node
    has_default: bool
    default: Any


@dataclass(slots=True, eq=False)
class Record:
    name: str
    aliases: tuple[str, ...]
    fields: list[Field] = field(default_factory=list)


Node = Primitive | Fixed | Enum | Array | Map | Union | Record


def parse(text: str) -> Node:
    """The schema in `text`, in Avro's JSON form."""
    try:
        parsed = fastavro.parse_schema(json.loads(text))
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"the Avro schema is not JSON ({error}); a primitive type is written in quotes, "
            'as in "string"'
        ) from None
    except (fastavro.schema.SchemaParseException, KeyError, TypeError, ValueError) as error:
        # fastavro raises KeyError, TypeError or ValueError where a member is absent or misshapen.
        raise ConfigError(f"the Avro schema is not valid: {_reason(error)}") from None
    except RecursionError:
        raise ConfigError("the Avro schema is nested too deeply to be read") from None
    return _node(parsed, {})


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _node(schema: Any, names: dict[str, Node]) -> Node:
    if isinstance(schema, str):
        return Primitive(schema) if schema in PRIMITIVES else names[schema]
    if isinstance(schema, Sequence):
        return Union(tuple(_node(branch, names) for branch in schema))
    kind = schema["type"]
    match kind:
        case "record" | "error":
            return _record(schema, names)
        case "enum":
            name = schema["name"]
            enum = Enum(name, _aliases(schema), tuple(schema["symbols"]), schema.get("default"))
            names[name] = enum
            return enum
        case "fixed":
            names[schema["name"]] = fixed = _fixed(schema)
            return fixed
        case "array":
            return Array(_node(schema["items"], names))
        case "map":
            return Map(_node(schema["values"], names))
        case str() if kind in PRIMITIVES:
            logical, precision, scale = _logical(schema, None)
            return Primitive(kind, logical, precision, scale)
        case _:
            return _node(kind, names)


def _record(schema: Mapping[str, Any], names: dict[str, Node]) -> Record:
    record = Record(schema["name"], _aliases(schema))
    names[record.name] = record
    for entry in schema["fields"]:
        record.fields.append(
            Field(
                entry["name"],
                tuple(entry.get("aliases", ())),
                _node(entry["type"], names),
                "default" in entry,
                entry.get("default"),
            )
        )
    return record


def _fixed(schema: Mapping[str, Any]) -> Fixed:
    size = schema["size"]
    logical, precision, scale = _logical(schema, size)
    return Fixed(schema["name"], _aliases(schema), size, logical, precision, scale)


def _logical(schema: Mapping[str, Any], size: int | None) -> tuple[str | None, int, int]:
    """The logical type; one that does not fit its type is ignored, as the specification asks."""
    logical = schema.get("logicalType")
    if logical != "decimal":
        return logical, 0, 0
    precision, scale = schema.get("precision", 0), schema.get("scale", 0)
    fits = size is None or 10**precision <= 1 << (8 * size - 1)
    if schema["type"] in ("bytes", "fixed") and fits and precision > 0 and 0 <= scale <= precision:
        if precision > MAX_DECIMAL_PRECISION:
            raise ConfigError(
                f"a decimal of precision {precision} is more than Spark can hold "
                f"({MAX_DECIMAL_PRECISION}): read it as bytes, by a schema without the logical type"
            )
        return logical, precision, scale
    return None, 0, 0


def _aliases(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The full names by which a named type is known besides its own."""
    namespace = schema["name"].rpartition(".")[0]
    prefix = f"{namespace}." if namespace else ""
    return tuple(alias if "." in alias else prefix + alias for alias in schema.get("aliases", ()))


def describe(node: Node) -> str:
    """A node in a few words, for messages."""
    match node:
        case Primitive(type=name, logical=None):
            return name
        case Primitive(type=name, logical=logical):
            return f"{name} ({logical})"
        case Fixed():
            return f"fixed {node.name} of {node.size} bytes"
        case Enum():
            return f"enum {node.name}"
        case Record():
            return f"record {node.name}"
        case Array():
            return f"array of {describe(node.items)}"
        case Map():
            return f"map of {describe(node.values)}"
        case Union():
            return "union of " + ", ".join(describe(branch) for branch in node.branches)


def write_long(value: int) -> bytes:
    """Zigzag, then seven bits to the byte, lowest first."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def encode_default(node: Node, value: Any) -> bytes:
    """A default of the schema's JSON as the bytes that would carry it.

    The kernel reads defaults as it reads values, so a default can be anything that a value can.
    """
    match node:
        case Primitive():
            return _encode_primitive(node.type, value)
        case Fixed():
            raw = value.encode("latin-1")
            if len(raw) != node.size:
                raise ValueError(f"{len(raw)} bytes for {describe(node)}")
            return bytes(raw)
        case Enum():
            return write_long(node.symbols.index(value))
        case Array():
            return _blocks([encode_default(node.items, item) for item in value])
        case Map():
            entries = value.items()
            return _blocks(
                [
                    _counted(key.encode()) + encode_default(node.values, item)
                    for key, item in entries
                ]
            )
        case Record():
            return b"".join(
                encode_default(each.type, value.get(each.name, each.default))
                for each in node.fields
            )
        case Union():
            return _encode_branch(node, value)


def _encode_branch(node: Union, value: Any) -> bytes:
    """Before Avro 1.12 a default had to suit the first branch; since then, any."""
    for index, branch in enumerate(node.branches):
        try:
            return write_long(index) + encode_default(branch, value)
        except (TypeError, ValueError, AttributeError, KeyError, struct.error):
            continue
    raise ValueError(f"{value!r} suits no branch of {describe(node)}")


def _encode_primitive(type_name: str, value: Any) -> bytes:
    match type_name:
        case "null" if value is None:
            return b""
        case "boolean" if isinstance(value, bool):
            return bytes([value])
        case "int" | "long" if isinstance(value, int) and not isinstance(value, bool):
            bits = 31 if type_name == "int" else 63
            if not -(1 << bits) <= value < 1 << bits:
                raise ValueError(f"{value} is not in the range of {type_name}")
            return write_long(value)
        case "float" if isinstance(value, int | float | str):
            return struct.pack("<f", float(value))
        case "double" if isinstance(value, int | float | str):
            return struct.pack("<d", float(value))
        case "bytes" if isinstance(value, str):
            return _counted(value.encode("latin-1"))
        case "string" if isinstance(value, str):
            return _counted(value.encode())
    raise ValueError(f"{value!r} is not of the type {type_name}")


def _counted(raw: bytes) -> bytes:
    return write_long(len(raw)) + raw


def _blocks(items: Sequence[bytes]) -> bytes:
    return (write_long(len(items)) if items else b"") + b"".join(items) + b"\0"
