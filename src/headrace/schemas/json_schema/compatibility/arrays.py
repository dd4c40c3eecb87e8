"""Keywords that apply to arrays.

Until 2019-09 `items` is either one schema for all or a list by position with `additionalItems` for
what follows; 2020-12 calls the list `prefixItems` and what follows `items`. Both become a list and
a rest here, and the rest makes a content model as it does for objects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from headrace.schemas.json_schema.compatibility.bounds import at_least, at_most, compare_bound
from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
    follow,
)
from headrace.schemas.json_schema.compatibility.containment import compare_containment
from headrace.schemas.json_schema.compatibility.content_model import Openness, openness_of
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.drafts import (
    DRAFT_2020_12,
    LOCAL_DEFINITIONS,
    accepts_everything,
    accepts_nothing,
)
from headrace.schemas.json_schema.text import compact_sorted

_REFERENCE: Final = re.compile(r'"\$(?:ref|dynamicRef|recursiveRef)":"([^"]*)"')
_LOCAL: Final = re.compile(r"#/(?:definitions|\$defs)/")


@dataclass(frozen=True, slots=True)
class _Items:
    by_position: list[Node]
    rest: Node
    position_keyword: str
    rest_keyword: str


def compare_arrays(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """Differences in everything that a schema says of arrays."""
    before, after = _items(writer), _items(reader)
    shared = min(len(before.by_position), len(after.by_position))
    found: list[Difference] = []
    for index, (old, new) in enumerate(zip(before.by_position, after.by_position, strict=False)):
        found += comparison.compare(old, new, (*path, after.position_keyword, str(index)))
    for index, schema in enumerate(before.by_position[shared:], shared):
        at = (*path, before.position_keyword, str(index))
        found.append(_removed(comparison, schema, after.rest, at))
    for index, schema in enumerate(after.by_position[shared:], shared):
        at = (*path, after.position_keyword, str(index))
        found.append(_added(comparison, before.rest, schema, at))
    found += _compare_rest(comparison, before, after, path)
    most = at_most(writer.get("maxItems")), at_most(reader.get("maxItems"))
    least = at_least(writer.get("minItems")), at_least(reader.get("minItems"))
    found += compare_bound(path, "maxItems", "MAX_ITEMS", *most)
    found += compare_bound(path, "minItems", "MIN_ITEMS", *least)
    had, has = writer.get("uniqueItems") is True, reader.get("uniqueItems") is True
    if had != has:
        step = "ADDED" if has else "REMOVED"
        found.append(Difference(f"UNIQUE_ITEMS_{step}", (*path, "uniqueItems"), had, has))
    found += compare_containment(comparison, writer, reader, path)
    return found + _compare_unevaluated(comparison, writer, reader, path)


def _items(node: Node) -> _Items:
    anything = node.child(True)
    if node.draft is DRAFT_2020_12:
        rest = node.sub("items") or anything
        return _Items(node.subs("prefixItems"), rest, "prefixItems", "items")
    if isinstance(node.get("items"), list):
        rest = node.sub("additionalItems") or anything
        return _Items(node.subs("items"), rest, "items", "additionalItems")
    return _Items([], node.sub("items") or anything, "items", "items")


def _added(comparison: Comparison, rest: Node, schema: Node, at: Path) -> Difference:
    """A position that the reader alone describes: the writer's rest says what stood there."""
    openness, target = openness_of(rest), follow(schema)
    if openness is Openness.OPEN:
        is_empty = accepts_everything(target.schema, target.draft)
        what = "ITEM_WITH_EMPTY_SCHEMA" if is_empty else "ITEM"
        kind = f"{what}_ADDED_TO_OPEN_CONTENT_MODEL"
    elif openness is Openness.CLOSED:
        kind = "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL"
    else:
        verdict = "IS" if comparison.fits(rest, schema, at) else "NOT"
        kind = f"ITEM_ADDED_{verdict}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return Difference(kind, at, ABSENT, schema.schema)


def _removed(comparison: Comparison, schema: Node, rest: Node, at: Path) -> Difference:
    """A position that the writer alone describes: the reader's rest says if it is still taken."""
    openness, target = openness_of(rest), follow(schema)
    if openness is Openness.OPEN:
        kind = "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL"
    elif openness is Openness.CLOSED:
        is_false = accepts_nothing(target.schema, target.draft)
        what = "ITEM_WITH_FALSE" if is_false else "ITEM"
        kind = f"{what}_REMOVED_FROM_CLOSED_CONTENT_MODEL"
    else:
        verdict = "IS" if comparison.fits(schema, rest, at) else "NOT"
        kind = f"ITEM_REMOVED_{verdict}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return Difference(kind, at, schema.schema, ABSENT)


def _compare_rest(
    comparison: Comparison, before: _Items, after: _Items, path: Path
) -> list[Difference]:
    had, has = openness_of(before.rest), openness_of(after.rest)
    at = (*path, after.rest_keyword)
    if had is has is Openness.PARTIALLY_OPEN:
        return comparison.compare(before.rest, after.rest, at)
    if had is has:
        return []
    sides = before.rest.schema, after.rest.schema
    if not before.by_position and not after.by_position:
        kind = (
            "SCHEMA_ADDED" if has is Openness.CLOSED or had is Openness.OPEN else "SCHEMA_REMOVED"
        )
        return [Difference(kind, at, *sides)]
    if had is Openness.CLOSED:
        step = "ADDED"
    elif has is Openness.CLOSED:
        step = "REMOVED"
    else:
        step = "EXTENDED" if has is Openness.OPEN else "NARROWED"
    return [Difference(f"ADDITIONAL_ITEMS_{step}", at, *sides)]


def _compare_unevaluated(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """`unevaluatedItems` depends on every keyword around it, so those must be the same."""
    before, after = _unevaluated(writer), _unevaluated(reader)
    at = (*path, "unevaluatedItems")
    if after is None or openness_of(after) is Openness.OPEN:
        if before is None or openness_of(before) is Openness.OPEN:
            return []
        step = "ADDED" if openness_of(before) is Openness.CLOSED else "EXTENDED"
        return [Difference(f"UNEVALUATED_ITEMS_{step}", at, before.schema)]
    around = _surroundings(writer)
    if before is not None and around is not None and around == _surroundings(reader):
        return comparison.compare(before, after, at)
    step = "REMOVED" if openness_of(after) is Openness.CLOSED else "NARROWED"
    shown = ABSENT if before is None else before.schema
    return [Difference(f"UNEVALUATED_ITEMS_{step}", at, shown, after.schema)]


def _unevaluated(node: Node) -> Node | None:
    known = "unevaluatedItems" in node.draft.assertions
    return node.sub("unevaluatedItems") if known else None


def _surroundings(node: Node) -> str | None:
    """The keywords that decide which items are evaluated; None if references make that unclear."""
    keywords = node.schema if isinstance(node.schema, dict) else {}
    around = {"items", "prefixItems", "additionalItems", "contains", *node.draft.in_place}
    around |= {*node.draft.references}
    own = {name: each for name, each in keywords.items() if name in around}
    root = node.documents.root.schema
    definitions = [root.get(name) for name in LOCAL_DEFINITIONS] if isinstance(root, dict) else []
    if not _REFERENCE.search(compact_sorted(own)):
        return compact_sorted(own)
    text = compact_sorted([own, definitions])
    return text if all(_LOCAL.match(each) for each in _REFERENCE.findall(text)) else None
