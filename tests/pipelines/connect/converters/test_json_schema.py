"""Connect's schemas and values as JSON Schema's, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.registry import RegistryClient, RegistrySettings
from headrace.pipelines.connect.converters.registry.json_schema import JsonSchemaConverter
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from headrace.schemas import json_schema
from tests.pipelines.connect.converters import generating
from tests.pipelines.connect.converters.oracle import shown_schema, shown_value
from tests.pipelines.connect.converters.test_avro import with_defaults

pytestmark = pytest.mark.timeout(900)  # for `make thorough`, which draws far more


NOWHERE = RegistryClient(RegistrySettings.at("http://127.0.0.1:9"))
GIVEN = {"converter.type": "value", "schema.registry.url": "http://127.0.0.1:9"}


def converter(**more: str) -> JsonSchemaConverter:
    """A converter that asks no registry for what these tests want of it."""
    return JsonSchemaConverter(
        {**GIVEN, **{k.replace("_", "."): v for k, v in more.items()}}, NOWHERE
    )


@generating.cases(50)
@given(generating.with_values(generating.some_schemas()), st.sampled_from(["BASE64", "NUMERIC"]))
def test_there_and_back(case: tuple[Schema, Any], form: str) -> None:
    """Nothing is lost, of a schema or of a value; numbers that JSON has not are 0."""
    schema, value = case
    made = converter(decimal_format=form)
    parsed = json_schema.parse(made.text_of(schema))
    again = made.schema_of(parsed)
    assert shown_schema(again) == shown_schema(finite(schema))
    data = made.payload_of(parsed, schema, value)
    expected = finite_value(schema, with_defaults(schema, value))
    assert shown_value(again, made.value_of(parsed, again, data)) == shown_value(schema, expected)


def finite(schema: Schema) -> Schema:
    """The schema with the defaults that JSON can say, in which a null is its own default."""
    fields = tuple(schemas.Field(each.name, finite(each.schema)) for each in schema.fields)
    parts = {
        name: finite(part)
        for name, part in (("keys", schema.keys), ("values", schema.values))
        if part is not None
    }
    plain = schema.but(default=None, fields=fields, **parts)
    return plain.but(default=finite_value(plain, with_defaults(plain, schema.default)))


def finite_value(schema: Schema, value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0 if abs(value) < float("inf") else 0.0
    if isinstance(value, Struct):
        held = zip(value.schema.fields, value.values, strict=True)
        return Struct(value.schema, [finite_value(field.schema, item) for field, item in held])
    if isinstance(value, list):
        return [finite_value(schema.item, item) for item in value]
    if isinstance(value, dict):
        return {key: finite_value(schema.item, item) for key, item in value.items()}
    return value


def test_the_documented_forms() -> None:
    """As Confluent's converter writes them."""
    shape = schemas.struct(
        {"a": schemas.INT32, "b": schemas.OPTIONAL_STRING, "c": schemas.date()}, name="acme.Order"
    )
    assert json.loads(converter().text_of(shape)) == {
        "type": "object",
        "title": "acme.Order",
        "properties": {
            "a": {"type": "integer", "connect.type": "int32", "connect.index": 0},
            "b": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
            "c": {
                "type": "integer",
                "connect.type": "int32",
                "title": schemas.DATE,
                "connect.version": 1,
                "connect.index": 2,
            },
        },
    }


def test_schemas_of_others() -> None:
    """Without Connect's properties: types in lists, references, enums, alternatives."""
    text = json.dumps(
        {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "name": {"type": ["string", "null"]},
                "kind": {"enum": ["a", "b"]},
                "price": {"$ref": "#/definitions/money"},
                "any": {"oneOf": [{"type": "string"}, {"type": "boolean"}]},
            },
            "required": ["id"],
            "definitions": {"money": {"type": "number"}},
        }
    )
    schema = converter(use_optional_for_nonrequired="true").schema_of(json_schema.parse(text))
    kinds = {field.name: (field.schema.type, field.schema.optional) for field in schema.fields}
    assert kinds == {
        "id": (Type.INT64, False),
        "name": (Type.STRING, True),
        "kind": (Type.STRING, True),
        "price": (Type.FLOAT64, True),
        "any": (Type.STRUCT, True),
    }
