"""The guide to compatibility: what it says is what the checkers do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.schemas import formats
from headrace.schemas.model import SchemaType
from tests.schemas.avro.vectors import CASES

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "develop" / "compatibility.md"


def _section(title: str) -> str:
    return GUIDE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_example_prints_the_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """The Python of the guide runs, and finds the field that has no default."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    exec(compile(code, str(GUIDE), "exec"), {})
    assert "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE'" in capsys.readouterr().out


def test_every_kind_of_avro_is_explained() -> None:
    """Each kind that the vectors can give stands in the table, and no other does."""
    faults = " ".join(case.backward + " " + case.forward for case in CASES)
    kinds = set(re.findall(r"[A-Z_]{5,}", faults))
    assert set(re.findall(r"`([A-Z_]{5,})`", _section("Avro"))) == kinds


PROTO = 'syntax = "proto3"; package p; {}'
STRING, NUMBER = '{"type": "string"}', '{"type": "number"}'
OPEN = '{"type": "object", "properties": {"a": {"type": "string"}}}'
CLOSED = '{"type": "object", "additionalProperties": false, "properties": {}}'

ROWS = [
    (SchemaType.JSON, NUMBER, '{"type": "integer"}', ""),
    (SchemaType.JSON, STRING, NUMBER, "TYPE_CHANGED"),
    (SchemaType.JSON, OPEN, CLOSED, ""),
    (
        SchemaType.JSON,
        OPEN,
        '{"type": "object"}',
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
    ),
    (
        SchemaType.JSON,
        CLOSED,
        OPEN.replace("{", '{"additionalProperties": false, ', 1),
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    ),
    (SchemaType.PROTOBUF, "message A {} message B {}", "message A {}", ""),
    (SchemaType.PROTOBUF, "message A {}", "message A {} message B {}", "MESSAGE_REMOVED"),
    (SchemaType.PROTOBUF, "message A { int64 x = 1; }", "message A { bool y = 1; }", ""),
    (
        SchemaType.PROTOBUF,
        "message A { int64 x = 1; }",
        "message A { sint64 x = 1; }",
        "FIELD_SCALAR_KIND_CHANGED",
    ),
]


@pytest.mark.parametrize(("type_", "reader", "writer", "kind"), ROWS)
def test_rows_of_the_tables_hold(type_: SchemaType, reader: str, writer: str, kind: str) -> None:
    """A sample of the rows of the other formats gives the kind that the guide names."""
    if type_ is SchemaType.PROTOBUF:
        reader, writer = PROTO.replace("{}", reader), PROTO.replace("{}", writer)
    found = formats.incompatibilities(formats.parse(type_, reader), formats.parse(type_, writer))
    assert kind in {each.kind for each in found} if kind else not found
