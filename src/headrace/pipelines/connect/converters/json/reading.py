"""Parsed JSON as values of a schema, as lenient as Connect is: text is 0 where a number is due.

Without a schema objects are dicts, whole numbers wrap into 64 bits, others are floats. Knows
nothing of envelopes.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, Decimal
from typing import Final, TypeAlias

from headrace.pipelines.connect.converters.json.parsing import MISSING, Json, Missing, kind_of
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.java_text import float32_of
from headrace.pipelines.connect.model.logical import (
    date_of,
    decimal_of,
    time_of,
    timestamp_of,
)
from headrace.pipelines.connect.model.schema import Schema, Struct, Type, check

Read: TypeAlias = "Callable[[Json | Missing], object]"
"""The value that JSON says."""


def value_of(schema: Schema | None, given: Json | Missing, *, defaults: bool) -> object:
    """One value that JSON says; `reader_of` is for many."""
    return reader_of(schema, defaults=defaults)(given)


def reader_of(schema: Schema | None, *, defaults: bool) -> Read:
    """What reads values of a schema. With `defaults` a null stands for the schema's default."""
    if schema is None:
        return plain_value
    some = _reader_of_some(schema, defaults)
    default = schema.default if defaults else None

    def read(given: Json | Missing) -> object:
        if given is not None:
            return some(given)
        if default is None and not schema.optional:
            raise DataException(f"Invalid null value for required {schema.type.name} field")
        return default

    return read


def _reader_of_some(schema: Schema, defaults: bool) -> Read:
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        return lambda given: logical(schema, given)
    if schema.type is Type.STRUCT:
        return _struct_reader(schema, defaults)
    if schema.type is Type.ARRAY:
        item = reader_of(schema.item, defaults=defaults)
        return lambda given: [item(part) for part in _items(given)]
    if schema.type is Type.MAP:
        return _map_reader(schema, defaults)
    return _PRIMITIVE[schema.type]


def plain_value(given: Json | Missing) -> object:
    """The value that JSON says where there is no schema."""
    if isinstance(given, dict):
        return {name: plain_value(item) for name, item in given.items()}
    if isinstance(given, list):
        return [plain_value(item) for item in given]
    if isinstance(given, Decimal):
        return _double(given)
    if isinstance(given, int) and not isinstance(given, bool):
        return as_int64(given)
    return None if given is MISSING else given


def _items(given: Json | Missing) -> list[Json]:
    if isinstance(given, dict):
        return list(given.values())
    return given if isinstance(given, list) else []


def _struct_reader(schema: Schema, defaults: bool) -> Read:
    # What a reader of a simple type gives fits it, unless it is null.
    parts = [
        (field, reader_of(field.schema, defaults=defaults), field.schema.type.is_primitive)
        for field in schema.fields
    ]

    def read(given: Json | Missing) -> Struct:
        if not isinstance(given, dict):
            found = kind_of(given)
            raise DataException(f"Structs should be encoded as JSON objects, but found {found}")
        values = []
        for field, part, simple in parts:
            value = part(given.get(field.name))
            if value is None or not simple:
                check(field.schema, value, field.name)
            values.append(value)
        return Struct(schema, values)

    return read


def _map_reader(schema: Schema, defaults: bool) -> Read:
    keys = reader_of(schema.key, defaults=defaults)
    items = reader_of(schema.item, defaults=defaults)

    def read_object(given: Json | Missing) -> dict[object, object]:
        if not isinstance(given, dict):
            found = kind_of(given)
            raise DataException(
                f"Maps with string fields should be encoded as JSON objects, but found {found}"
            )
        return {name: items(item) for name, item in given.items()}

    def read_pairs(given: Json | Missing) -> dict[object, object]:
        if not isinstance(given, list):
            raise DataException(
                "Maps with non-string fields should be encoded as JSON array of tuples, "
                f"but found {kind_of(given)}"
            )
        made: dict[object, object] = {}
        for entry in given:
            if not isinstance(entry, list):
                found = kind_of(entry)
                raise DataException(f"Found invalid map entry instead of array tuple: {found}")
            if len(entry) != 2:
                raise DataException(
                    f"Found invalid map entry, expected length 2 but found :{len(entry)}"
                )
            made[keys(entry[0])] = items(entry[1])
        return made

    return read_object if schema.key.type is Type.STRING else read_pairs


