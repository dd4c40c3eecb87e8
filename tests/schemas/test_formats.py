"""The door to the three formats."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.schemas import formats
from headrace.schemas.incompatible import DIFFERENT_TYPES
from headrace.schemas.model import MAX_SCHEMA_BYTES, InvalidSchema, SchemaType

PROTO = 'syntax = "proto3"; message M { string a = 1; }'
TEXTS = {
    SchemaType.AVRO: '"string"',
    SchemaType.JSON: '{"type": "string"}',
    SchemaType.PROTOBUF: PROTO,
}


@pytest.mark.spec("slides:G02")
@pytest.mark.parametrize("type_", SchemaType)
def test_each_format_is_parsed_and_compared(type_: SchemaType) -> None:
    """Avro, JSON Schema and Protobuf are all there, and a schema is compatible with itself."""
    schema = formats.parse(type_, TEXTS[type_])
    assert schema.type is type_
    assert formats.incompatibilities(schema, schema) == []


def test_schemas_of_two_formats_are_incompatible() -> None:
    """A change of the format is one fault that shows both."""
    avro = formats.parse(SchemaType.AVRO, TEXTS[SchemaType.AVRO])
    json_schema = formats.parse(SchemaType.JSON, TEXTS[SchemaType.JSON])
    (found,) = formats.incompatibilities(json_schema, avro)
    assert (found.kind, found.before, found.after) == (DIFFERENT_TYPES, "AVRO", "JSON")


@pytest.mark.parametrize("type_", SchemaType)
@pytest.mark.parametrize("text", ["", "{", "nonsense", "\x00", "[" * 100_000, '"\ud800"'])
def test_what_is_no_schema_is_refused(type_: SchemaType, text: str) -> None:
    """Texts that are not a schema of the format give InvalidSchema and nothing else."""
    with pytest.raises(InvalidSchema):
        formats.parse(type_, text)


def test_a_schema_above_the_limit_is_not_even_read() -> None:
    """More than ten megabytes are refused, with the limit in the message."""
    text = '"' + "é" * (MAX_SCHEMA_BYTES // 2) + '"'
    with pytest.raises(InvalidSchema, match=str(MAX_SCHEMA_BYTES)):
        formats.parse(SchemaType.AVRO, text)


def test_a_format_is_loaded_when_it_is_needed() -> None:
    """Parsing Avro loads neither the libraries of the other formats nor fastavro."""
    script = (
        "import sys; from headrace.schemas import formats, model;"
        "formats.parse(model.SchemaType.AVRO, '\"int\"');"
        "print(sorted(m for m in sys.modules"
        " if m.split('.')[0] in ('jsonschema', 'grpc_tools', 'google', 'fastavro')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
