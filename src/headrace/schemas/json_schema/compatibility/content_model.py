"""What an object may hold besides the properties that its schema declares.

A model is open where anything goes, closed where nothing does, and partially open where patterns or
a schema decide. `unevaluatedProperties` closes a model like `additionalProperties`, but looks
through the schemas that are combined with its own, so it only speaks of names that none of them
could have declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from headrace.schemas.json_schema.compatibility.comparison import Comparison, follow
from headrace.schemas.json_schema.compatibility.evaluated import (
    NO_NAMES,
    Names,
    declared_by_members,
)
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.drafts import accepts_everything, accepts_nothing


class Openness(Enum):
    """The three content models."""

    OPEN = auto()
    PARTIALLY_OPEN = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class Content:
    """The content model of one schema; `rest` is for names that nothing else decides."""

    properties: Mapping[str, Node]
    patterns: Mapping[str, Node]
    rest: Node
    rest_keyword: str
    # What `unevaluatedProperties` leaves aside, because a combined schema may have declared it,
    # and the part of that which one of them has declared for certain.
    exempt: Names
    surely_exempt: Names

    def openness_for(self, comparison: Comparison, name: str) -> Openness:
        """The model as far as one undeclared name is concerned."""
        if self.exempt.may_include(comparison, name):
            return Openness.OPEN
        return openness_of_all(self.covering(comparison, name))

    def covering(self, comparison: Comparison, name: str) -> list[Node]:
        """The schemas that decide about an undeclared name: all of them must take its value."""
        if self.surely_exempt.may_include(comparison, name):
            return []
        matching = [
            schema for pattern, schema in self.patterns.items() if comparison.matches(pattern, name)
        ]
        return matching or [self.rest]


def content_of(node: Node) -> Content:
    """The content model of a schema's own keywords."""
    rest = node.sub("additionalProperties")
    keyword, exempt, surely = "additionalProperties", NO_NAMES, NO_NAMES
    unevaluated = node.sub("unevaluatedProperties")
    if rest is None and unevaluated and "unevaluatedProperties" in node.draft.assertions:
        rest, keyword = unevaluated, "unevaluatedProperties"
        exempt = declared_by_members(node)
        surely = declared_by_members(node, for_certain=True)
    return Content(
        properties=node.named("properties"),
        patterns=node.named("patternProperties"),
        rest=rest if rest is not None else node.child(True),
        rest_keyword=keyword,
        exempt=exempt,
        surely_exempt=surely,
    )


def openness_of_all(covering: list[Node]) -> Openness:
    """The model that several schemas for one name make together."""
    models = {openness_of(each) for each in covering} - {Openness.OPEN}
    if not models:
        return Openness.OPEN
    return Openness.CLOSED if Openness.CLOSED in models else Openness.PARTIALLY_OPEN


def openness_of(rest: Node) -> Openness:
    """The model that a schema for all other names makes."""
    rest = follow(rest)
    if accepts_everything(rest.schema, rest.draft):
        return Openness.OPEN
    if accepts_nothing(rest.schema, rest.draft):
        return Openness.CLOSED
    return Openness.PARTIALLY_OPEN
