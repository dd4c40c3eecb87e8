"""What the presence of one property asks of the others.

Up to draft 7 `dependencies` holds both forms; later drafts write the list of names as
`dependentRequired` and the schema as `dependentSchemas`. All are reported by the older path, as
Confluent's registry does.
"""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
)
from headrace.schemas.json_schema.documents import Node


def compare_dependencies(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """Differences in both forms."""
    found: list[Difference] = []
    had, has = _lists(writer), _lists(reader)
    for name in {**had, **has}:
        kind = _kind(had.get(name), has.get(name))
        if kind is not None:
            old, new = (sorted(each[name]) if name in each else ABSENT for each in (had, has))
            found.append(Difference(kind, (*path, "dependencies", name), old, new))
    before, after = _schemas(writer), _schemas(reader)
    for name in {**before, **after}:
        at = (*path, "dependencies", name)
        if name not in after:
            found.append(Difference("DEPENDENCY_SCHEMA_REMOVED", at, before[name].schema))
        elif name in before:
            found += comparison.compare(before[name], after[name], at)
        elif not comparison.fits(writer, after[name], at):
            found.append(Difference("DEPENDENCY_SCHEMA_ADDED", at, ABSENT, after[name].schema))
    return found


def _kind(before: frozenset[str] | None, after: frozenset[str] | None) -> str | None:
    if before == after:
        return None
    if before is None:
        return "DEPENDENCY_ARRAY_ADDED"
    if after is None:
        return "DEPENDENCY_ARRAY_REMOVED"
    if after < before:
        return "DEPENDENCY_ARRAY_NARROWED"
    return "DEPENDENCY_ARRAY_EXTENDED" if before < after else "DEPENDENCY_ARRAY_CHANGED"


def _keyword(node: Node, modern: str) -> str:
    return modern if modern in node.draft.assertions else "dependencies"


def _lists(node: Node) -> dict[str, frozenset[str]]:
    value = node.get(_keyword(node, "dependentRequired"))
    if not isinstance(value, dict):
        return {}
    return {
        name: frozenset(each) for name, each in value.items() if isinstance(each, list) and each
    }


def _schemas(node: Node) -> dict[str, Node]:
    return node.named(_keyword(node, "dependentSchemas"))
