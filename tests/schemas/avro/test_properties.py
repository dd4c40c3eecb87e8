"""Held against fastavro: what is called compatible is read, and bytes mean the same to both."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import fastavro
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.schemas import avro
from headrace.schemas.model import InvalidValue
from tests.generated import examples
from tests.schemas.avro.generated import edited, schemas, value

THOROUGH = settings(
    max_examples=examples(250),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _read(data: bytes, writer: Any, reader: Any) -> tuple[Any, bytes]:
    stream = io.BytesIO(data)
    value = fastavro.schemaless_reader(
        stream, fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    )
    return value, stream.read()


@THOROUGH
@given(st.data())
def test_what_is_called_compatible_is_read(data: st.DataObject) -> None:
    """When no fault is found, fastavro reads every value of the writer with the reader."""
    writer = data.draw(schemas(), label="writer")
    reader = edited(data.draw, writer)
    parsed = avro.parse(json.dumps(writer))
    if avro.incompatibilities(avro.parse(json.dumps(reader)), parsed):
        return
    encoded = parsed.encode(value(data.draw, writer))
    _, rest = _read(encoded, writer, reader)
    assert rest == b""


@THOROUGH
@given(st.data())
def test_values_survive_the_way_to_bytes_and_back(data: st.DataObject) -> None:
    """Decoding gives the value that was encoded, and fastavro takes the same bytes to the end."""
    schema = data.draw(schemas(), label="schema")
    parsed = avro.parse(json.dumps(schema))
    before = value(data.draw, schema)
    encoded = parsed.encode(before)
    assert parsed.decode(encoded) == before
    _, rest = _read(encoded, schema, schema)
    assert rest == b""


@given(st.floats(width=32, allow_nan=False))
def test_a_float_has_its_fewest_digits(number: float) -> None:
    """A float is decoded to a number of at most nine digits that encodes to the same bytes."""
    schema = avro.parse('"float"')
    encoded = struct.pack("<f", number)
    decoded = schema.decode(encoded)
    assert schema.encode(decoded) == encoded
    assert isinstance(decoded, str) or float(f"{decoded:.9g}") == decoded


@THOROUGH
@given(st.data())
def test_fastavro_writes_the_same_bytes(data: st.DataObject) -> None:
    """What fastavro reads from our bytes, it writes as the same bytes again."""
    schema = data.draw(schemas().filter(lambda each: "[" not in json.dumps(_without_lists(each))))
    encoded = avro.parse(json.dumps(schema)).encode(value(data.draw, schema))
    datum, _ = _read(encoded, schema, schema)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), datum)
    assert out.getvalue() == encoded


def _without_lists(schema: Any) -> Any:
    """The schema with its fields and symbols as text, so that only unions are lists."""
    if isinstance(schema, list):
        return ["union"]
    if isinstance(schema, str):
        return schema
    return {
        key: (
            {field["name"]: _without_lists(field["type"]) for field in item}
            if key == "fields"
            else len(item)
            if key == "symbols"
            else _without_lists(item)
            if key in ("items", "values")
            else item
        )
        for key, item in schema.items()
    }


@given(schemas(), st.binary(max_size=60))
@THOROUGH
def test_any_bytes_are_a_value_or_an_invalid_one(schema: Any, data: bytes) -> None:
    """Bytes from outside decode to something that encodes again, or give InvalidValue."""
    parsed = avro.parse(json.dumps(schema))
    try:
        decoded = parsed.decode(data)
    except InvalidValue:
        return
    assert parsed.decode(parsed.encode(decoded)) == decoded