# --- primitive types ---

_ALL_ZERO: Final = 64


def _wrapped(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return (number + half & (1 << bits) - 1) - half


def as_int32(number: int) -> int:
    """What Java keeps of a whole number in 32 bits."""
    return _wrapped(number, 32)


def as_int64(number: int) -> int:
    """What Java keeps of a whole number in 64 bits."""
    return _wrapped(number, 64)


def _integer(bits: int) -> Callable[[Json | Missing], int]:
    def made(given: Json | Missing) -> int:
        if isinstance(given, Decimal):
            # The lower 64 bits of so large a number are all 0.
            huge = given.adjusted() - len(given.as_tuple().digits) >= _ALL_ZERO
            given = 0 if huge else int(given.to_integral_value(ROUND_DOWN))
        if isinstance(given, bool) or not isinstance(given, int):
            return 0
        return _wrapped(given, bits)

    return made


def _double(number: Decimal) -> float:
    return 0.0 if number.is_zero() else float(number)  # a BigDecimal has no zero below zero


def _float64(given: Json | Missing) -> float:
    if isinstance(given, bool) or not isinstance(given, int | Decimal):
        return 0.0
    return _double(Decimal(given))


def _float32(given: Json | Missing) -> float:
    if isinstance(given, bool) or not isinstance(given, int | Decimal):
        return 0.0
    return 0.0 if given == 0 else float32_of(Decimal(given))


def _bytes(given: Json | Missing) -> bytes | None:
    if not isinstance(given, str):
        return None
    try:
        return base64_of(given)
    except ValueError as error:
        raise DataException("Invalid bytes field") from error


def base64_of(text: str) -> bytes:
    """The bytes of base64 text; ValueError if it is none."""
    return binascii.a2b_base64(text.strip(" "), strict_mode=True)


_PRIMITIVE: Final[Mapping[Type, Callable[[Json | Missing], object]]] = {
    Type.INT8: _integer(8),
    Type.INT16: _integer(16),
    Type.INT32: _integer(32),
    Type.INT64: _integer(64),
    Type.FLOAT32: _float32,
    Type.FLOAT64: _float64,
    Type.BOOLEAN: lambda given: given is True,
    Type.STRING: lambda given: given if isinstance(given, str) else None,
    Type.BYTES: _bytes,
}


# --- logical types ---


def _decimal(schema: Schema, given: Json | Missing) -> Decimal:
    if isinstance(given, int | Decimal) and not isinstance(given, bool):
        return Decimal(given)
    if isinstance(given, str):
        try:
            return decimal_of(schema, base64_of(given))
        except (ValueError, DataException) as error:
            raise DataException("Invalid bytes for Decimal field") from error
    raise DataException(
        "Invalid type for Decimal, underlying representation should be numeric or bytes "
        f"but was {kind_of(given)}"
    )


def _whole(given: Json | Missing, named: str, expected: str, bits: int) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        if bits == 64:
            return as_int64(given)
        if _wrapped(given, bits) == given:
            return given
    raise DataException(
        f"Invalid type for {named}, underlying representation should be {expected} "
        f"but was {kind_of(given)}"
    )


_LOGICAL: Final[Mapping[str, Callable[[Schema, Json | Missing], object]]] = {
    schemas.DECIMAL: _decimal,
    schemas.DATE: lambda schema, given: date_of(_whole(given, "Date", "integer", 32)),
    schemas.TIME: lambda schema, given: time_of(_whole(given, "Time", "integer", 32)),
    schemas.TIMESTAMP: lambda schema, given: timestamp_of(
        _whole(given, "Timestamp", "integral", 64)
    ),
}
