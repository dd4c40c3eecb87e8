"""What a writer's schema implies through the schemas that it combines.

A type may be declared beside a combinator or inside each of its members. Only what follows for
certain is said here; everything else counts as possible.
"""

from __future__ import annotations

from typing import Final

from headrace.schemas.json_schema.compatibility.comparison import Comparison, follow
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.text import comparable_text

ALL_TYPES: Final = frozenset({"null", "boolean", "object", "array", "string", "number"})


def declared_types(node: Node) -> frozenset[str]:
    """The types that `type` allows by itself; `number` includes `integer`."""
    declared = node.get("type")
    if declared is None:
        return ALL_TYPES
    types = frozenset([declared] if isinstance(declared, str) else declared)
    return types - {"integer"} if "number" in types else types


def possible_types(comparison: Comparison, node: Node) -> frozenset[str]:
    """The types that a value of this schema can have."""
    node = follow(node)
    if isinstance(node.schema, bool):
        return ALL_TYPES if node.schema else frozenset()
    known = comparison.implied_types.get(id(node.schema))
    if known is not None:
        return known
    types = declared_types(node)
    values = listed_values(node)
    if values is not None:
        types = common_types(types, frozenset(type_of(each) for each in values))
    for member in products(node):
        types = common_types(types, possible_types(comparison, member))
    for keyword in ("anyOf", "oneOf"):
        members = node.subs(keyword)
        if members:
            each_type = (possible_types(comparison, member) for member in members)
            types = common_types(types, frozenset[str]().union(*each_type))
    comparison.implied_types[id(node.schema)] = types
    return types


def required_names(node: Node) -> frozenset[str]:
    """The properties that every object of this schema has."""
    required: set[str] = set()
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        factor = follow(waiting.pop())
        if isinstance(factor.schema, dict) and id(factor.schema) not in seen:
            seen.add(id(factor.schema))
            required.update(factor.get("required") or ())
            waiting.extend(products(factor))
    return frozenset(required)


def products(node: Node) -> list[Node]:
    """The schemas that must all hold besides this one's own keywords."""
    members = node.subs("allOf")
    if node.draft.reference(node.schema) is not None and follow(node) is node:
        target = node.target()
        members = [*members, target] if target is not None else members
    return members


def listed_values(node: Node) -> list[object] | None:
    """The values that `enum` and `const` leave, or None if neither is there."""
    if not isinstance(node.schema, dict):
        return None
    values: list[object] | None = None
    if isinstance(node.schema.get("enum"), list):
        values = node.schema["enum"]
    if "const" in node.schema and "const" in node.draft.assertions:
        constant = comparable_text(node.schema["const"])
        listed = [node.schema["const"]] if values is None else values
        values = [each for each in listed if comparable_text(each) == constant]
    return values


def common_types(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """The types that both sets allow."""
    common = one & other
    for narrow, wide in ((one, other), (other, one)):
        if "integer" in narrow and "number" in wide:
            common |= {"integer"}
    return common - {"integer"} if "number" in common else common


def type_of(value: object) -> str:
    """JSON Schema's name for the type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if value == int(value) else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
