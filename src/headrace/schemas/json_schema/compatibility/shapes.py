"""How Confluent's registry takes a schema apart, which decides how a broken change is reported.

There a schema is of one class: a type, a list of values, a negation, or a combination. One with
keywords of several classes is a product of them, and a list of types is a sum. Two schemas of
different classes differ by TYPE_CHANGED, and two combinations by how many members they have and how
many of those find a partner: what is different inside a member is not reported. The walk decides
whether a change breaks reading; this only says by which name it is reported. Of many alternatives
every one meets every other, so a schema is taken apart once and not for each pair that it is in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from headrace.schemas.json_schema.compatibility.comparison import (
    Comparison,
    Difference,
    Path,
    key_of,
)
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.text import compact_sorted

_COMBINED: Final = "combined"
_COMBINATORS: Final = ("allOf", "anyOf", "oneOf")
_FAMILIES: Final = {
    "array": frozenset(
        {
            *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
            *("minContains", "maxContains", "minItems", "maxItems", "uniqueItems"),
        }
    ),
    "object": frozenset(
        {
            *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
            *("required", "minProperties", "maxProperties", "propertyNames", "dependencies"),
            *("dependentRequired", "dependentSchemas"),
        }
    ),
    "number": frozenset(
        {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    ),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
}
_OWN_FAMILIES: Final = {
    "enum": frozenset({"enum"}),
    "const": frozenset({"const"}),
    "not": frozenset({"not"}),
    "if": frozenset({"if", "then", "else"}),
}


@dataclass(frozen=True)
class Shape:
    """A class of schema; a combination also has a criterion and members."""

    name: str
    criterion: str = ""
    members: list[Node] = field(default_factory=list)

    @cached_property
    def distinct(self) -> list[Node]:
        """The members without repeats."""
        last = {compact_sorted(each.schema): each for each in reversed(self.members)}
        return list(last.values())[::-1]


def is_of_other_class(comparison: Comparison, writer: Node, reader: Node) -> bool:
    """Whether Confluent's registry would not compare the keywords of the two at all."""
    return _shape(comparison, writer).name != _shape(comparison, reader).name


def name_differences(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """The difference between two schemas by their classes; nothing if the keywords tell it."""
    before, after = _shape(comparison, writer), _shape(comparison, reader)
    sides = writer.schema, reader.schema
    if before.name != after.name:
        return [Difference("TYPE_CHANGED", path, *sides)]
    if before.name != _COMBINED:
        return []
    criterion = _compare_criteria(before, after)
    kinds = [] if criterion is None else [criterion]
    if criterion != "COMBINED_TYPE_CHANGED":
        old, new = before.distinct, after.distinct
        kinds += _compare_sizes(len(old), len(new), after.criterion)
        at = (*path, before.criterion)
        if _matched(comparison, old, new, at) < min(len(old), len(new)):
            kinds.append("COMBINED_TYPE_SUBSCHEMAS_CHANGED")
    return [Difference(kind, path, *sides) for kind in kinds]


def _shape(comparison: Comparison, node: Node) -> Shape:
    known = comparison.shapes.get(key_of(node))
    if known is None:
        known = comparison.shapes[key_of(node)] = _taken_apart(comparison, node)
    return known


def _taken_apart(comparison: Comparison, node: Node) -> Shape:
    if isinstance(node.schema, bool):
        return Shape("anything" if node.schema else "nothing")
    factors = [*_typed_factors(comparison, node), *_other_factors(comparison, node)]
    if not factors:
        return Shape("anything")
    if len(factors) == 1:
        return factors[0][0]
    return Shape(_COMBINED, "allOf", [each for _, each in factors])


def _typed_factors(comparison: Comparison, node: Node) -> Iterable[tuple[Shape, Node]]:
    """What `type` says, or the keywords of a type in its absence."""
    assert isinstance(node.schema, dict)
    declared = node.get("type")
    own = frozenset(_COMBINATORS).union(*_OWN_FAMILIES.values(), node.draft.references)
    if isinstance(declared, str):
        name = "number" if declared == "integer" else declared
        keywords = _FAMILIES.get(name, frozenset()) | {"type"}
        yield Shape(name), comparison.part(node, keywords)
    elif isinstance(declared, list):
        rest = comparison.part(node, frozenset(node.schema) - own)
        members = [comparison.restricted(rest, each) for each in declared]
        yield Shape(_COMBINED, "anyOf", members), rest
    else:
        for name, keywords in _FAMILIES.items():
            known = keywords & node.draft.assertions | (keywords & {"format"})
            if any(node.get(each) is not None for each in known):
                yield Shape(name), comparison.part(node, keywords)


def _other_factors(comparison: Comparison, node: Node) -> Iterable[tuple[Shape, Node]]:
    assert isinstance(node.schema, dict)
    for name, keywords in _OWN_FAMILIES.items():
        if name in node.schema and name in node.draft.assertions:
            yield Shape(name), comparison.part(node, keywords)
    for keyword in _COMBINATORS:
        members = node.subs(keyword)
        if members:
            part = comparison.part(node, frozenset({keyword}))
            yield Shape(_COMBINED, keyword, members), part
    reference = node.draft.reference(node.schema)
    if reference is not None:  # with keywords beside it, since a bare one has been followed
        yield Shape("reference"), comparison.part(node, frozenset({reference[0]}))


def _compare_criteria(before: Shape, after: Shape) -> str | None:
    """Whether one kind of combination may take the place of another."""
    if before.criterion == after.criterion:
        return None
    is_single = len(before.members) == 1
    may_follow = {
        "anyOf": True,
        "oneOf": is_single,
        "allOf": is_single and len(after.members) == 1,
    }
    return "COMBINED_TYPE_EXTENDED" if may_follow[after.criterion] else "COMBINED_TYPE_CHANGED"


def _compare_sizes(before: int, after: int, criterion: str) -> list[str]:
    if before == after:
        return []
    what = "PRODUCT_TYPE" if criterion == "allOf" else "SUM_TYPE"
    return [f"{what}_{'EXTENDED' if before < after else 'NARROWED'}"]


def _matched(comparison: Comparison, before: list[Node], after: list[Node], at: Path) -> int:
    """How many of the writer's members find a reader's member of their own, at the most."""
    partners = [
        [new for new, each in enumerate(after) if comparison.fits(member, each, (*at, str(old)))]
        for old, member in enumerate(before)
    ]
    taken: dict[int, int] = {}

    def find(old: int, tried: set[int]) -> bool:
        for new in partners[old]:
            if new not in tried:
                tried.add(new)
                if new not in taken or find(taken[new], tried):
                    taken[new] = old
                    return True
        return False

    return sum(find(old, set()) for old in range(len(before)))
