"""One value as another type, as Connect's Cast does it."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.java_dates import date_text
from headrace.pipelines.connect.model.java_text import decimal_text, double_text, float_text
from headrace.pipelines.connect.model.logical import MILLISECONDS_PER_DAY as DAY_MS
from headrace.pipelines.connect.model.schema import INTEGER_BITS, Float32, Schema, Struct, Type
from headrace.pipelines.connect.transforms.java_numbers import (
    NotANumber,
    double_of,
    float_of,
    integer_of,
    is_not_zero,
    parsed_double,
    parsed_float,
    parsed_integer,
)
from headrace.pipelines.connect.transforms.moments import epoch_ms
from headrace.pipelines.connect.transforms.shapes import java_type

OUTPUTS: Final = tuple(type_ for type_ in Type if type_.is_primitive and type_ is not Type.BYTES)
_INPUTS: Final = (*OUTPUTS, Type.BYTES)
_TYPES: Final[Mapping[type, Type]] = {
    bool: Type.BOOLEAN,
    int: Type.INT64,
    float: Type.FLOAT64,
    Float32: Type.FLOAT32,
    str: Type.STRING,
    bytes: Type.BYTES,
    list: Type.ARRAY,
    dict: Type.MAP,
    Struct: Type.STRUCT,
}


def cast(value: object, schema: Schema | None, target: Type) -> object:
    """The value as `target`; without a schema its own type is taken. DataException if it cannot be.

    A float of 32 bits without a schema is a `Float32`.
    """
    if value is None:
        return None
    held = _TYPES.get(type(value)) if schema is None else schema.type
    if held is None:
        raise DataException(
            f"Cast transformation was passed a value of type class {java_type(value)} "
            "which is not supported by Connect's data API"
        )
    if held not in _INPUTS:
        raise DataException(
            f"Cast transformation does not support casting from {held.name}; "
            f"supported types are {listed(_INPUTS)}"
        )
    if target is Type.STRING:
        return _text(value, narrow=held is Type.FLOAT32)
    try:
        made = _MADE[target](_encoded(value, schema))
    except NotANumber:
        raise DataException(f"Value ({value}) was out of range for requested data type") from None
    if schema is None and target is Type.FLOAT32 and isinstance(made, float):
        return Float32(made)
    return made


def listed(types: tuple[Type, ...]) -> str:
    """Types as Java prints a set of them."""
    return f"[{', '.join(each.name for each in types)}]"


def _encoded(value: object, schema: Schema | None) -> object:
    """What a logical type holds: days, or milliseconds."""
    if schema is not None and isinstance(value, datetime.date | datetime.time):
        return epoch_ms(value) // (DAY_MS if schema.name == schemas.DATE else 1)
    return value


def _text(value: object, *, narrow: bool) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if narrow else double_text(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, datetime.date | datetime.time):
        return date_text(value)
    return str(value)


def _integer(bits: int) -> Callable[[object], object]:
    def made(value: object) -> int:
        if isinstance(value, int | float | Decimal):
            return integer_of(value, bits)
        if isinstance(value, str):
            return parsed_integer(value, bits)
        raise _unexpected(value)

    return made


def _double(value: object) -> float:
    if isinstance(value, int | float | Decimal):
        return double_of(value)
    if isinstance(value, str):
        return parsed_double(value)
    raise _unexpected(value)


def _float(value: object) -> float:
    if isinstance(value, int | float | Decimal):
        return float_of(value)
    if isinstance(value, str):
        return parsed_float(value)
    raise _unexpected(value)


def _boolean(value: object) -> bool:
    if isinstance(value, int | float | Decimal):
        return is_not_zero(value)
    if isinstance(value, str):
        return value.lower() == "true"
    raise _unexpected(value)


def _unexpected(value: object) -> DataException:
    return DataException(f"Unexpected type in Cast transformation: class {java_type(value)}")


_MADE: Final[Mapping[Type, Callable[[object], object]]] = {
    Type.FLOAT32: _float,
    Type.FLOAT64: _double,
    Type.BOOLEAN: _boolean,
    **{type_: _integer(bits) for type_, bits in INTEGER_BITS.items()},
}
