"""Values in Java's words."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.java_text import (
    decimal_text,
    double_text,
    float32_of,
    float_text,
    text_of,
    to_float32,
)
from headrace.pipelines.connect.model.schema import Float32, Struct


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.25e-4, "-1.25E-4"),
        (12345678.9, "1.23456789E7"),
        (2e23, "2.0E23"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles(value: float, text: str) -> None:
    """As `Double.toString` of Java 19 and later prints them."""
    assert double_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (16777216.0, "1.6777216E7"),
        (1e10, "1.0E10"),
        (1.4e-45, "1.4E-45"),
        (3.4028234663852886e38, "3.4028235E38"),
        (float("nan"), "NaN"),
    ],
)
def test_floats(value: float, text: str) -> None:
    """As `Float.toString` prints them."""
    assert float_text(to_float32(value)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_read_back(value: float) -> None:
    assert float(double_text(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_float_is_read_back(value: float) -> None:
    assert float32_of(Decimal(float_text(value))) == value


def test_a_decimal_is_rounded_once() -> None:
    """Just above the middle between two floats; a double of it is the middle itself."""
    assert float32_of(Decimal("1.000000059604644775390625")) == 1.0
    assert float32_of(Decimal("3.4028235E38")) == 3.4028234663852886e38
    assert float32_of(Decimal("1.00000005960464477539062500001")) == 1.0000001192092896


def test_decimals() -> None:
    assert [decimal_text(Decimal(text)) for text in ("1.50", "1E+3", "1E-7", "-0.0")] == [
        "1.50",
        "1E+3",
        "1E-7",
        "0.0",
    ]


def test_containers() -> None:
    """Structs leave out nulls; maps, lists, moments and buffers look as Java prints them."""
    shape = schemas.struct({"a": schemas.FLOAT32, "b": schemas.OPTIONAL_STRING})
    narrow = to_float32(0.1)
    assert text_of(Struct(shape, [narrow, None])) == "Struct{a=0.1}"
    assert text_of({"k": [1, None, True], "x": Float32(narrow)}) == "{k=[1, null, true], x=0.1}"
    assert text_of(narrow) == "0.10000000149011612"
    assert text_of(b"abc") == "java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]"
    assert text_of(datetime.date(2024, 2, 29)) == "Thu Feb 29 00:00:00 UTC 2024"
    assert text_of(datetime.time(1, 2, 3)) == "Thu Jan 01 01:02:03 UTC 1970"
