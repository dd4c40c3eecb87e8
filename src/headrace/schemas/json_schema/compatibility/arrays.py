"""Keywords that apply to arrays.

Until 2019-09 `items` is either one schema for all or a list by position with `additionalItems` for
what follows; 2020-12 calls the list `prefixItems` and what follows `items`. Both become the same
three parts here, reported by the paths of the older spelling, as Confluent's registry reports them.
What follows the list makes a content model as it does for objects: `additionalItems` if it is
there, or else `unevaluatedItems`.
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
    """What a schema says of items; None where it says nothing."""

    every: Node | None
    by_position: list[Node]
    rest: Node | None
    unevaluated: Node | None
    # Before 2020-12 `additionalItems` means something beside a list of items only.
    rest_counts: bool
    # Whether no other keyword of the schema evaluates items.
    is_plain: bool

    def rest_as_writer(self) -> Node | None:
        """What surely holds for the items behind the list."""
        if self.rest_counts and self.rest is not None:
            return self.rest
        return self.unevaluated if self.every is None and self.is_plain else None

    def rest_as_reader(self) -> Node | None:
        """What may be asked of the items behind the list."""
        return self.rest if self.rest_counts and self.rest is not None else self.unevaluated


def compare_arrays(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """Differences in everything that a schema says of arrays."""
    before, after = _items(writer), _items(reader)
    found = _compare_every(comparison, before.every, after.every, (*path, "items"))
    found += _compare_positions(comparison, before, after, path)
    found += _compare_rest(comparison, before, after, path)
    found += _compare_unevaluated(comparison, writer, reader, path)
    most = at_most(writer.get("maxItems")), at_most(reader.get("maxItems"))
    least = at_least(writer.get("minItems")), at_least(reader.get("minItems"))
    found += compare_bound(path, "maxItems", "MAX_ITEMS", *most)
    found += compare_bound(path, "minItems", "MIN_ITEMS", *least)
    had, has = writer.get("uniqueItems") is True, reader.get("uniqueItems") is True
    if had != has:
        step = "ADDED" if has else "REMOVED"
        found.append(Difference(f"UNIQUE_ITEMS_{step}", (*path, "uniqueItems"), had, has))
    return found + compare_containment(comparison, writer, reader, path)


def _items(node: Node) -> _Items:
    every, rest = node.sub("items"), node.sub("additionalItems")
    by_position = node.subs("items")
    is_modern = node.draft is DRAFT_2020_12
    if is_modern:
        rest, by_position = None, node.subs("prefixItems")
        if every is not None and (by_position or isinstance(every.schema, bool)):
            every, rest = None, every
    return _Items(
        every=every,
        by_position=by_position,
        rest=rest,
        unevaluated=_unevaluated(node),
        rest_counts=is_modern or bool(by_position),
        is_plain=not _keywords_around(node),
    )


def _compare_every(
    comparison: Comparison, before: Node | None, after: Node | None, at: Path
) -> list[Difference]:
    """One schema for all items; against a list by position it counts as added or removed."""
    if after is None:
        return [] if before is None else [Difference("SCHEMA_REMOVED", at, before.schema)]
    if before is not None:
        return comparison.compare(before, after, at)
    target = follow(after)
    if accepts_everything(target.schema, target.draft):
        return []
    return [Difference("SCHEMA_ADDED", at, ABSENT, after.schema)]


def _compare_positions(
    comparison: Comparison, before: _Items, after: _Items, path: Path
) -> list[Difference]:
    shared = min(len(before.by_position), len(after.by_position))
    found: list[Difference] = []
    for index, (old, new) in enumerate(zip(before.by_position, after.by_position, strict=False)):
        found += comparison.compare(old, new, (*path, "items", str(index)))
    rest = after.rest_as_reader()
    for index, schema in enumerate(before.by_position[shared:], shared):
        found += _removed(comparison, schema, rest, (*path, "items", str(index)))
    rest = before.rest_as_writer()
    for index, schema in enumerate(after.by_position[shared:], shared):
        found += _added(comparison, rest, schema, (*path, "items", str(index)))
    return found


def _added(comparison: Comparison, rest: Node | None, schema: Node, at: Path) -> list[Difference]:
    """A position that the reader alone describes: the writer's rest says what stood there."""
    openness, target = _openness(rest), follow(schema)
    inside: list[Difference] = []
    if openness is Openness.OPEN:
        is_empty = accepts_everything(target.schema, target.draft)
        what = "ITEM_WITH_EMPTY_SCHEMA" if is_empty else "ITEM"
        kind = f"{what}_ADDED_TO_OPEN_CONTENT_MODEL"
    elif openness is Openness.CLOSED:
        kind = "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL"
    else:
        assert rest is not None
        inside = comparison.compare(rest, schema, at)
        verdict = "IS" if comparison.all_safe(inside) else "NOT"
        kind = f"ITEM_ADDED_{verdict}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return [*inside, Difference(kind, at, ABSENT, schema.schema)]


