"""Connect's schemas as Protobuf's and back, as Confluent's converter maps them.

| Connect | Protobuf |
|---|---|
| STRUCT | message; fields are numbered from 1 |
| INT8, INT16 | int32 with the parameter `connect.type` |
| Decimal, Date, Time, Timestamp | messages of confluent.type, google.type and google.protobuf |
| ARRAY, MAP | repeated, map |
| optional | a plain field; with options of the converter `optional` or a wrapper message |

Messages beside the first are named by the last part of their name, in the first one's package. What
Protobuf cannot nest (arrays in arrays) is a DataException. The members of a oneof are optional
fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from headrace.pipelines.connect.converters.registry.protobuf_meta import parameters_of
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Field, Schema, Type

DEFAULT_NAME: Final = "ConnectDefault"
ENUM: Final = "io.confluent.connect.protobuf.Enum"
CONNECT_TYPE: Final = "connect.type"

DECIMAL: Final = "confluent.type.Decimal"
DATE: Final = "google.type.Date"
TIME: Final = "google.type.TimeOfDay"
TIMESTAMP: Final = "google.protobuf.Timestamp"

_SCALARS: Final = {
    Type.INT8: "int32",
    Type.INT16: "int32",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "bool",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_WRAPPERS: Final = {
    "int32": "Int32Value",
    "int64": "Int64Value",
    "float": "FloatValue",
    "double": "DoubleValue",
    "bool": "BoolValue",
    "string": "StringValue",
    "bytes": "BytesValue",
}
_LOGICAL: Final = {
    schemas.DECIMAL: (DECIMAL, "confluent/type/decimal.proto"),
    schemas.DATE: (DATE, "google/type/date.proto"),
    schemas.TIME: (TIME, "google/type/timeofday.proto"),
    schemas.TIMESTAMP: (TIMESTAMP, "google/protobuf/timestamp.proto"),
}


@dataclass(frozen=True, slots=True)
class ProtobufOptions:
    """How a field that may be null is written: with a wrapper, as `optional`, or plainly."""

    wrappers: bool = False
    optionals: bool = False


# --- to Protobuf ---


def text_of(schema: Schema, options: ProtobufOptions) -> str:
    """The .proto source of a struct's schema."""
    if schema.type is not Type.STRUCT:
        raise DataException(
            f"Protobuf has messages alone, and {schema.type.name} is none: put the value into a "
            "struct, for example with the transform HoistField, or use another converter"
        )
    return _Source(options).of(schema)


@dataclass
class _Source:
    options: ProtobufOptions
    imports: dict[str, None] = field(default_factory=dict)
    named: dict[str, Schema] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    waiting: list[tuple[str, Schema]] = field(default_factory=list)

    def of(self, schema: Schema) -> str:
        package = (schema.name or "").rpartition(".")[0]
        self._message_name(schema)
        while self.waiting:
            name, part = self.waiting.pop(0)
            lines = [self._field(each, number + 1) for number, each in enumerate(part.fields)]
            self.messages.append("\n".join([f"message {name} {{", *lines, "}"]))
        head = ['syntax = "proto3";', *([f"package {package};"] if package else [])]
        imports = [f'import "{name}";' for name in self.imports]
        return "\n".join([*head, *imports, *self.messages]) + "\n"

    def _message_name(self, schema: Schema) -> str:
        plain = schema.but(optional=False, default=None)
        name = (schema.name or "").rpartition(".")[2]
        if not name:
            known = next((name for name, each in self.named.items() if each == plain), None)
            name = known or f"{DEFAULT_NAME}{len(self.named) + 1}"
        if name not in self.named:
            self.named[name] = plain
            self.waiting.append((name, schema))
        elif self.named[name] != plain:
            raise DataException(f"two structs are named {name}: a message has one meaning")
        return name

    def _field(self, each: Field, number: int) -> str:
        schema = each.schema
        if schema.type is Type.ARRAY:
            item = self._single(schema.item, "an array")
            return f"  repeated {item} {each.name} = {number}{self._said(schema.item)};"
        if schema.type is Type.MAP:
            key, item = _SCALARS.get(schema.key.type), self._single(schema.item, "a map")
            if key is None or schema.key.type in (Type.FLOAT32, Type.FLOAT64, Type.BYTES):
                raise DataException(f"{schema.key.type.name} cannot be the key of Protobuf's maps")
            return f"  map<{key}, {item}> {each.name} = {number};"
        kind = self._single(schema, "")
        if schema.optional and kind in _WRAPPERS and self.options.wrappers:
            self.imports["google/protobuf/wrappers.proto"] = None
            kind = f"google.protobuf.{_WRAPPERS[kind]}"
        label = "optional " if schema.optional and self.options.optionals else ""
        return f"  {label}{kind} {each.name} = {number}{self._said(schema)};"

    def _single(self, schema: Schema, within: str) -> str:
        if schema.type is Type.STRUCT:
            return self._message_name(schema)
        if schema.name in _LOGICAL:
            kind, source = _LOGICAL[schema.name]
            self.imports[source] = None
            return kind
        if schema.type in _SCALARS:
            return _SCALARS[schema.type]
        raise DataException(
            f"Protobuf has no {schema.type.name.lower()} in {within}: put it into a struct there"
        )

    def _said(self, schema: Schema) -> str:
        told = {}
        if schema.type in (Type.INT8, Type.INT16):
            told[CONNECT_TYPE] = schema.type.value
        if schema.name == schemas.DECIMAL:
            told[schemas.SCALE] = str(schema.scale)
        if not told:
            return ""
        self.imports["confluent/meta.proto"] = None
        pairs = ", ".join(f'{{ key: "{key}", value: "{text}" }}' for key, text in told.items())
        return f" [(confluent.field_meta) = {{ params: [ {pairs} ] }}]"


