"""The keywords `enum` and `const`: schemas that list their values."""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.comparison import Comparison, Difference, Path
from headrace.schemas.json_schema.compatibility.implied import listed_values, possible_types
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.text import comparable_text


def compare_values(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """One difference at most: the list grew, shrank, or is another."""
    before = listed_values(writer)
    after = listed_values(reader)
    if before is None and after is None:
        return []
    few = _few_values(comparison, writer) if before is None else before
    kind = _kind(_texts(few), _texts(after))
    if kind is None:
        return []
    keyword = "const" if "const" in _keywords(writer if after is None else reader) else "enum"
    return [Difference(kind, (*path, keyword), before, after)]


def _kind(before: frozenset[str] | None, after: frozenset[str] | None) -> str | None:
    if before == after:
        return None
    if after is None or (before is not None and before < after):
        return "ENUM_ARRAY_EXTENDED"
    if before is None or after < before:
        return "ENUM_ARRAY_NARROWED"
    return "ENUM_ARRAY_CHANGED"


def _few_values(comparison: Comparison, writer: Node) -> list[object] | None:
    """Null and booleans need no list to be listed."""
    types = possible_types(comparison, writer)
    if not types <= {"null", "boolean"}:
        return None
    values: list[object] = [None] if "null" in types else []
    return values + ([True, False] if "boolean" in types else [])


def _texts(values: list[object] | None) -> frozenset[str] | None:
    return None if values is None else frozenset(comparable_text(each) for each in values)


def _keywords(node: Node) -> dict[str, object]:
    return node.schema if isinstance(node.schema, dict) else {}
