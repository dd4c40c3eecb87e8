"""Logical types and what stands for them in bytes and numbers: Decimal, Date, Time, Timestamp.

Python's dates end with the years 1 and 9999, and its day has no 24:00; what Java can hold beyond
them is a DataException here.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Final

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.schema import EPOCH, Schema

MILLISECONDS_PER_DAY: Final = 86_400_000
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
_FIRST_DAY: Final = EPOCH.date()


def decimal_of(schema: Schema, data: bytes) -> Decimal:
    """The decimal whose unscaled value is in `data`, highest byte first."""
    if not data:
        raise DataException("a Decimal of no bytes: one byte at least holds its digits")
    return unscaled_decimal(int.from_bytes(data, "big", signed=True), schema.scale)


def unscaled_decimal(unscaled: int, scale: int) -> Decimal:
    """unscaled / 10 ** scale, with all digits."""
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def unscaled_of(schema: Schema, value: Decimal) -> int:
    """The unscaled value of a decimal that has the schema's scale; DataException if it has not."""
    sign, digits, exponent = value.as_tuple()
    scale = schema.scale
    if not isinstance(exponent, int):
        raise DataException(f"{value} has no digits: a Decimal is a finite number")
    if -exponent != scale:
        raise DataException(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {scale}, value has scale {-exponent}."
        )
    unscaled = int("".join(map(str, digits)))
    return -unscaled if sign else unscaled


def decimal_bytes(schema: Schema, value: Decimal) -> bytes:
    """The unscaled value in as few bytes as hold it, highest first."""
    unscaled = unscaled_of(schema, value)
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length() + 1
    return unscaled.to_bytes((bits + 7) // 8, "big", signed=True)


def date_of(days: int) -> datetime.date:
    """The day that is so many days after the first of 1970."""
    try:
        return _FIRST_DAY + datetime.timedelta(days=days)
    except OverflowError as error:
        raise DataException(f"day {days} is outside of the years 1 to 9999") from error


def days_of(value: datetime.date) -> int:
    """How many days after the first of 1970."""
    return (value - _FIRST_DAY).days


def time_of(milliseconds: int) -> datetime.time:
    """The time of day that is so many milliseconds after midnight."""
    if not 0 <= milliseconds < MILLISECONDS_PER_DAY:
        raise DataException(
            "Time values must use number of milliseconds greater than 0 and less than 86400000"
        )
    return (EPOCH + milliseconds * _MILLISECOND).time()


def milliseconds_of_day(value: datetime.time) -> int:
    """How many milliseconds after midnight."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def timestamp_of(milliseconds: int) -> datetime.datetime:
    """The moment that is so many milliseconds after the start of 1970."""
    try:
        return EPOCH + milliseconds * _MILLISECOND
    except OverflowError as error:
        told = f"{milliseconds} milliseconds after 1970 is outside of the years 1 to 9999"
        raise DataException(told) from error


def milliseconds_of(value: datetime.datetime) -> int:
    """How many milliseconds after the start of 1970."""
    return (value - EPOCH) // _MILLISECOND
