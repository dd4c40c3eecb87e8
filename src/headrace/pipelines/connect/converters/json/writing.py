"""Values as JSON text, byte for byte as Jackson writes them for Connect. Knows no envelopes."""

from __future__ import annotations

import base64
import datetime
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Final, TypeAlias

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.java_text import decimal_text, double_text, float_text
from headrace.pipelines.connect.model.logical import (
    days_of,
    decimal_bytes,
    milliseconds_of,
    milliseconds_of_day,
)
from headrace.pipelines.connect.model.schema import Float32, Schema, Struct, Type

Write: TypeAlias = Callable[[object], str]
"""The JSON text of a value."""


def text_of(schema: Schema | None, value: object, *, numeric: bool, defaults: bool) -> str:
    """One value as JSON; `writer_of` is for many."""
    return writer_of(schema, numeric=numeric, defaults=defaults)(value)


def writer_of(schema: Schema | None, *, numeric: bool, defaults: bool) -> Write:
    """What writes values of a schema. `numeric` writes decimals as numbers, `defaults` writes
    defaults for nulls."""
    if schema is None:
        return _plain_writer(numeric, defaults)
    some = _writer_of_some(schema, numeric, defaults)
    if schema.default is not None and defaults:
        default = schema.default
        return lambda value: some(default if value is None else value)
    nothing = "null" if schema.optional else None

    def write(value: object) -> str:
        if value is not None:
            return some(value)
        if nothing is None:
            raise DataException(
                "Conversion error: null value for field that is required and has no default value"
            )
        return nothing

    return write


def _writer_of_some(schema: Schema, numeric: bool, defaults: bool) -> Write:
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        return lambda value: logical(schema, value, numeric)
    if schema.type is Type.STRUCT:
        return _struct_writer(schema, numeric, defaults)
    if schema.type is Type.ARRAY or schema.type is Type.MAP:
        keys = writer_of(schema.keys, numeric=numeric, defaults=defaults)
        items = writer_of(schema.values, numeric=numeric, defaults=defaults)
        named = None if schema.keys is None else schema.keys.type is Type.STRING
        return _checked(schema, lambda value: _container_text(value, keys, items, named))
    if schema.type is Type.FLOAT32:
        return _checked(schema, _float32)
    return _checked(schema, text_of_json)


def _checked(schema: Schema, text: Write) -> Write:
    expected, boolean = _CLASSES[schema.type], schema.type is Type.BOOLEAN

    def write(value: object) -> str:
        if not isinstance(value, expected) or (isinstance(value, bool) and not boolean):
            raise DataException(f"Invalid type for {schema.type.name}: {type(value).__name__}")
        return text(value)

    return write


def _struct_writer(schema: Schema, numeric: bool, defaults: bool) -> Write:
    heads = [f"{_string(field.name)}:" for field in schema.fields]
    writers = [
        writer_of(field.schema, numeric=numeric, defaults=defaults) for field in schema.fields
    ]

    def write(value: object) -> str:
        if not isinstance(value, Struct):
            raise DataException(f"Invalid type for STRUCT: {type(value).__name__}")
        if value.schema is not schema and value.schema != schema:
            raise DataException("Mismatching schema.")
        held = zip(heads, writers, value.values, strict=True)
        return f"{{{','.join([head + text(item) for head, text, item in held])}}}"

    return write


def _container_text(value: object, keys: Write, items: Write, named: bool | None) -> str:
    """A list or a dict; dicts whose keys are not strings are lists of pairs."""
    if isinstance(value, list):
        return f"[{','.join(map(items, value))}]"
    assert isinstance(value, dict)
    pairs = [(keys(key), items(item)) for key, item in value.items()]
    if all(isinstance(key, str) for key in value) if named is None else named:
        return f"{{{','.join([f'{key}:{item}' for key, item in pairs])}}}"
    return f"[{','.join([f'[{key},{item}]' for key, item in pairs])}]"


def _plain_writer(numeric: bool, defaults: bool) -> Write:
    """What writes values without a schema."""

    def write(value: object) -> str:
        if value is None:
            return "null"
        if isinstance(value, list | dict):
            return _container_text(value, write, write, None)
        if isinstance(value, Struct):
            return text_of(value.schema, value, numeric=numeric, defaults=defaults)
        if isinstance(value, Float32):
            return _float32(value)
        if isinstance(value, str | bytes | bool | int | float):
            return text_of_json(value)
        raise DataException(
            f"Java class {type(value).__name__} does not have corresponding schema type."
        )

    return write


def _float32(value: object) -> str:
    assert isinstance(value, float)
    return _quoted_unless_finite(value, float_text)


def text_of_json(value: object) -> str:
    """Text, a number, a truth value, bytes or an object of texts, in Jackson's spelling."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float):
        return _quoted_unless_finite(value, double_text)
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    if isinstance(value, dict):
        return f"{{{','.join(f'{_string(k)}:{text_of_json(v)}' for k, v in value.items())}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_ESCAPED_LOWER: Final = re.compile(r"\\\\|\\u00[01][0-9a-f]|\x7f")


def _string(text: str) -> str:
    quoted = encode_basestring(text)
    return quoted if "\\u00" not in quoted else _ESCAPED_LOWER.sub(_upper_hex, quoted)


def _upper_hex(found: re.Match[str]) -> str:
    escape = found[0]
    return f"\\u{escape[2:].upper()}" if escape.startswith("\\u") else escape


def _quoted_unless_finite(value: float, text: Callable[[float], str]) -> str:
    return text(value) if math.isfinite(value) else f'"{text(value)}"'


_CLASSES: Final[Mapping[Type, type]] = {
    Type.INT8: int,
    Type.INT16: int,
    Type.INT32: int,
    Type.INT64: int,
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
    Type.ARRAY: list,
    Type.MAP: dict,
    Type.STRUCT: Struct,
}


# --- logical types ---


def _decimal(schema: Schema, value: object, numeric: bool) -> str:
    if not isinstance(value, Decimal):
        raise _unlike("Decimal", "BigDecimal", value)
    return decimal_text(value) if numeric else text_of_json(decimal_bytes(schema, value))


def _date(schema: Schema, value: object, numeric: bool) -> str:
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        raise _unlike("Date", "Date", value)
    return str(days_of(value))


def _time(schema: Schema, value: object, numeric: bool) -> str:
    if not isinstance(value, datetime.time):
        raise _unlike("Time", "Date", value)
    return str(milliseconds_of_day(value))


def _timestamp(schema: Schema, value: object, numeric: bool) -> str:
    if not isinstance(value, datetime.datetime):
        raise _unlike("Timestamp", "Date", value)
    return str(milliseconds_of(value))


def _unlike(name: str, expected: str, value: object) -> DataException:
    found = type(value).__name__
    return DataException(f"Invalid type for {name}, expected {expected} but was {found}")


_LOGICAL: Final[Mapping[str, Callable[[Schema, object, bool], str]]] = {
    schemas.DECIMAL: _decimal,
    schemas.DATE: _date,
    schemas.TIME: _time,
    schemas.TIMESTAMP: _timestamp,
}
