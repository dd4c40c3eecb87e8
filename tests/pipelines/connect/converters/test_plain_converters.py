"""Text, bytes, numbers and truth values: by record as Kafka's, by column as by record."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.connect.converters import numbers
from headrace.pipelines.connect.converters.bytes_ import ByteArrayConverter
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.string import StringConverter
from headrace.pipelines.connect.faults import SerializationException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Float32, Schema, Struct, Type
from tests.pipelines.connect.converters import agreement, columns, generating
from tests.pipelines.connect.converters.oracle import Oracle

pytestmark = pytest.mark.timeout(900)  # for `make thorough`, which draws far more


VALUE = {"converter.type": "value"}
RUNTIME = "org.apache.kafka.connect.converters."
STRING = "org.apache.kafka.connect.storage.StringConverter"
NUMBERS: dict[str, Converter] = {
    f"{RUNTIME}{kind.__name__}": kind(VALUE)
    for kind in (
        numbers.ShortConverter,
        numbers.IntegerConverter,
        numbers.LongConverter,
        numbers.FloatConverter,
        numbers.DoubleConverter,
        numbers.BooleanConverter,
        ByteArrayConverter,
    )
}
# Of floats Java 17 prints digits too many, which StringConverter's bytes would show.
STEADY = st.sampled_from([0.0, -0.0, 1.5, 0.1, 1e10, -2.5e-5, 123456.789, float("inf")])


@generating.cases(100)
@given(
    st.sampled_from(sorted(NUMBERS)),
    generating.with_values(generating.some_schemas(nested=False)),
)
def test_numbers_are_written_alike(
    oracle: Oracle, java_class: str, case: tuple[Schema, Any]
) -> None:
    """Also values of other types, which all of them reject."""
    agreement.check_encoding(oracle, java_class, NUMBERS[java_class], *case)


@generating.cases(200)
@given(st.sampled_from(sorted(NUMBERS)), st.none() | st.binary(max_size=9))
def test_numbers_are_read_alike(oracle: Oracle, java_class: str, data: bytes | None) -> None:
    agreement.check_decoding(oracle, java_class, NUMBERS[java_class], data)


@generating.cases(100)
@given(
    st.sampled_from(sorted(NUMBERS)),
    st.integers(0, 8).flatmap(lambda n: st.lists(st.binary(min_size=n, max_size=n), max_size=5)),
    st.booleans(),
)
def test_numbers_by_columns(java_class: str, rows: list[bytes | None], gap: bool) -> None:
    columns.check_decoding(NUMBERS[java_class], [*rows, None] if gap else rows)


@generating.cases(50)
@given(
    st.sampled_from(sorted(NUMBERS)),
    generating.some_schemas(nested=False).flatmap(
        lambda schema: st.tuples(st.just(schema), st.lists(generating.values(schema), max_size=5))
    ),
)
def test_columns_of_numbers(java_class: str, case: tuple[Schema, list[Any]]) -> None:
    columns.check_encoding(NUMBERS[java_class], *case)


BYTEWISE = st.sampled_from(["UTF-8", "ISO-8859-1", "US-ASCII"])
ENCODINGS = st.sampled_from(["UTF-8", "ISO-8859-1", "US-ASCII", "UTF-16", "UTF-16LE"])


def text(encoding: str) -> StringConverter:
    return StringConverter(VALUE | {"converter.encoding": encoding})


@generating.cases(150)
@given(generating.TEXTS | st.text(max_size=5), ENCODINGS)
def test_text_is_written_alike(oracle: Oracle, value: str, encoding: str) -> None:
    config = {"converter.encoding": encoding}
    agreement.check_encoding(oracle, STRING, text(encoding), schemas.STRING, value, config)
    data = text(encoding).encode("topic", schemas.STRING, value)
    agreement.check_decoding(oracle, STRING, text(encoding), data, config)


@generating.cases(150)
@given(st.none() | st.binary(max_size=9), BYTEWISE)
def test_text_is_read_alike(oracle: Oracle, data: bytes | None, encoding: str) -> None:
    agreement.check_decoding(oracle, STRING, text(encoding), data, {"converter.encoding": encoding})


def test_an_unknown_character_set(oracle: Oracle) -> None:
    """Rejected when the converter is configured, under Kafka's name for it."""
    with pytest.raises(SerializationException, match="Unsupported encoding none"):
        text("none")
    theirs = oracle.decode(STRING, b"", {"converter.encoding": "none"})
    assert theirs["fault"] == SerializationException.java_class


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | STEADY | generating.TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(generating.TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)


@generating.cases(100)
@given(PLAIN)
def test_values_as_text(oracle: Oracle, value: Any) -> None:
    """Of any shape, as `toString` prints them."""
    agreement.check_encoding(oracle, STRING, text("UTF-8"), None, value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (schemas.date(), datetime.date(1969, 12, 31)),
        (schemas.time(), datetime.time(23, 59, 59)),
        (schemas.timestamp(), datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC)),
        (schemas.FLOAT32, 0.10000000149011612),
        (None, Float32(0.10000000149011612)),
        (schemas.array(schemas.FLOAT32), [0.10000000149011612]),
        (schemas.decimal(2), Decimal("1.50")),
    ],
)
def test_logical_types_as_text(oracle: Oracle, schema: Schema | None, value: object) -> None:
    agreement.check_encoding(oracle, STRING, text("UTF-8"), schema, value)


def test_structs_as_text(oracle: Oracle) -> None:
    inner = schemas.struct({"x": schemas.FLOAT32})
    shape = schemas.struct({"a": schemas.OPTIONAL_STRING, "b": inner, "c": Schema(Type.BOOLEAN)})
    value = Struct(shape, [None, Struct(inner, [0.5]), True])
    agreement.check_encoding(oracle, STRING, text("UTF-8"), shape, value)


@generating.cases(50)
@given(st.lists(st.none() | st.binary(max_size=4) | generating.TEXTS.map(str.encode), max_size=6))
def test_text_by_columns(rows: list[bytes | None]) -> None:
    columns.check_decoding(text("UTF-8"), rows)
    columns.check_decoding(text("ISO-8859-1"), rows)


@generating.cases(50)
@given(st.lists(st.none() | generating.TEXTS, max_size=6))
def test_columns_of_text(rows: list[str | None]) -> None:
    columns.check_encoding(text("UTF-8"), schemas.OPTIONAL_STRING, rows)
    columns.check_encoding(text("UTF-16"), schemas.OPTIONAL_STRING, rows)
