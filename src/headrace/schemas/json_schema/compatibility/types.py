"""The keyword `type`: which of the seven types a reader still takes."""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
)
from headrace.schemas.json_schema.compatibility.implied import (
    ALL_TYPES,
    declared_types,
    possible_types,
)
from headrace.schemas.json_schema.documents import Node


def compare_types(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """One difference at most: the set of types grew, shrank, or is another."""
    before, after = possible_types(comparison, writer), declared_types(reader)
    if before == after:
        return []
    kind = _kind(before, after, is_declared=before != ALL_TYPES)
    if kind == "TYPE_EXTENDED" and writer.get("type") is None:
        return []
    return [Difference(kind, path, _shown(writer), _shown(reader))]


def _shown(node: Node) -> object:
    return node.schema if isinstance(node.schema, bool) else node.schema.get("type", ABSENT)


def _kind(before: frozenset[str], after: frozenset[str], *, is_declared: bool) -> str:
    wider = after | {"integer"} if "number" in after else after
    lost = before - wider
    if not lost:
        return "TYPE_EXTENDED" if len(before) == 1 else "SUM_TYPE_EXTENDED"
    if lost == {"number"} and "integer" in after:
        return "TYPE_NARROWED"
    if not is_declared or len(before) == 1 or not before & wider:
        return "TYPE_CHANGED"
    return "SUM_TYPE_NARROWED" if after < before else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
