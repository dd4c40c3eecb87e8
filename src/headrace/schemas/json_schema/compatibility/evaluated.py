"""Which properties the schemas combined with one declare.

`unevaluatedProperties` speaks of the others only. The question has two answers: names that some
member may have declared, and names that one has declared for certain, because it always applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.schemas.json_schema.compatibility.comparison import Comparison, follow, key_of
from headrace.schemas.json_schema.compatibility.implied import products
from headrace.schemas.json_schema.documents import Node


@dataclass(frozen=True, slots=True)
class Names:
    """A set of property names: some by name, some by pattern, or all."""

    listed: frozenset[str]
    patterns: frozenset[str]
    is_everything: bool

    def may_include(self, comparison: Comparison, name: str) -> bool:
        """Whether a name is in the set."""
        if self.is_everything or name in self.listed:
            return True
        return any(comparison.matches(pattern, name) for pattern in self.patterns)


NO_NAMES: Final = Names(frozenset(), frozenset(), is_everything=False)


def declared_by_members(node: Node, *, for_certain: bool = False) -> Names:
    """The properties that the schemas combined with this one declare, itself left out."""
    listed: set[str] = set()
    patterns: set[str] = set()
    is_everything = False
    seen = set()
    waiting = _members(node, for_certain=for_certain)
    while waiting:
        member = follow(waiting.pop())
        if key_of(member) in seen:
            continue
        seen.add(key_of(member))
        listed.update(member.named("properties"))
        patterns.update(member.named("patternProperties"))
        others = ("additionalProperties", "unevaluatedProperties")
        is_everything = is_everything or any(member.get(each) is not None for each in others)
        waiting.extend(_members(member, for_certain=for_certain))
    return Names(frozenset(listed), frozenset(patterns), is_everything)


def _members(node: Node, *, for_certain: bool) -> list[Node]:
    members = products(node)
    if for_certain:
        return members
    for keyword in ("anyOf", "oneOf"):
        members = [*members, *node.subs(keyword)]
    single = [each for each in map(node.sub, ("if", "then", "else")) if each is not None]
    return [*members, *single, *node.named("dependentSchemas").values()]
