"""The rule for a pair of schemas: types first, then each family of keywords, then combinators.

A value must satisfy every keyword of the reader. The straight proof sets keyword against keyword.
Where it fails and the writer combines schemas, the members may still prove it: one member of a
product is enough, and of a sum all members are needed. What stays unproven is reported by the name
that Confluent's registry has for it.
"""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.arrays import compare_arrays
from headrace.schemas.json_schema.compatibility.combinators import compare_combinators
from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
)
from headrace.schemas.json_schema.compatibility.implied import possible_types, products
from headrace.schemas.json_schema.compatibility.numbers import compare_numbers
from headrace.schemas.json_schema.compatibility.objects import compare_objects
from headrace.schemas.json_schema.compatibility.shapes import is_of_other_class, name_differences
from headrace.schemas.json_schema.compatibility.strings import compare_strings
from headrace.schemas.json_schema.compatibility.types import compare_types
from headrace.schemas.json_schema.compatibility.values import compare_values
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.drafts import accepts_everything, accepts_nothing

_ANNOTATIONS = (
    ("$id", "ID_CHANGED"),
    ("title", "TITLE_CHANGED"),
    ("description", "DESCRIPTION_CHANGED"),
    ("default", "DEFAULT_CHANGED"),
)


def compare_schemas(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """Everything that is different between two schemas, neither of them a mere reference."""
    found = _compare_annotations(writer, reader, path)
    if accepts_nothing(writer.schema, writer.draft) or accepts_everything(
        reader.schema, reader.draft
    ):
        return found
    if accepts_nothing(reader.schema, reader.draft):
        return [*found, Difference("TYPE_CHANGED", path, writer.schema, reader.schema)]
    if _are_connect_bytes(writer, reader) and is_of_other_class(comparison, writer, reader):
        return found
    straight = _compare_keywords(comparison, writer, reader, path)
    if not comparison.all_safe(straight):
        straight = _prove_by_members(comparison, writer, reader, path) or _named(
            comparison, writer, reader, path, straight
        )
    return _without_repeats([*found, *straight])


def _named(
    comparison: Comparison, writer: Node, reader: Node, path: Path, straight: list[Difference]
) -> list[Difference]:
    """What breaks reading by Confluent's name, unless its registry would not notice."""
    if comparison.is_exhausted:
        return straight
    named = name_differences(comparison, writer, reader, path)
    if comparison.all_safe(named):
        return straight
    known = {(each.kind, each.path): each for each in straight}
    return [known.get((each.kind, each.path), each) for each in named]


def _are_connect_bytes(writer: Node, reader: Node) -> bool:
    """Whether both are bytes to Kafka Connect, which writes decimals as strings or as numbers."""
    return all(each.get("connect.type") == "bytes" for each in (writer, reader))


def _compare_keywords(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    found = compare_types(comparison, writer, reader, path)
    found += compare_values(comparison, writer, reader, path)
    types = possible_types(comparison, writer)
    if "string" in types:
        found += compare_strings(writer, reader, path)
    if "number" in types or "integer" in types:
        found += compare_numbers(comparison, writer, reader, path)
    if "object" in types:
        found += compare_objects(comparison, writer, reader, path)
    if "array" in types:
        found += compare_arrays(comparison, writer, reader, path)
    return found + compare_combinators(comparison, writer, reader, path)


def _prove_by_members(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """The proof through the writer's members: the difference that it amounts to, or nothing."""
    for keyword in ("anyOf", "oneOf"):
        members = writer.subs(keyword)
        if keyword == "anyOf" and reader.subs("oneOf"):
            continue  # a value that fits two alternatives would fit none
        if members and all(comparison.fits(each, reader, path) for each in members):
            return [Difference("COMBINED_TYPE_EXTENDED", path, writer.get(keyword), reader.schema)]
    for member in products(writer):
        if comparison.fits(member, reader, path):
            return [Difference("PRODUCT_TYPE_NARROWED", path, writer.schema, reader.schema)]
    return []


def _compare_annotations(writer: Node, reader: Node, path: Path) -> list[Difference]:
    if not isinstance(writer.schema, dict) or not isinstance(reader.schema, dict):
        return []
    sides = writer.schema, reader.schema
    found = []
    for keyword, kind in _ANNOTATIONS:
        before, after = (each.get(keyword, ABSENT) for each in sides)
        if before != after:
            found.append(Difference(kind, path, before, after))
    return found


def _without_repeats(found: list[Difference]) -> list[Difference]:
    return list({(each.kind, each.path): each for each in found}.values())
