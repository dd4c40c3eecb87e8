"""Bytes that are not what the schema promises: said precisely, and never a crash."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.pipelines.serdes.avro.encoder import encode
from headrace.pipelines.serdes.avro.schema import parse
from tests.generated import examples
from tests.pipelines.serdes.avro_schemas import cases, write
from tests.pipelines.serdes.test_avro_decode import decode

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "int"},
        {
            "name": "who",
            "type": {
                "type": "record",
                "name": "Who",
                "fields": [{"name": "name", "type": "string"}],
            },
        },
        {"name": "tags", "type": {"type": "array", "items": ["null", "boolean"]}},
        {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["A"]}},
        {
            "name": "sum",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1},
        },
    ],
}
GOOD = b"\x02" + b"\x02n" + b"\x02\x02\x01\x00" + b"\x00" + b"\x02\x05"


def test_the_good_value_is_good() -> None:
    """What the other tests spoil is valid."""
    decoded, bad = decode([GOOD], ORDER)
    assert bad == []
    assert decoded.field("who").to_pylist() == [{"name": "n"}]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "byte 0, field id: expected int, but the value ends before it"),
        (b"\x80", "byte 0, field id: expected int, but the value ends before it"),
        (b"\xff" * 11, "byte 0, field id: expected int, but the number has no end within 64 bits"),
        (
            b"\x80\x80\x80\x80\x10",
            "byte 0, field id: expected int, but the number is out of its range",
        ),
        (b"\x02\x01", "byte 1, field who.name: expected string, but the length is negative"),
        (b"\x02\x7e", "byte 1, field who.name: expected string, but the value ends before it"),
        (
            b"\x02\x04\xc3\x28",
            "byte 1, field who.name: expected string, but the bytes are not UTF-8",
        ),
        (
            b"\x02\x00\xfe\xff\x0f\x00\x00",
            "byte 2, field tags: expected array of union of null, boolean, "
            "but it claims more items than its bytes can hold",
        ),
        (
            b"\x02\x00\x02\x06",
            "byte 3, field tags[]: expected union of null, boolean, "
            "but the union has no such branch",
        ),
        (
            b"\x02\x00\x02\x02\x02",
            "byte 4, field tags[]: expected boolean, but the byte is neither 0 nor 1",
        ),
        (
            b"\x02\x00\x00\x02",
            "byte 3, field kind: expected enum K, but the enum has no such symbol",
        ),
        (
            b"\x02\x00\x00\x00\x04\x03\xe8",
            "byte 4, field sum: expected bytes (decimal), "
            "but the number has more digits than its precision",
        ),
        (GOOD + b"!", "byte 10: expected the end of the value, but more bytes follow"),
    ],
)
def test_what_is_said_of_a_bad_value(raw: bytes, message: str) -> None:
    """Position, field path, expectation and reason; good neighbours are not touched."""
    decoded, bad = decode([GOOD, raw, GOOD], ORDER)
    assert [(each.row, str(each)) for each in bad] == [(1, message)]
    assert decoded.is_valid().to_pylist() == [True, False, True]
    assert decoded[0] == decoded[2] == decode([GOOD], ORDER)[0][0]


def test_a_time_that_no_day_has() -> None:
    """Neither Spark nor Python has such a time: it is a bad value where it is decoded."""
    time = {"type": "long", "logicalType": "time-micros"}
    decoded, bad = decode(write("long", [86_399_999_999, 86_400_000_000, -1]), time)
    assert [str(each) for each in bad] == [
        "byte 0: expected long (time-micros), but the number is out of its range"
    ] * 2
    assert decoded.to_pylist() == [datetime.time(23, 59, 59, 999_999), None, None]


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_values_never_crash(data: st.DataObject) -> None:
    """Any damage gives a value or an error; the rows around it stay what they are."""
    case = data.draw(cases())
    [good] = write(case.schema, [data.draw(case.values)])
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        size = data.draw(st.integers(0, 3))
        damaged[at : at + size] = data.draw(st.binary(max_size=12))
    decoded, bad = decode([good, bytes(damaged), good], case.schema)
    assert all(each.row == 1 for each in bad)
    assert decoded[0] == decoded[2]


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_noise_never_crashes(data: st.DataObject) -> None:
    """Bytes that no writer made give a value or an error, also to a reader who skips them."""
    case = data.draw(cases())
    writer = {"type": "record", "name": "Outer", "fields": [{"name": "x", "type": case.schema}]}
    reader = {"type": "record", "name": "Outer", "fields": []}
    values: list[bytes | None] = [*data.draw(st.lists(st.binary(max_size=60), max_size=5))]
    decode(values, writer)
    decode(values, writer, reader)


def test_items_without_bytes_are_limited() -> None:
    """A few bytes cannot claim a billion nulls, read or skipped, in one block or many."""
    nulls = {"type": "array", "items": "null"}
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": nulls}]}
    empty = {"type": "record", "name": "R", "fields": []}
    many = b"\x80\x80\x80\x80\x80\x10"
    several = b"\xfe\xff\x07" * 10 + b"\x00"
    for raw in (many, several, b"\x01" + b"\xff" * 9 + b"\x01"):
        for reader in (record, empty):
            _, bad = decode([raw], record, reader)
            assert len(bad) == 1


def test_skipped_recursion_is_limited() -> None:
    """A recursive type that the reader skips is followed only so deep."""
    node: dict[str, Any] = {
        "type": "record",
        "name": "N",
        "fields": [{"name": "n", "type": ["null", "N"]}],
    }
    writer = {"type": "record", "name": "R", "fields": [{"name": "n", "type": node}]}
    reader = {"type": "record", "name": "R", "fields": []}
    decoded, bad = decode([b"\x02" * 100 + b"\x00", b"\x02" * 100_000 + b"\x00"], writer, reader)
    assert [each.row for each in bad] == [1]
    assert "nested more than" in str(bad[0])
    assert decoded.is_valid().to_pylist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("string", 'not valid JSON.* in quotes, as in "string"'),
        ("{}", "not valid"),
        ('{"type": "record", "fields": []}', "not valid"),
        ('{"type": "nonsense"}', "not valid"),
        ("[" * 100_000, "nested too deeply|not JSON"),
    ],
)
def test_schemas_that_cannot_be_used(text: str, message: str) -> None:
    """A broken schema is refused on the driver, in words."""
    with pytest.raises(ConfigError, match=message):
        parse(text)


def test_a_decimal_too_wide_for_spark() -> None:
    """It is rejected where it would become a column, and passed over where it would not."""
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 60}
    writer = {"type": "record", "name": "R", "fields": [{"name": "x", "type": wide}]}
    with pytest.raises(ConfigError, match="x is a decimal of precision 60"):
        decode([], writer)
    with pytest.raises(ConfigError, match="x is a decimal of precision 60"):
        encode(pa.array([{"x": 1}]), parse(json.dumps(writer)))
    assert decode([b"\x02\x01"], writer, {**writer, "fields": []})[0].to_pylist() == [{}]


def test_a_schema_too_wide_for_columns() -> None:
    """A schema that unfolds to very many columns is refused instead of eating the memory."""
    schema: Any = "int"
    for level in range(5):
        fields = [
            {"name": f"f{i}", "type": schema if i == 0 else schema_name(schema)} for i in range(10)
        ]
        schema = {"type": "record", "name": f"R{level}", "fields": fields}
    with pytest.raises(ConfigError, match="unfolds to more than"):
        decode([], schema)


def schema_name(schema: Any) -> Any:
    return schema if isinstance(schema, str) else schema["name"]


def test_nulls_only() -> None:
    """A batch of nulls is a batch of nulls."""
    decoded, bad = decode([None, None], ORDER)
    assert decoded.null_count == 2
    assert bad == []
    assert decode([], ORDER)[0].type == decoded.type
    assert pa.types.is_struct(decoded.type)
