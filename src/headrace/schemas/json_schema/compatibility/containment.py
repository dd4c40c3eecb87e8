"""`contains` and how often: an array must hold items of a schema, at least and at most so many."""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.bounds import at_least, at_most, compare_bound
from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
)
from headrace.schemas.json_schema.documents import Node


def compare_containment(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """Differences in `contains`, `minContains` and `maxContains`."""
    before, after = _sought(writer), _sought(reader)
    at = (*path, "contains")
    if after is None:
        return [] if before is None else [Difference("PRODUCT_TYPE_NARROWED", at, before.schema)]
    least, most = _counts(reader)
    if before is None:
        if least:
            return [Difference("PRODUCT_TYPE_EXTENDED", at, ABSENT, after.schema)]
        return compare_bound(path, "maxContains", "MAX_CONTAINS", None, most)
    had_least, had_most = _counts(writer)
    found = comparison.compare(before, after, at) if least else []
    if most is not None and not comparison.fits(after, before, at):
        # More items may count for the reader than counted for the writer.
        shown = before.schema, after.schema
        found = [*found, Difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED", at, *shown)]
    found = [*found, *compare_bound(path, "minContains", "MIN_CONTAINS", had_least, least)]
    return found + compare_bound(path, "maxContains", "MAX_CONTAINS", had_most, most)


def _sought(node: Node) -> Node | None:
    return node.sub("contains") if "contains" in node.draft.assertions else None


def _counts(node: Node) -> tuple[int | float | None, int | float | None]:
    """At least one by default; drafts 6 and 7 know no other number."""
    if "minContains" not in node.draft.assertions:
        return 1, None
    least = node.get("minContains")
    return (1 if least is None else at_least(least)), at_most(node.get("maxContains"))
