"""Connect's schemas as data, and which Python values belong to them.

| Connect | Python |
|---|---|
| INT8 … INT64 | int |
| FLOAT32, FLOAT64 | float |
| BOOLEAN, STRING, BYTES | bool, str, bytes |
| ARRAY, MAP, STRUCT | list, dict, `Struct` |
| Decimal (BYTES) | decimal.Decimal |
| Date (INT32), Time (INT32) | datetime.date, datetime.time |
| Timestamp (INT64) | datetime.datetime in UTC |

Logical types are names of schemas, as in Connect. None stands for null.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Final

from headrace.pipelines.connect.faults import DataException, SchemaBuilderException


class Type(Enum):
    """The twelve types. A value is the type's name as Java prints it in lower case."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    @property
    def is_primitive(self) -> bool:
        """Whether values of the type have no parts."""
        return self not in _NESTED


_NESTED: Final = frozenset((Type.ARRAY, Type.MAP, Type.STRUCT))

INTEGER_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
SCALE: Final = "scale"  # the parameter of a Decimal

EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Float32(float):
    """A float of 32 bits where no schema says so: it is printed with fewer digits."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A named part of a struct."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """The type of a value, and what is said about it.

    `values` and `keys` are missing where the items of an array or map have no schema in common.
    """

    type: Type
    optional: bool = False
    default: object = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = None
    fields: tuple[Field, ...] = ()
    keys: Schema | None = None
    values: Schema | None = None

    def __post_init__(self) -> None:
        if self.type is Type.STRUCT and len(self.places) != len(self.fields):
            names = [field.name for field in self.fields]
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise SchemaBuilderException(
                f"Cannot create field because of field name duplication {twice}"
            )
        if self.default is not None:
            self._check_default()

    def _check_default(self) -> None:
        if isinstance(self.default, Struct) and self.default.schema.fields == self.fields:
            return  # its schema has no default, as it was made before this one
        try:
            check(self, self.default)
        except DataException as fault:
            raise SchemaBuilderException("Invalid default value") from fault

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Defaults and parameters need not be hashable: equal schemas still have equal hashes.
        return hash(
            (self.type, self.optional, self.name, self.version, self.fields, self.keys, self.values)
        )

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each field of a struct stands."""
        return {field.name: place for place, field in enumerate(self.fields)}

    @cached_property
    def has_defaults(self) -> bool:
        """Whether a field of a struct has a default."""
        return any(field.schema.default is not None for field in self.fields)

    def field(self, name: str) -> Field | None:
        """The field of that name, if the struct has one."""
        place = self.places.get(name)
        return None if place is None else self.fields[place]

    def but(self, **changes: object) -> Schema:
        """The same schema with other attributes."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def item(self) -> Schema:
        """The schema of an array's or a map's values; DataException if they have none in common."""
        if self.values is None:
            raise DataException(f"the values of this {self.type.name} have no schema in common")
        return self.values

    @property
    def key(self) -> Schema:
        """The schema of a map's keys; DataException if they have none in common."""
        if self.keys is None:
            raise DataException("the keys of this MAP have no schema in common")
        return self.keys

    @property
    def scale(self) -> int:
        """The scale of a Decimal."""
        try:
            return int((self.parameters or {})[SCALE])
        except (KeyError, ValueError) as error:
            raise DataException("Invalid Decimal schema: scale parameter not found.") from error


def struct(fields: Mapping[str, Schema] | Iterable[tuple[str, Schema]], **said: object) -> Schema:
    """A struct's schema of its fields, in their order."""
    pairs = fields.items() if isinstance(fields, Mapping) else fields
    made = tuple(Field(name, schema) for name, schema in pairs)
    return Schema(Type.STRUCT, fields=made).but(**said)


def array(item: Schema, **said: object) -> Schema:
    """The schema of an array."""
    return Schema(Type.ARRAY, values=item).but(**said)


def map_of(keys: Schema, values: Schema, **said: object) -> Schema:
    """The schema of a map."""
    return Schema(Type.MAP, keys=keys, values=values).but(**said)


def decimal(scale: int, **said: object) -> Schema:
    """The schema of decimal numbers with `scale` digits behind the point."""
    return Schema(Type.BYTES, name=DECIMAL, version=1, parameters={SCALE: str(scale)}).but(**said)


INT8: Final = Schema(Type.INT8)
INT16: Final = Schema(Type.INT16)
INT32: Final = Schema(Type.INT32)
INT64: Final = Schema(Type.INT64)
FLOAT32: Final = Schema(Type.FLOAT32)
FLOAT64: Final = Schema(Type.FLOAT64)
BOOLEAN: Final = Schema(Type.BOOLEAN)
STRING: Final = Schema(Type.STRING)
BYTES: Final = Schema(Type.BYTES)
OPTIONAL_STRING: Final = Schema(Type.STRING, optional=True)
OPTIONAL_BYTES: Final = Schema(Type.BYTES, optional=True)


