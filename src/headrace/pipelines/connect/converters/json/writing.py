"""Values as JSON text, byte for byte as Jackson writes them for Connect. Knows no envelopes."""

from __future__ import annotations

import base64
import datetime
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Final

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


def text_of(schema: Schema | None, value: object, *, numeric: bool, defaults: bool) -> str:
    """The value as JSON. `numeric` writes decimals as numbers, `defaults` defaults for nulls."""
    if value is None:
        return _nothing(schema, numeric, defaults)
    if schema is None:
        return _plain_text(value, numeric, defaults)
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        return logical(schema, value, numeric)
    if isinstance(value, _CLASSES[schema.type]):
        if schema.type is Type.STRUCT:
            return _struct_text(schema, value, numeric, defaults)
        if schema.type is Type.ARRAY or schema.type is Type.MAP:
            return _container_text(schema, value, numeric, defaults)
        if schema.type is Type.FLOAT32 and isinstance(value, float):
            return _quoted_unless_finite(value, float_text)
        if isinstance(value, bool) is (schema.type is Type.BOOLEAN):
            return text_of_json(value)
    raise DataException(f"Invalid type for {schema.type.name}: {type(value).__name__}")


def _nothing(schema: Schema | None, numeric: bool, defaults: bool) -> str:
    if schema is None or (schema.optional and (schema.default is None or not defaults)):
        return "null"
    if schema.default is not None and defaults:
        return text_of(schema, schema.default, numeric=numeric, defaults=defaults)
    raise DataException(
        "Conversion error: null value for field that is required and has no default value"
    )


def _struct_text(schema: Schema, value: object, numeric: bool, defaults: bool) -> str:
    assert isinstance(value, Struct)
    if value.schema is not schema and value.schema != schema:
        raise DataException("Mismatching schema.")
    held = zip(schema.fields, value.values, strict=True)
    said = [
        f"{text_of_json(f.name)}:{text_of(f.schema, v, numeric=numeric, defaults=defaults)}"
        for f, v in held
    ]
    return f"{{{','.join(said)}}}"


def _container_text(schema: Schema | None, value: object, numeric: bool, defaults: bool) -> str:
    """A list or a dict; dicts whose keys are not strings are lists of pairs."""
    keys, items = (schema.keys, schema.values) if schema is not None else (None, None)
    if isinstance(value, list):
        said = [text_of(items, item, numeric=numeric, defaults=defaults) for item in value]
        return f"[{','.join(said)}]"
    assert isinstance(value, dict)
    pairs = [
        (
            text_of(keys, key, numeric=numeric, defaults=defaults),
            text_of(items, item, numeric=numeric, defaults=defaults),
        )
        for key, item in value.items()
    ]
    if keys.type is Type.STRING if keys is not None else all(isinstance(k, str) for k in value):
        return f"{{{','.join(f'{key}:{item}' for key, item in pairs)}}}"
    return f"[{','.join(f'[{key},{item}]' for key, item in pairs)}]"


def _plain_text(value: object, numeric: bool, defaults: bool) -> str:
    """A value without a schema."""
    if isinstance(value, list | dict):
        return _container_text(None, value, numeric, defaults)
    if isinstance(value, Struct):
        return _struct_text(value.schema, value, numeric, defaults)
    if isinstance(value, Float32):
        return _quoted_unless_finite(value, float_text)
    if isinstance(value, str | bytes | bool | int | float):
        return text_of_json(value)
    raise DataException(
        f"Java class {type(value).__name__} does not have corresponding schema type."
    )


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
