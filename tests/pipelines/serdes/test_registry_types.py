"""JSON Schemas as types of Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.pipelines.serdes.registry_types import type_of_json_schema

INTEGER = {"type": "integer"}
TREE = {
    "definitions": {
        "node": {
            "type": "object",
            "properties": {"v": INTEGER, "next": {"$ref": "#/definitions/node"}},
        }
    },
    "$ref": "#/definitions/node",
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"properties": {"a": INTEGER, "b": {"type": "number"}}}, "struct<a:bigint,b:double>"),
        (
            {"type": "object", "properties": {"a": {"type": ["null", "boolean"]}}},
            "struct<a:boolean>",
        ),
        (
            {"type": "object", "properties": {"a": {"oneOf": [{"type": "null"}, INTEGER]}}},
            "struct<a:bigint>",
        ),
        ({"properties": {"a": {"type": ["integer", "string"]}}}, "struct<a:string>"),
        ({"type": "object", "additionalProperties": INTEGER}, "map<string,bigint>"),
        ({"type": "array", "items": {"type": "array", "items": INTEGER}}, "array<array<bigint>>"),
        (TREE, "struct<v:bigint,next:string>"),
        (
            {"properties": {"a": {"$ref": "#/nowhere"}, "b": {"$ref": "x.json"}}},
            "struct<a:string,b:string>",
        ),
        (
            {"$defs": {"a/b": INTEGER}, "properties": {"c": {"$ref": "#/$defs/a~1b"}}},
            "struct<c:bigint>",
        ),
        ({"type": "object"}, "string"),
        (INTEGER, "string"),
        (True, "string"),
    ],
)
def test_types(schema: Any, expected: str) -> None:
    """Structs, maps and arrays where the schema is clear; the text itself where it is not."""
    assert type_of_json_schema(json.dumps(schema)).simpleString() == expected