def date(**said: object) -> Schema:
    """The schema of days."""
    return Schema(Type.INT32, name=DATE, version=1).but(**said)


def time(**said: object) -> Schema:
    """The schema of times of day, in milliseconds."""
    return Schema(Type.INT32, name=TIME, version=1).but(**said)


def timestamp(**said: object) -> Schema:
    """The schema of moments, in milliseconds."""
    return Schema(Type.INT64, name=TIMESTAMP, version=1).but(**said)


class Struct:
    """A struct's values, in the order of its schema's fields.

    `struct["name"]` is the field's value, or its schema's default where it is null, as in Connect;
    `struct.given("name")` is what was put there.
    """

    __slots__ = ("schema", "values")

    def __init__(self, schema: Schema, values: Iterable[object] | None = None) -> None:
        if schema.type is not Type.STRUCT:
            raise DataException(f"Not a struct schema: {schema.type.name}")
        self.schema = schema
        self.values: list[object] = [None] * len(schema.fields) if values is None else list(values)
        if len(self.values) != len(schema.fields):
            raise DataException(
                f"{len(self.values)} values for a struct of {len(schema.fields)} fields"
            )

    @classmethod
    def of(cls, schema: Schema, values: Mapping[str, object]) -> Struct:
        """The struct of named values; each must fit its field."""
        made = cls(schema)
        for name, value in values.items():
            made.put(name, value)
        return made

    def _place(self, name: str) -> int:
        place = self.schema.places.get(name)
        if place is None:
            raise DataException(f"{name} is not a valid field name")
        return place

    def __getitem__(self, name: str) -> object:
        place = self._place(name)
        value = self.values[place]
        return self.schema.fields[place].schema.default if value is None else value

    def given(self, name: str) -> object:
        """The field's value without its default."""
        return self.values[self._place(name)]

    def put(self, name: str, value: object) -> None:
        """Set a field; DataException if the value does not fit it."""
        place = self._place(name)
        check(self.schema.fields[place].schema, value, name)
        self.values[place] = value

    def validate(self) -> None:
        """DataException if a required field has no value."""
        for field, value in zip(self.schema.fields, self.values, strict=True):
            if value is None and (field.schema.optional or field.schema.default is not None):
                continue
            check(field.schema, value, field.name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        return self.schema == other.schema and self.values == other.values

    def __hash__(self) -> int:
        return hash((self.schema, *map(repr, self.values)))

    def __repr__(self) -> str:
        named = zip(self.schema.fields, self.values, strict=True)
        return f"Struct({', '.join(f'{field.name}={value!r}' for field, value in named)})"


def check(schema: Schema, value: object, field: str | None = None) -> None:
    """DataException unless `value` belongs to `schema`, parts of containers included."""
    if value is None:
        if schema.optional:
            return
        told = f'field: "{field}"' if field else "field"
        raise DataException(
            f"Invalid value: null used for required {told}, schema type: {schema.type.name}"
        )
    if not _LOGICAL.get(schema.name or "", _fits_type)(schema, value):
        named = f' "{schema.name}"' if schema.name else ""
        where = f' for field: "{field}"' if field else ""
        kind = type(value).__name__
        raise DataException(
            f"Invalid value for schema{named} with type {schema.type.name}: {kind}{where}"
        )
    if schema.type is Type.ARRAY and isinstance(value, list) and schema.values is not None:
        for item in value:
            check(schema.item, item, field)
    elif schema.type is Type.MAP and isinstance(value, dict) and schema.values is not None:
        for key, item in value.items():
            check(schema.key, key, field)
            check(schema.item, item, field)


def _fits_type(schema: Schema, value: object) -> bool:
    bits = INTEGER_BITS.get(schema.type)
    if bits is not None:
        return type(value) is int and -(1 << bits - 1) <= value < 1 << bits - 1
    if schema.type is Type.STRUCT:
        return isinstance(value, Struct) and (value.schema is schema or value.schema == schema)
    return isinstance(value, _CLASSES[schema.type])


_CLASSES: Final[Mapping[Type, type]] = {
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
    Type.ARRAY: list,
    Type.MAP: dict,
}

_LOGICAL: Final[Mapping[str, Callable[[Schema, object], bool]]] = {
    DECIMAL: lambda schema, value: isinstance(value, Decimal),
    DATE: lambda schema, value: type(value) is datetime.date,
    TIME: lambda schema, value: isinstance(value, datetime.time),
    TIMESTAMP: lambda schema, value: isinstance(value, datetime.datetime),
}
