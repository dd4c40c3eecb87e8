"""Connect's schemas as Avro's and back, with Confluent's properties for what Avro cannot say.

| Connect | Avro |
|---|---|
| INT8, INT16 | int with `connect.type` |
| optional | union with null, which comes first unless there is a default |
| Decimal, Date, Time, Timestamp | logical types |
| a map whose keys are not strings | array of records `MapEntry` |
| a struct without a name | record `ConnectDefault` |
| name, version, parameters, doc, default | `connect.name` and so on, with `connect.meta.data` |

A union of several types is a struct with one optional field for each. An enum is a string whose
parameters say its symbols.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from headrace.pipelines.connect.converters.registry.avro_values import (
    NAMESPACE,
    UNION,
    from_default,
    to_default,
)
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Field, Schema, Type
from headrace.schemas.avro import schema as avro
from headrace.schemas.avro.logical import decimal_digits, logical_type
from headrace.schemas.avro.schema import NO_DEFAULT, AvroType, Json

ENUM: Final = f"{NAMESPACE}.Enum"
DEFAULT_NAME: Final = "ConnectDefault"
MAP_ENTRY: Final = "MapEntry"
DEFAULT_PRECISION: Final = 64
PRECISION: Final = "connect.decimal.precision"
FIXED_SIZE: Final = "connect.fixed.size"

_PRIMITIVE: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {
    schemas.DATE: "date",
    schemas.TIME: "time-millis",
    schemas.TIMESTAMP: "timestamp-millis",
}
_UNNAMED: Final = re.compile(rf"{re.escape(NAMESPACE)}\.{DEFAULT_NAME}\d*")


@dataclass(frozen=True, slots=True)
class AvroOptions:
    """`metadata` keeps what Avro cannot say in properties, `enhanced` full names and enums."""

    metadata: bool = True
    enhanced: bool = False


# --- to Avro ---


def text_of(schema: Schema, options: AvroOptions) -> str:
    """The Avro schema of a Connect schema."""
    return json.dumps(_Writer(options).type(schema))


@dataclass
class _Writer:
    options: AvroOptions
    named: dict[str, Schema] = field(default_factory=dict)
    unnamed: int = 0

    def type(self, schema: Schema) -> Json:
        if schema.name == UNION and schema.type is Type.STRUCT:
            branches = [self._described(part.schema) for part in schema.fields]
            return ["null", *branches] if schema.optional else branches
        base = self._described(schema)
        if not schema.optional:
            return base
        return ["null", base] if schema.default is None else [base, "null"]

    def _described(self, schema: Schema) -> Json:
        base = self._base(schema)
        if isinstance(base, str):
            return base
        if schema.type is Type.INT8 or schema.type is Type.INT16:
            base["connect.type"] = schema.type.value
        if self.options.metadata:
            base |= self._metadata(schema)
        return base if len(base) > 1 else base["type"]

    def _metadata(self, schema: Schema) -> dict[str, Json]:
        said: dict[str, Json] = {}
        if schema.doc is not None:
            said["connect.doc"] = schema.doc
        if schema.version is not None:
            said["connect.version"] = schema.version
        if schema.parameters:
            said["connect.parameters"] = dict(schema.parameters)
        if schema.default is not None:
            said["connect.default"] = to_default(schema, schema.default)
        if schema.name is not None:
            said["connect.name"] = schema.name
        return said

    def _base(self, schema: Schema) -> dict[str, Json] | str:
        if schema.name == schemas.DECIMAL:
            digits = int((schema.parameters or {}).get(PRECISION, DEFAULT_PRECISION))
            about: dict[str, Json] = {"precision": digits, "scale": schema.scale}
            return {"type": "bytes", "logicalType": "decimal", **about}
        if schema.name in _LOGICAL:
            return {"type": _PRIMITIVE[schema.type], "logicalType": _LOGICAL[schema.name]}
        if schema.type is Type.ARRAY:
            return {"type": "array", "items": self.type(schema.item)}
        if schema.type is Type.MAP:
            return self._map(schema)
        if schema.type is Type.STRUCT:
            return self._record(schema)
        parameters = schema.parameters or {}
        if schema.type is Type.STRING and ENUM in parameters:
            return self._enum(parameters)
        if schema.type is Type.BYTES and FIXED_SIZE in parameters and schema.name:
            size = int(parameters[FIXED_SIZE])
            return self._once(schema.name, schema, {"type": "fixed", "size": size})
        return {"type": _PRIMITIVE[schema.type]}

    def _map(self, schema: Schema) -> dict[str, Json] | str:
        if schema.key.type is Type.STRING and not schema.key.optional:
            return {"type": "map", "values": self.type(schema.item)}
        fields: list[Json] = [
            self._field("key", schema.key),
            self._field("value", schema.item),
        ]
        entry: dict[str, Json] = {"type": "record", "name": MAP_ENTRY, "namespace": NAMESPACE}
        if schema.name is not None:
            entry |= {"name": schema.name, "connect.internal.type": MAP_ENTRY}
        elif f"{NAMESPACE}.{MAP_ENTRY}" in self.named:
            self.unnamed += 1
            entry |= {"name": f"{MAP_ENTRY}{self.unnamed}", "connect.internal.type": MAP_ENTRY}
        self.named[f"{NAMESPACE}.{MAP_ENTRY}"] = schema
        return {"type": "array", "items": {**entry, "fields": fields}}

    def _record(self, schema: Schema) -> dict[str, Json] | str:
        name = schema.name
        if name is None:
            self.unnamed += 1
            name = f"{NAMESPACE}.{DEFAULT_NAME}{self.unnamed if self.unnamed > 1 else ''}"
        made = self._once(name, schema, {"type": "record"})
        if isinstance(made, dict):
            made["fields"] = [self._field(part.name, part.schema) for part in schema.fields]
        return made

    def _once(self, name: str, schema: Schema, about: dict[str, Json]) -> dict[str, Json] | str:
        """A named type where it is met first; its name where it is met again."""
        if self.named.get(name) == schema:
            return name
        self.named[name] = schema
        space, _, last = name.rpartition(".")
        return {"name": last, **({"namespace": space} if space else {}), **about}

    def _enum(self, parameters: Mapping[str, str]) -> dict[str, Json] | str:
        symbols = [text for name, text in parameters.items() if name.startswith(f"{ENUM}.")]
        made: dict[str, Json] = {"type": "enum", "name": parameters[ENUM], "symbols": [*symbols]}
        return made

    def _field(self, name: str, schema: Schema) -> dict[str, Json]:
        said: dict[str, Json] = {"name": name, "type": self.type(schema)}
        if schema.doc is not None:
            said["doc"] = schema.doc
        if schema.default is not None:
            said["default"] = to_default(schema, schema.default)
        elif schema.optional:
            said["default"] = None
        return said


# --- from Avro ---


def schema_of(node: AvroType, options: AvroOptions) -> Schema:
    """The Connect schema of an Avro schema."""
    return _Reader(options).type(node)


@dataclass
class _Reader:
    options: AvroOptions
    open: list[int] = field(default_factory=list)

    def type(self, node: AvroType) -> Schema:
        if not isinstance(node, avro.Union):
            return self._described(node)
        branches = [branch for branch in node.branches if branch.kind != "null"]
        optional = len(branches) < len(node.branches)
        if len(branches) == 1:
            return self.type(branches[0]).but(optional=optional)
        fields = [
            Field(self.branch_name(branch), self.type(branch).but(optional=True))
            for branch in branches
        ]
        return Schema(Type.STRUCT, optional=optional, name=UNION, fields=tuple(fields))

    def branch_name(self, node: AvroType) -> str:
        """The field of a union's struct that holds values of this type."""
        return branch_name(node, self.options)

    def _described(self, node: AvroType) -> Schema:
        made = self._base(node)
        assert not isinstance(node, avro.Union)
        props = node.props
        parameters = props.get("connect.parameters")
        if isinstance(parameters, dict):
            given = {name: str(text) for name, text in parameters.items()}
            made = made.but(parameters={**(made.parameters or {}), **given})
        name, version, doc = (props.get(f"connect.{key}") for key in ("name", "version", "doc"))
        if isinstance(name, str):
            made = made.but(name=name)
        if isinstance(version, int):
            made = made.but(version=version)
        if isinstance(doc, str):
            made = made.but(doc=doc)
        default = props.get("connect.default")
        return made if default is None else made.but(default=from_default(made, default))

    def _base(self, node: AvroType) -> Schema:
        logical = logical_type(node)
        digits = decimal_digits(node)
        if digits is not None:
            precision, scale = digits
            made = schemas.decimal(scale)
            if precision == DEFAULT_PRECISION:
                return made
            return made.but(parameters={schemas.SCALE: str(scale), PRECISION: str(precision)})
        if logical in _NAMED:
            return _NAMED[logical]
        if isinstance(node, avro.Primitive):
            kind = node.props.get("connect.type")
            if node.kind == "int" and kind in ("int8", "int16"):
                return Schema(Type(kind))
            return _OF_PRIMITIVE[node.kind]
        if isinstance(node, avro.Fixed):
            parameters = {FIXED_SIZE: str(node.size)}
            return Schema(Type.BYTES, name=node.name.full, parameters=parameters)
        if isinstance(node, avro.Enum):
            symbols = {f"{ENUM}.{symbol}": symbol for symbol in node.symbols}
            return Schema(Type.STRING, parameters={ENUM: node.name.full, **symbols})
        return self._nested(node)

    def _nested(self, node: AvroType) -> Schema:
        if id(node) in self.open:
            raise DataException(f"{avro.tag(node)} contains itself, which no Connect schema can")
        self.open.append(id(node))
        try:
            if isinstance(node, avro.Array):
                entry = map_entry(node)
                if entry is not None:
                    key, value = (self._field(part) for part in entry.fields)
                    return schemas.map_of(key.schema, value.schema)
                return schemas.array(self.type(node.items))
            if isinstance(node, avro.Map):
                return schemas.map_of(schemas.STRING, self.type(node.values))
            assert isinstance(node, avro.Record)
            fields = tuple(self._field(part) for part in node.fields)
            name = None if _UNNAMED.fullmatch(node.name.full) else node.name.full
            return Schema(Type.STRUCT, name=name, doc=node.doc, fields=fields)
        finally:
            self.open.pop()

    def _field(self, part: avro.Field) -> Field:
        made = self.type(part.type)
        if part.doc is not None:
            made = made.but(doc=part.doc)
        if part.default is not NO_DEFAULT and part.default is not None:
            made = made.but(default=from_default(made, part.default))
        return Field(part.name, made)


def map_entry(node: avro.Array) -> avro.Record | None:
    """The record of a key and a value, if the array stands for a map."""
    item = node.items
    if not isinstance(item, avro.Record):
        return None
    told = item.props.get("connect.internal.type") == MAP_ENTRY
    return item if told or item.name.full == f"{NAMESPACE}.{MAP_ENTRY}" else None


def branch_name(node: AvroType, options: AvroOptions) -> str:
    """What a type of a union is called: its kind, or its name, which `enhanced` makes full."""
    if isinstance(node, avro.Record | avro.Enum | avro.Fixed):
        return node.name.full if options.enhanced else node.name.name
    return node.kind


_NAMED: Final[Mapping[str | None, Schema]] = {
    "date": schemas.date(),
    "time-millis": schemas.time(),
    "timestamp-millis": schemas.timestamp(),
}
_OF_PRIMITIVE: Final[Mapping[str, Schema]] = {
    "int": schemas.INT32,
    "long": schemas.INT64,
    "float": schemas.FLOAT32,
    "double": schemas.FLOAT64,
    "boolean": schemas.BOOLEAN,
    "string": schemas.STRING,
    "bytes": schemas.BYTES,
    "null": schemas.OPTIONAL_STRING,
}
