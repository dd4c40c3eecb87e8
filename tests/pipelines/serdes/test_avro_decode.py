"""Avro values become the columns that spark-avro would make of them, whatever the schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.pipelines.serdes.avro.decoder import Decoder
from headrace.pipelines.serdes.avro.program import compile_program
from headrace.pipelines.serdes.avro.schema import parse
from headrace.pipelines.serdes.spans import BadValue, spans_of
from tests.generated import examples
from tests.pipelines.serdes.avro_schemas import cases, write


def decode(
    values: Sequence[bytes | None], writer: Any, reader: Any = None, **options: Any
) -> tuple[pa.Array, list[BadValue]]:
    """The decoded array, and what was bad."""
    node = parse(json.dumps(writer))
    program = compile_program(
        node, node if reader is None else parse(json.dumps(reader)), **options
    )
    bad: list[BadValue] = []
    decoded = Decoder(program).decode(spans_of(pa.array(values, pa.binary())), bad.append)
    decoded.validate(full=True)
    return decoded, bad


@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_schema_and_value_as_fastavro_wrote_it(data: st.DataObject) -> None:
    """Every type, nested at will, comes back as it was written; null values stay null."""
    case = data.draw(cases())
    values = data.draw(st.lists(case.values, max_size=6))
    written: list[bytes | None] = [*write(case.schema, values), None]
    decoded, bad = decode(written, case.schema)
    assert bad == []
    assert decoded.to_pylist() == [*map(case.expected, values), None]


def test_types_are_those_of_spark_avro() -> None:
    """Nullable unions are their type, two widths of a number the wider, other unions a struct."""
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "optional", "type": ["null", "int"]},
            {"name": "wide", "type": ["int", "null", "long"]},
            {"name": "real", "type": ["double", "float"]},
            {"name": "either", "type": ["null", "string", "int", "bytes"]},
            {"name": "single", "type": ["string"]},
            {"name": "nothing", "type": "null"},
            {"name": "nanos", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
            {"name": "odd", "type": {"type": "int", "logicalType": "unheard-of"}},
            {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "long"}}},
        ],
    }
    node = parse(json.dumps(schema))
    members = pa.struct({"member0": pa.string(), "member1": pa.int32(), "member2": pa.binary()})
    tags = pa.list_(pa.field("element", pa.int64()))
    assert Decoder(compile_program(node, node)).type == pa.struct(
        {
            "optional": pa.int32(),
            "wide": pa.int64(),
            "real": pa.float64(),
            "either": members,
            "single": pa.string(),
            "nothing": pa.null(),
            "nanos": pa.int64(),
            "odd": pa.int32(),
            "tags": pa.map_(pa.string(), tags),
        }
    )


def test_stable_names_of_union_members() -> None:
    """With enableStableIdentifiersForUnionType the members are named after their types."""
    schema = [
        "null",
        "string",
        {"type": "record", "name": "a.Point", "fields": [{"name": "x", "type": "int"}]},
    ]
    decoded, bad = decode([b"\x02\x02a", b"\x04\x0a", b"\x00"], schema, union_prefix="member_")
    assert bad == []
    assert decoded.to_pylist() == [
        {"member_string": "a", "member_Point": None},
        {"member_string": None, "member_Point": {"x": 5}},
        None,
    ]


def test_blocks_with_their_size_in_bytes() -> None:
    """An array may come in several blocks, and a negative count is followed by the block's size."""
    raw = b"\x02\x0a" + b"\x03\x04\x0c\x0e" + b"\x00"
    decoded, bad = decode([raw], {"type": "array", "items": "long"})
    assert bad == []
    assert decoded.to_pylist() == [[5, 6, 7]]


def test_recursive_types_to_a_depth() -> None:
    """A record that contains itself is refused, or kept to recursiveFieldMaxDepth levels."""
    schema = {
        "type": "record",
        "name": "Node",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "next", "type": ["null", "Node"]},
            {"name": "after", "type": "int"},
        ],
    }
    nested: Any = None
    for number in range(30):
        nested = {"id": number, "next": nested, "after": -number}
    with pytest.raises(ConfigError, match=r"next: record Node contains itself.*MaxDepth"):
        decode([], schema)
    decoded, bad = decode(write(schema, [nested]), schema, recursion=2)
    assert bad == []
    assert decoded.to_pylist() == [
        {"id": 29, "next": {"id": 28, "after": -28}, "after": -29},
    ]


def test_room_grows_with_what_the_values_hold() -> None:
    """Defaults and items without bytes take more room than the input has; nothing is lost."""
    reader = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": {"type": "array", "items": "null"}},
            {"name": "text", "type": "string", "default": "x" * 3000},
        ],
    }
    writer = {"type": "record", "name": "R", "fields": reader["fields"][:1]}
    values = write(writer, [{"a": [None] * 5000}, {"a": []}, {"a": [None] * 1000}])
    decoded, bad = decode([*values], writer, reader)
    assert bad == []
    assert [len(each["a"]) for each in decoded.to_pylist()] == [5000, 0, 1000]
    assert decoded.field("text").to_pylist() == ["x" * 3000] * 3


def test_spans_are_the_seam_for_framed_values() -> None:
    """A decoder can be given what follows a prefix, and only some of the rows."""
    node = parse('"string"')
    decoder = Decoder(compile_program(node, node))
    spans = spans_of(pa.array([b"12345\x02a", b"12345\x04bc", None, b"123"], pa.binary()))
    bad: list[BadValue] = []
    chosen = np.array([True, False, True, True])
    assert decoder.decode(spans.after(5).only(chosen), bad.append).to_pylist() == ["a"] + [None] * 3
    assert [each.row for each in bad] == [3]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_slices_of_any_layout(kind: pa.DataType) -> None:
    """A slice of an array, with 32-bit or 64-bit offsets, is read at its own place."""
    node = parse('"string"')
    values = pa.array([b"\x02a", b"\x04bc", None, b"\x06def"], pa.binary()).cast(kind)
    decoder = Decoder(compile_program(node, node))
    bad: list[BadValue] = []
    assert decoder.decode(spans_of(values[1:]), bad.append).to_pylist() == ["bc", None, "def"]
    assert decoder.decode(spans_of(values[:0]), bad.append).to_pylist() == []
    assert bad == []
