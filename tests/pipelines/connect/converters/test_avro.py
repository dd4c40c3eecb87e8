"""Connect's schemas and values as Avro's, and back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.pipelines.connect.converters.registry import avro_schemas
from headrace.pipelines.connect.converters.registry.avro_schemas import AvroOptions
from headrace.pipelines.connect.converters.registry.avro_values import from_avro, to_avro
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from headrace.schemas import avro
from tests.pipelines.connect.converters import generating
from tests.pipelines.connect.converters.oracle import shown_schema, shown_value

pytestmark = pytest.mark.timeout(900)  # for `make thorough`, which draws far more


NAMES = st.text("abcXYZ_", min_size=1, max_size=4)
ALL = AvroOptions()


def names_in(schema: Schema) -> Iterator[str]:
    """The names that records would have."""
    if schema.name is not None and not schema.type.is_primitive:
        yield schema.name
    for part in (*(field.schema for field in schema.fields), schema.keys, schema.values):
        if part is not None:
            yield from names_in(part)


@generating.cases(50)
@given(generating.with_values(generating.some_schemas(names=NAMES)))
def test_there_and_back(case: tuple[Schema, Any]) -> None:
    """Nothing is lost, of a schema or of a value."""
    schema, value = case
    assume(max(Counter(names_in(schema)).values(), default=0) < 2)
    parsed = avro.parse(avro_schemas.text_of(schema, ALL), check_defaults=True)
    again = avro_schemas.schema_of(parsed.root, ALL)
    assert shown_schema(again) == shown_schema(schema)
    data = parsed.encode(to_avro(parsed.root, schema, value))
    given_: Any = parsed.decode(data)
    read = from_avro(parsed.root, again, given_)
    assert shown_value(again, read) == shown_value(schema, with_defaults(schema, value))


def with_defaults(schema: Schema, value: Any) -> Any:
    """The value in which a null is its default, as it is written."""
    if value is None:
        return None if schema.default is None else with_defaults(schema, schema.default)
    if isinstance(value, Struct):
        held = zip(schema.fields, value.values, strict=True)
        return Struct(schema, [with_defaults(field.schema, item) for field, item in held])
    if isinstance(value, list):
        return [with_defaults(schema.item, item) for item in value]
    if isinstance(value, dict):
        return {key: with_defaults(schema.item, item) for key, item in value.items()}
    return value


def as_avro(schema: Schema, options: AvroOptions = ALL) -> Any:
    return json.loads(avro_schemas.text_of(schema, options))


def test_the_documented_forms() -> None:
    """As Confluent's converter writes them."""
    assert as_avro(Schema(Type.INT8)) == {"type": "int", "connect.type": "int8"}
    assert as_avro(schemas.OPTIONAL_STRING) == ["null", "string"]
    assert as_avro(schemas.STRING.but(optional=True, default="x")) == [
        {"type": "string", "connect.default": "x"},
        "null",
    ]
    assert as_avro(schemas.decimal(2)) == {
        "type": "bytes",
        "logicalType": "decimal",
        "precision": 64,
        "scale": 2,
        "connect.version": 1,
        "connect.parameters": {"scale": "2"},
        "connect.name": schemas.DECIMAL,
    }
    assert as_avro(schemas.date(), AvroOptions(metadata=False)) == {
        "type": "int",
        "logicalType": "date",
    }
    shape = schemas.struct({"a": schemas.INT64, "b": schemas.OPTIONAL_STRING}, name="acme.Order")
    assert as_avro(shape) == {
        "type": "record",
        "name": "Order",
        "namespace": "acme",
        "fields": [
            {"name": "a", "type": "long"},
            {"name": "b", "type": ["null", "string"], "default": None},
        ],
        "connect.name": "acme.Order",
    }
    assert as_avro(schemas.struct({}))["name"] == "ConnectDefault"


@pytest.mark.parametrize("enhanced", [True, False])
def test_unions_and_enums(enhanced: bool) -> None:
    """A union is a struct of optional fields, an enum a string that knows its symbols."""
    text = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {
                    "name": "u",
                    "type": ["null", "int", {"type": "record", "name": "n.S", "fields": []}],
                },
                {"name": "e", "type": {"type": "enum", "name": "n.E", "symbols": ["A", "B"]}},
                {"name": "f", "type": {"type": "fixed", "name": "n.F", "size": 2}},
            ],
        }
    )
    parsed = avro.parse(text)
    options = AvroOptions(enhanced=enhanced)
    schema = avro_schemas.schema_of(parsed.root, options)
    union = schema.fields[0].schema
    assert [field.name for field in union.fields] == ["int", "n.S" if enhanced else "S"]
    assert union.optional
    assert (schema.fields[1].schema.parameters or {})[f"{avro_schemas.ENUM}.A"] == "A"
    wires: list[Any] = [{"int": 5}, {"n.S": {}}, None]
    for wire in wires:
        read: Any = {"u": wire, "e": "B", "f": "ab"}
        value = from_avro(parsed.root, schema, read)
        assert to_avro(parsed.root, schema, value) == read
