"""What stops a JSON Schema from reading the data of another.

The two schemas are walked side by side and every difference gets one of Confluent's kinds; a policy
then says which kinds matter. The walk only ever proves that a value of the writer fits the reader,
so what it cannot prove it reports. Values themselves are never looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.schemas.incompatible import Incompatibility
from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    TOO_COMPLEX,
    Comparison,
    Difference,
)
from headrace.schemas.json_schema.compatibility.kinds import description
from headrace.schemas.json_schema.compatibility.rules import compare_schemas
from headrace.schemas.json_schema.text import compact

if TYPE_CHECKING:
    from headrace.schemas.json_schema.schema import JsonSchema

MAX_REPORTED: Final = 200
"""An answer that lists more reasons than this helps nobody."""
_SHOWN_CHARACTERS: Final = 200


def incompatibilities(
    reader: JsonSchema, writer: JsonSchema, *, lenient: bool = False
) -> list[Incompatibility]:
    """The differences that break reading, in the order of the reader's schema."""
    comparison = Comparison(compare_schemas, lenient=lenient)
    broken = [
        each for each in _differences(comparison, reader, writer) if not comparison.is_safe(each)
    ]
    return [_incompatibility(each) for each in broken[:MAX_REPORTED]]


def differences(
    reader: JsonSchema, writer: JsonSchema, *, lenient: bool = False
) -> list[Difference]:
    """Every difference that the walk meets, harmless ones included."""
    return _differences(Comparison(compare_schemas, lenient=lenient), reader, writer)


def _differences(
    comparison: Comparison, reader: JsonSchema, writer: JsonSchema
) -> list[Difference]:
    if _texts(reader) == _texts(writer):
        return []
    writing, reading = writer.documents, reader.documents
    try:
        found = comparison.compare(writing.node(writing.root), reading.node(reading.root), ())
    except RecursionError:
        return [TOO_COMPLEX]
    # Once the bound was reached, a difference may only be a proof that was not finished.
    return [TOO_COMPLEX] if comparison.is_exhausted else found


def _texts(schema: JsonSchema) -> list[tuple[str, str]]:
    documents = schema.documents
    return [
        ("", schema.text),
        *((each.name, compact(each.schema)) for each in documents.references),
    ]


def _incompatibility(found: Difference) -> Incompatibility:
    path = "#/" + "/".join(found.path)
    return Incompatibility(
        kind=found.kind,
        path=path,
        description=found.note or description(found.kind, path),
        before=_shown(found.before),
        after=_shown(found.after),
    )


def _shown(value: object) -> str:
    if value is ABSENT:
        return ""
    text = compact(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