# --- from Protobuf ---


def schema_of(message: Any, options: ProtobufOptions) -> Schema:
    """The Connect schema of a message's descriptor."""
    return _Reader(options).message(message, ())


@dataclass(frozen=True, slots=True)
class _Reader:
    options: ProtobufOptions

    def message(self, descriptor: Any, path: tuple[str, ...]) -> Schema:
        name = descriptor.full_name
        if name in path:
            raise DataException(f"{name} contains itself, which no Connect schema can")
        fields = tuple(
            Field(each.name, self._field(each, (*path, name))) for each in descriptor.fields
        )
        unnamed = name.rpartition(".")[2].startswith(DEFAULT_NAME)
        return Schema(Type.STRUCT, name=None if unnamed else name, fields=fields)

    def _field(self, each: Any, path: tuple[str, ...]) -> Schema:
        if is_map(each):
            key, item = each.message_type.fields
            keys = self._single(key, path)
            made = schemas.map_of(keys, self._single(item, path))
        elif is_repeated(each):
            made = schemas.array(self._single(each, path))
        else:
            made = self._single(each, path)
            wrapped = self.options.wrappers and wrapper_of(each) is not None
            if self.options.optionals or self.options.wrappers:
                return made.but(optional=wrapped or has_optional(each))
        plain = not (self.options.optionals or self.options.wrappers)
        return made.but(optional=True) if plain and not is_required(each) else made

    def _single(self, each: Any, path: tuple[str, ...]) -> Schema:
        told = parameters_of(each)
        if each.message_type is not None:
            inner = wrapper_of(each) if self.options.wrappers else None
            if inner is not None:
                return self._single(inner, path)
            logical = _OF_MESSAGE.get(each.message_type.full_name)
            if logical == schemas.DECIMAL:
                return schemas.decimal(int(told.get(schemas.SCALE, "0")))
            if logical is not None:
                return _OF_LOGICAL[logical]
            return self.message(each.message_type, path)
        if each.enum_type is not None:
            symbols = {f"{ENUM}.{one.name}": str(one.number) for one in each.enum_type.values}
            return Schema(Type.STRING, parameters={ENUM: each.enum_type.name, **symbols})
        if told.get(CONNECT_TYPE) in (Type.INT8.value, Type.INT16.value):
            return Schema(Type(told[CONNECT_TYPE]))
        return _OF_SCALAR[each.cpp_type] if each.type != FieldDescriptor.TYPE_BYTES else _BYTES


def is_repeated(each: Any) -> bool:
    """Whether a field has many values."""
    return bool(each.is_repeated)


def is_required(each: Any) -> bool:
    """Whether a field must be there."""
    return bool(each.is_required)


def is_map(each: Any) -> bool:
    """Whether a field is a map."""
    kind = each.message_type
    return kind is not None and is_repeated(each) and kind.GetOptions().map_entry


def has_optional(each: Any) -> bool:
    """Whether a field says `optional`, or is one of several of which one is there."""
    return each.containing_oneof is not None


def wrapper_of(each: Any) -> Any:
    """The field inside of a wrapper message; None of any other."""
    kind = each.message_type
    known = kind is not None and kind.full_name.startswith("google.protobuf.")
    if known and kind.name in _WRAPPERS.values():
        return kind.fields[0]
    return None


_OF_MESSAGE: Final = {message: name for name, (message, _) in _LOGICAL.items()}
_OF_LOGICAL: Final = {
    schemas.DATE: schemas.date(),
    schemas.TIME: schemas.time(),
    schemas.TIMESTAMP: schemas.timestamp(),
}
_BYTES: Final = schemas.BYTES
_OF_SCALAR: Final = {
    FieldDescriptor.CPPTYPE_INT32: schemas.INT32,
    FieldDescriptor.CPPTYPE_INT64: schemas.INT64,
    FieldDescriptor.CPPTYPE_UINT32: schemas.INT64,
    FieldDescriptor.CPPTYPE_UINT64: schemas.INT64,
    FieldDescriptor.CPPTYPE_FLOAT: schemas.FLOAT32,
    FieldDescriptor.CPPTYPE_DOUBLE: schemas.FLOAT64,
    FieldDescriptor.CPPTYPE_BOOL: schemas.BOOLEAN,
    FieldDescriptor.CPPTYPE_STRING: schemas.STRING,
}