def _removed(comparison: Comparison, schema: Node, rest: Node | None, at: Path) -> list[Difference]:
    """A position that the writer alone describes: the reader's rest says if it is still taken."""
    openness, target = _openness(rest), follow(schema)
    inside: list[Difference] = []
    if openness is Openness.OPEN:
        kind = "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL"
    elif openness is Openness.CLOSED:
        is_false = accepts_nothing(target.schema, target.draft)
        what = "ITEM_WITH_FALSE" if is_false else "ITEM"
        kind = f"{what}_REMOVED_FROM_CLOSED_CONTENT_MODEL"
    else:
        assert rest is not None
        inside = comparison.compare(schema, rest, at)
        verdict = "IS" if comparison.all_safe(inside) else "NOT"
        kind = f"ITEM_REMOVED_{verdict}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return [*inside, Difference(kind, at, schema.schema, ABSENT)]


def _compare_rest(
    comparison: Comparison, before: _Items, after: _Items, path: Path
) -> list[Difference]:
    """`additionalItems`, looked at even where it means nothing, as Confluent's registry does."""
    old = before.rest if before.rest_counts or not after.rest_counts else None
    had, has = _openness(old), _openness(after.rest)
    at = (*path, "additionalItems")
    if had is has:
        if had is Openness.PARTIALLY_OPEN and old is not None and after.rest is not None:
            return comparison.compare(old, after.rest, at)
        return []
    if had is Openness.CLOSED:
        step = "ADDED"
    elif has is Openness.CLOSED:
        step = "REMOVED"
    else:
        step = "EXTENDED" if has is Openness.OPEN else "NARROWED"
    return [Difference(f"ADDITIONAL_ITEMS_{step}", at, _shown(old), _shown(after.rest))]


def _compare_unevaluated(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """`unevaluatedItems` depends on the keywords around it: the same on both sides, or none."""
    before, after = _items(writer), _items(reader)
    old, new = before.unevaluated, after.unevaluated
    at = (*path, "unevaluatedItems")
    had, has = _openness(old), _openness(new)
    if new is None or has is Openness.OPEN:
        if had is Openness.OPEN:
            return []
        step = "ADDED" if had is Openness.CLOSED else "EXTENDED"
        return [Difference(f"UNEVALUATED_ITEMS_{step}", at, _shown(old))]
    if before.is_plain and after.is_plain:
        sent = before.rest_as_writer() if before.every is None else before.every
    else:
        around = _surroundings(writer)
        sent = old if around is not None and around == _surroundings(reader) else None
    if sent is old and old is not None and had is has is Openness.PARTIALLY_OPEN:
        return comparison.compare(old, new, at)
    if sent is not None and comparison.fits(sent, new, at):
        return []
    step = "REMOVED" if has is Openness.CLOSED else "NARROWED"
    return [Difference(f"UNEVALUATED_ITEMS_{step}", at, _shown(old), new.schema)]


def _unevaluated(node: Node) -> Node | None:
    known = "unevaluatedItems" in node.draft.assertions
    return node.sub("unevaluatedItems") if known else None


def _openness(rest: Node | None) -> Openness:
    return Openness.OPEN if rest is None else openness_of(rest)


def _shown(node: Node | None) -> object:
    return ABSENT if node is None else node.schema


def _keywords_around(node: Node) -> dict[str, object]:
    """The keywords, besides those of the items themselves, that may evaluate items."""
    keywords = node.schema if isinstance(node.schema, dict) else {}
    around = {"contains", *node.draft.in_place, *node.draft.references}
    return {name: each for name, each in keywords.items() if name in around}


def _surroundings(node: Node) -> str | None:
    """All that decides which items are evaluated; None if references make that unclear."""
    own = _keywords_around(node)
    for keyword in ("items", "prefixItems", "additionalItems"):
        if node.get(keyword) is not None:
            own[keyword] = node.get(keyword)
    root = node.documents.root.schema
    definitions = [root.get(name) for name in LOCAL_DEFINITIONS] if isinstance(root, dict) else []
    if not _REFERENCE.search(compact_sorted(own)):
        return compact_sorted(own)
    text = compact_sorted([own, definitions])
    return text if all(_LOCAL.match(each) for each in _REFERENCE.findall(text)) else None
