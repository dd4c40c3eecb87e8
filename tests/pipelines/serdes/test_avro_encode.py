"""Arrow columns become Avro values that fastavro reads back."""

from __future__ import annotations

import decimal
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.serdes.avro.derivation import schema_of
from headrace.pipelines.serdes.avro.encoder import encode
from headrace.pipelines.serdes.avro.schema import parse
from tests.generated import examples
from tests.pipelines.serdes.avro_schemas import cases, read, write
from tests.pipelines.serdes.test_avro_decode import decode


@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_values_are_written_as_fastavro_writes_them(data: st.DataObject) -> None:
    """Decoded and encoded again, any value has the bytes that it had."""
    case = data.draw(cases())
    written: list[bytes | None] = [
        *write(case.schema, data.draw(st.lists(case.values, max_size=6)))
    ]
    written.append(None)
    decoded, bad = decode(written, case.schema)
    assert bad == []
    encoded = encode(decoded, parse(json.dumps(case.schema)))
    expected = [
        None if w is None or d is None else w
        for w, d in zip(written, decoded.to_pylist(), strict=True)
    ]
    assert encoded.to_pylist() == expected
    assert encode(decoded[1:], parse(json.dumps(case.schema))).to_pylist() == expected[1:]


def test_a_derived_schema_is_that_of_spark_avro() -> None:
    """Without a schema, what may be null is a union with null last, decimals are fixed."""
    kind = pa.struct(
        [
            pa.field("a", pa.int64(), nullable=False),
            pa.field("b", pa.string()),
            pa.field("c", pa.list_(pa.field("element", pa.int16(), nullable=False))),
            pa.field("d", pa.decimal128(5, 2), nullable=False),
            pa.field("t", pa.timestamp("us", "UTC"), nullable=False),
            pa.field("n", pa.struct([pa.field("x", pa.float32(), nullable=False)]), nullable=False),
            pa.field("m", pa.map_(pa.string(), pa.bool_()), nullable=False),
        ]
    )
    rows: list[dict[str, Any]] = [
        {
            "a": -1,
            "b": "x",
            "c": [1, 2],
            "d": decimal.Decimal("-1.50"),
            "t": 5,
            "n": {"x": 0.5},
            "m": [("k", None)],
        },
        {
            "a": 2,
            "b": None,
            "c": None,
            "d": decimal.Decimal("99.99"),
            "t": 6,
            "n": {"x": 1.5},
            "m": [],
        },
    ]
    schema = {
        "type": "record",
        "name": "topLevelRecord",
        "fields": [
            {"name": "a", "type": "long"},
            {"name": "b", "type": ["string", "null"]},
            {"name": "c", "type": [{"type": "array", "items": "int"}, "null"]},
            {
                "name": "d",
                "type": {
                    "type": "fixed",
                    "name": "d",
                    "size": 3,
                    "logicalType": "decimal",
                    "precision": 5,
                    "scale": 2,
                },
            },
            {"name": "t", "type": "long"},
            {
                "name": "n",
                "type": {"type": "record", "name": "n", "fields": [{"name": "x", "type": "float"}]},
            },
            {"name": "m", "type": {"type": "map", "values": ["boolean", "null"]}},
        ],
    }
    encoded = encode(pa.array(rows, kind), schema_of(kind)).to_pylist()
    wanted = [{**row, "m": dict(row["m"])} for row in rows]
    assert [read(each, schema) for each in encoded] == wanted


def test_fields_that_the_column_lacks() -> None:
    """A field takes its default, or null where the union allows it."""
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "d", "type": "string", "default": "x"},
            {"name": "n", "type": ["int", "null"]},
            {"name": "Id", "type": "int"},
        ],
    }
    [raw] = encode(pa.array([{"id": 3}]), parse(json.dumps(schema))).to_pylist()
    assert read(raw, schema) == {"d": "x", "n": None, "Id": 3}


def record(kind: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "x", "type": kind}]})


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([{"x": "a"}], "int", "x is string and cannot be written as int"),
        ([{"x": 1 << 40}], "int", "x is int64 and cannot be written as int"),
        ([{"y": 1}], "int", "no field x, and the schema gives it neither a default nor null"),
        ([{"x": 1, "y": 2}], "int", "has fields that record R has not: y"),
        ([{"x": 1}], ["int", "string"], "written from a struct of 2 members"),
        ([{"x": None}], "int", "cannot be written as int"),
    ],
)
def test_columns_that_do_not_suit_the_schema(values: list[Any], kind: Any, message: str) -> None:
    """A wrong type or set of fields is named."""
    with pytest.raises(ConfigError, match=message):
        encode(pa.array(values), parse(record(kind)))


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([{"x": 1}, {"x": None}], "int", "row 1 .*x is null.*union"),
        (
            [{"x": "A"}, {"x": "B"}],
            {"type": "enum", "name": "E", "symbols": ["A"]},
            "row 1 .*x is not a symbol",
        ),
        (
            [{"x": b"ab"}, {"x": b"a"}],
            {"type": "fixed", "name": "F", "size": 2},
            "row 1 .*x has not the size",
        ),
        (
            [{"x": {"member0": 1, "member1": None}}, {"x": {"member0": None, "member1": None}}],
            ["int", {"type": "array", "items": "int"}],
            "row 1 .*x has no member",
        ),
    ],
)
def test_values_that_do_not_suit_the_schema(values: list[Any], kind: Any, message: str) -> None:
    """A value that the schema has no form for stops the query with its row and field."""
    array = pa.array(values)
    if isinstance(kind, list):
        members = pa.struct({"member0": pa.int32(), "member1": pa.list_(pa.int32())})
        array = pa.array(values, pa.struct({"x": members}))
    with pytest.raises(CorruptData, match=message):
        encode(array, parse(record(kind)))


def test_the_output_grows() -> None:
    """Values longer than the first guess are written all the same."""
    values = ["x" * 10_000, None, "", "y" * 50_000] * 20
    encoded = encode(pa.array(values), parse('"string"'))
    assert decode(encoded.to_pylist(), "string")[0].to_pylist() == values
