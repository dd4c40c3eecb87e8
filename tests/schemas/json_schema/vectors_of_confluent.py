"""Changes whose verdict, kind and path are known of Confluent's registry 8.1, in every draft.

`broken` is what its checker reports as incompatible under the strict policy. The lenient policy
forgives `FORGIVEN` and nothing else. A row is written as draft 7 writes it, and `spelled` writes it
for the other drafts. `ours` is given where Headrace answers otherwise on purpose; the guide on
compatibility says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.schemas.json_schema.vectors import (
    BOOLEAN,
    DRAFT_4,
    DRAFT_6,
    DRAFT_7,
    DRAFT_2019,
    DRAFT_2020,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    Schema,
    array,
)

ALL: Final = (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020)
WITH_BOOLEANS: Final = ALL[1:]
"""Drafts in which true and false are schemas."""
LISTS_OF_ITEMS: Final = ALL[:-1]
"""Drafts in which `additionalItems` exists."""

FORGIVEN: Final = frozenset(
    {
        *("ADDITIONAL_PROPERTIES_NARROWED", "ADDITIONAL_PROPERTIES_REMOVED"),
        *("UNEVALUATED_PROPERTIES_NARROWED", "UNEVALUATED_PROPERTIES_REMOVED"),
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    }
)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a schema, and what Confluent's registry says of it."""

    name: str
    old: Schema
    new: Schema
    broken: tuple[str, ...]
    drafts: tuple[str, ...]
    ours: tuple[str, ...] | None

    def expected(self, *, lenient: bool) -> tuple[str, ...]:
        """What Headrace reports."""
        broken = self.broken if self.ours is None else self.ours
        return tuple(each for each in broken if not lenient or each.split()[0] not in FORGIVEN)


def change(
    name: str,
    old: Schema,
    new: Schema,
    *broken: str,
    drafts: tuple[str, ...] = ALL,
    ours: Sequence[str] | None = None,
) -> Change:
    """A row."""
    return Change(name, old, new, broken, drafts, None if ours is None else tuple(ours))


def spelled(schema: Any, draft: str, *, is_root: bool = True) -> Any:
    """A schema of draft 7 as another draft writes it."""
    if not isinstance(schema, dict):
        return schema
    said: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in {"properties", "patternProperties", "definitions"}:
            said[keyword] = {
                name: spelled(each, draft, is_root=False) for name, each in value.items()
            }
        elif keyword == "dependencies" and draft in {DRAFT_2019, DRAFT_2020}:
            for name, each in value.items():
                modern = "dependentRequired" if isinstance(each, list) else "dependentSchemas"
                said.setdefault(modern, {})[name] = spelled(each, draft, is_root=False)
        elif keyword == "$id" and draft == DRAFT_4:
            said["id"] = value
        elif isinstance(value, list) and keyword not in {"enum", "required", "type"}:
            said[keyword] = [spelled(each, draft, is_root=False) for each in value]
        else:
            said[keyword] = spelled(value, draft, is_root=False)
    if draft == DRAFT_2020 and isinstance(said.get("items"), list):
        said["prefixItems"] = said.pop("items")
        if "additionalItems" in said:
            said["items"] = said.pop("additionalItems")
    return {"$schema": draft, **said} if is_root else said


def has(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A schema for objects that does not say so."""
    return {"properties": properties, **more}


def within(schema: Any) -> dict[str, Any]:
    """The schema as a property of an object."""
    return {"type": "object", "properties": {"p": schema}}


def listed(*items: Any, **more: Any) -> dict[str, Any]:
    """An array with items by position."""
    return array(items=list(items), **more)


def one(*members: Any) -> dict[str, Any]:
    return {"oneOf": list(members)}


def either(*members: Any) -> dict[str, Any]:
    return {"anyOf": list(members)}


def both(*members: Any) -> dict[str, Any]:
    return {"allOf": list(members)}


OPTIONAL_TEXT: Final = one(NULL, STRING)
COLOURS: Final = {"enum": ["cyan", "teal"]}
PATTERNS: Final = {"^T_": STRING, "^N_": INTEGER}
P: Final = "#/properties/p"
Q: Final = "#/properties/q"

SCALARS: list[Change] = [
    change("an object becomes anything", has({}), {}),
    change("an identifier changes", {"$id": "urn:a"}, {"$id": "urn:b"}),
    change("a title changes", {"title": "a"}, {"title": "b"}),
    change("a description changes", {"description": "a"}, {"description": "b"}),
    change("a default changes", {**STRING, "default": "a"}, {**STRING, "default": "b"}),
    change("an object becomes an array", {"type": "object"}, {"type": "array"}, "TYPE_CHANGED #/"),
    change(
        "a least length grows",
        {**STRING, "minLength": 3},
        {**STRING, "minLength": 4},
        "MIN_LENGTH_INCREASED #/minLength",
    ),
    change("a least length shrinks", {**STRING, "minLength": 4}, {**STRING, "minLength": 3}),
    change("a least length goes", {**STRING, "minLength": 4}, STRING),
    change(
        "a least length comes", STRING, {**STRING, "minLength": 4}, "MIN_LENGTH_ADDED #/minLength"
    ),
    change("a most length grows", {**STRING, "maxLength": 3}, {**STRING, "maxLength": 4}),
    change(
        "a most length shrinks",
        {**STRING, "maxLength": 4},
        {**STRING, "maxLength": 3},
        "MAX_LENGTH_DECREASED #/maxLength",
    ),
    change(
        "a most length comes", STRING, {**STRING, "maxLength": 4}, "MAX_LENGTH_ADDED #/maxLength"
    ),
    change("a pattern goes", {**STRING, "pattern": "a"}, STRING),
    change("a pattern comes", STRING, {**STRING, "pattern": "a"}, "PATTERN_ADDED #/pattern"),
    change(
        "a pattern changes",
        {**STRING, "pattern": "a"},
        {**STRING, "pattern": "b"},
        "PATTERN_CHANGED #/pattern",
    ),
    change("a pattern stays", {**STRING, "pattern": "a"}, {**STRING, "pattern": "a"}),
    change("a maximum goes", {**NUMBER, "maximum": 7}, NUMBER),
    change("a maximum comes", NUMBER, {**NUMBER, "maximum": 7}, "MAXIMUM_ADDED #/maximum"),
    change("a maximum grows", {**NUMBER, "maximum": 7}, {**NUMBER, "maximum": 8}),
    change(
        "a maximum shrinks",
        {**NUMBER, "maximum": 8},
        {**NUMBER, "maximum": 7},
        "MAXIMUM_DECREASED #/maximum",
    ),
    change("a minimum goes", {**NUMBER, "minimum": 7}, NUMBER),
    change("a minimum comes", NUMBER, {**NUMBER, "minimum": 7}, "MINIMUM_ADDED #/minimum"),
    change("a minimum shrinks", {**NUMBER, "minimum": 8}, {**NUMBER, "minimum": 7}),
    change(
        "a minimum grows",
        {**NUMBER, "minimum": 7},
        {**NUMBER, "minimum": 8},
        "MINIMUM_INCREASED #/minimum",
    ),
    change("a divisor goes", {**NUMBER, "multipleOf": 6}, NUMBER),
    change("a divisor shrinks", {**NUMBER, "multipleOf": 6}, {**NUMBER, "multipleOf": 3}),
    change(
        "a divisor grows",
        {**NUMBER, "multipleOf": 3},
        {**NUMBER, "multipleOf": 6},
        "MULTIPLE_OF_EXPANDED #/multipleOf",
    ),
    change(
        "a fraction of a divisor grows",
        {**NUMBER, "multipleOf": 0.5},
        {**NUMBER, "multipleOf": 10},
        "MULTIPLE_OF_EXPANDED #/multipleOf",
    ),
    change(
        "a divisor of another scale", {**NUMBER, "multipleOf": 0.5}, {**NUMBER, "multipleOf": 0.50}
    ),
    change(
        "a divisor changes",
        {**NUMBER, "multipleOf": 6},
        {**NUMBER, "multipleOf": 7},
        "MULTIPLE_OF_CHANGED #/multipleOf",
    ),
    change("a number narrows", NUMBER, INTEGER, "TYPE_NARROWED #/"),
    change("an integer widens", INTEGER, NUMBER),
    change("less is forbidden", {"not": NUMBER}, {"not": INTEGER}),
    change("more is forbidden", {"not": INTEGER}, {"not": NUMBER}, "NOT_TYPE_EXTENDED #/not"),
    change("listed values go", {**STRING, **COLOURS}, STRING),
    change("listed values come", STRING, {**STRING, **COLOURS}, "TYPE_CHANGED #/"),
    change("a listed value joins", {"enum": ["cyan"]}, COLOURS),
    change("a listed value leaves", COLOURS, {"enum": ["cyan"]}, "ENUM_ARRAY_NARROWED #/enum"),
    change(
        "a listed value is exchanged",
        {"enum": ["cyan"]},
        {"enum": ["teal"]},
        "ENUM_ARRAY_CHANGED #/enum",
    ),
    change(
        "a listed value of a typed schema leaves",
        {**STRING, **COLOURS},
        {**STRING, "enum": ["cyan"]},
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/",
    ),
    change(
        "a constant changes",
        {"const": "a"},
        {"const": "b"},
        "ENUM_ARRAY_CHANGED #/const",
        drafts=WITH_BOOLEANS,
    ),
    change("a type joins a list of one", {"type": ["object"]}, {"type": ["object", "array"]}),
    change(
        "a type leaves a list",
        {"type": ["string", "null", "boolean"]},
        {"type": ["string", "null"]},
        "SUM_TYPE_NARROWED #/",
    ),
    change(
        "a list of types becomes one of them",
        {"type": ["string", "null"]},
        STRING,
        "TYPE_CHANGED #/",
    ),
    change(
        "a decimal of Kafka Connect as a number",
        {**STRING, "connect.type": "bytes"},
        {**NUMBER, "connect.type": "bytes"},
    ),
    change(
        "only one side is bytes to Kafka Connect",
        {**STRING, "connect.type": "bytes"},
        NUMBER,
        "TYPE_CHANGED #/",
    ),
]

OBJECTS: list[Change] = [
    change(
        "a property is exchanged in an open model",
        has({"p": STRING}),
        has({"q": STRING}),
        f"OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL {Q}",
    ),
    change("a property changes", has({"p": STRING}), has({"p": NUMBER}), f"TYPE_CHANGED {P}"),
    change(
        "a closed model gets a property",
        has({"p": STRING}, additionalProperties=False),
        has({"p": STRING, "q": NUMBER}, additionalProperties=False),
    ),
    change(
        "a closed model gets a required property",
        has({}, additionalProperties=False),
        has({"q": NUMBER}, additionalProperties=False, required=["q"]),
        f"REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL {Q}",
    ),
    change(
        "a closed model gets a required property with a default",
        has({}, additionalProperties=False),
        has({"q": {**NUMBER, "default": 1}}, additionalProperties=False, required=["q"]),
    ),
    change(
        "a closed model loses a property",
        has({"q": NUMBER}, additionalProperties=False),
        has({}, additionalProperties=False),
        f"PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL {Q}",
    ),
    change(
        "an open model gets a required property",
        has({}),
        has({"q": NUMBER}, required=["q"]),
        f"REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL {Q}",
    ),
    change(
        "an open model gets a required property with a default",
        has({}),
        has({"q": {**NUMBER, "default": 1}}, required=["q"]),
        f"REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL {Q}",
    ),
    change(
        "a property that a pattern covers comes",
        has({"p": STRING}, additionalProperties=False, patternProperties=PATTERNS),
        has({"p": STRING, "N_1": NUMBER}, additionalProperties=False, patternProperties=PATTERNS),
    ),
    change(
        "a property that a pattern does not cover comes",
        has({}, additionalProperties=False, patternProperties=PATTERNS),
        has({"N_1": STRING}, additionalProperties=False, patternProperties=PATTERNS),
        "TYPE_CHANGED #/properties/N_1",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/N_1",
    ),
    change(
        "a property that the rest covers comes",
        has({"p": STRING}, additionalProperties=STRING),
        has({"p": STRING, "q": STRING}, additionalProperties=STRING),
    ),
    change(
        "a property that the rest does not cover comes",
        has({"p": STRING}, additionalProperties=STRING),
        has({"p": STRING, "q": NUMBER}, additionalProperties=STRING),
        f"TYPE_CHANGED {Q}",
        f"PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL {Q}",
    ),
    change(
        "a required property that the rest covers comes",
        has({}, additionalProperties=STRING),
        has({"q": STRING}, required=["q"], additionalProperties=STRING),
        f"REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL {Q}",
    ),
    change(
        "a property goes that a pattern covers",
        has({"p": STRING, "N_1": INTEGER}, additionalProperties=False),
        has({"p": STRING}, additionalProperties=False, patternProperties={"^N_": NUMBER}),
    ),
    change(
        "a property goes that a pattern does not cover",
        has({"N_1": STRING}, additionalProperties=False),
        has({}, additionalProperties=False, patternProperties={"^N_": NUMBER}),
        "TYPE_CHANGED #/properties/N_1",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/N_1",
    ),
    change(
        "a property goes that the rest covers",
        has({"p": STRING, "q": STRING}, additionalProperties=False),
        has({"p": STRING}, additionalProperties=STRING),
    ),
    change(
        "a property goes that the rest does not cover",
        has({"p": STRING, "q": NUMBER}, additionalProperties=False),
        has({"p": STRING}, additionalProperties=STRING),
        f"TYPE_CHANGED {Q}",
        f"PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL {Q}",
    ),
    change(
        "an optional value goes that the rest covers",
        has({"p": STRING, "q": OPTIONAL_TEXT}, additionalProperties=False),
        has({"p": STRING}, additionalProperties=OPTIONAL_TEXT),
    ),
    change(
        "a value goes that an alternative of the rest covers",
        has({"q": STRING}, additionalProperties=False),
        has({}, additionalProperties=OPTIONAL_TEXT),
    ),
    change(
        "a dependency turns around",
        has({"p": NUMBER, "q": STRING}, dependencies={"p": ["q"]}),
        has({"p": NUMBER, "q": STRING}, dependencies={"q": ["p"]}),
        "DEPENDENCY_ARRAY_ADDED #/dependencies/q",
    ),
    change(
        "a dependency asks for more",
        {"dependencies": {"p": ["q"]}},
        {"dependencies": {"p": ["q", "r"]}},
        "DEPENDENCY_ARRAY_EXTENDED #/dependencies/p",
    ),
    change(
        "a dependency on a schema goes",
        {"dependencies": {"p": STRING, "q": STRING}},
        {"dependencies": {"p": STRING}},
    ),
    change(
        "a dependency on a schema changes",
        {"dependencies": {"p": STRING}},
        {"dependencies": {"p": NUMBER}},
        "TYPE_CHANGED #/dependencies/p",
    ),
    change(
        "a dependency on a schema moves",
        {"dependencies": {"p": STRING}},
        {"dependencies": {"q": STRING}},
        "DEPENDENCY_SCHEMA_ADDED #/dependencies/q",
    ),
    change(
        "a property is no longer required", has({"p": STRING}, required=["p"]), has({"p": STRING})
    ),
    change(
        "a property becomes required",
        has({"p": STRING}),
        has({"p": STRING}, required=["p"]),
        "REQUIRED_ATTRIBUTE_ADDED #/required/p",
    ),
    change(
        "a property that is not declared becomes required in place of one that is",
        has({"p": STRING}, required=["p"]),
        has({"p": STRING}, required=["q"]),
        ours=["REQUIRED_ATTRIBUTE_ADDED #/required/q"],
    ),
    change("a most number of properties goes", has({}, maxProperties=4), has({})),
    change("a most number of properties grows", {"maxProperties": 4}, {"maxProperties": 5}),
    change(
        "a most number of properties shrinks",
        {"maxProperties": 5},
        {"maxProperties": 4},
        "MAX_PROPERTIES_DECREASED #/maxProperties",
    ),
    change("a least number of properties goes", has({}, minProperties=4), has({})),
    change(
        "a least number of properties grows",
        {"minProperties": 4},
        {"minProperties": 5},
        "MIN_PROPERTIES_INCREASED #/minProperties",
    ),
    change("a least number of properties shrinks", {"minProperties": 5}, {"minProperties": 4}),
    change("a closed model opens", has({}, additionalProperties=False), has({})),
    change(
        "an open model closes",
        {"additionalProperties": True},
        {"additionalProperties": False},
        "ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties",
    ),
    change(
        "an open model gets a schema for the rest",
        has({}, additionalProperties=True),
        has({}, additionalProperties=NUMBER),
        "ADDITIONAL_PROPERTIES_NARROWED #/additionalProperties",
    ),
    change(
        "the schema for the rest changes",
        {"additionalProperties": STRING},
        {"additionalProperties": NUMBER},
        "TYPE_CHANGED #/additionalProperties",
    ),
    change(
        "an open model gets a property that may be anything",
        has({}, additionalProperties=True),
        has({"p": True}, additionalProperties=True),
        drafts=WITH_BOOLEANS,
    ),
    change(
        "an open model loses a property that may be anything",
        has({"p": True}, additionalProperties=True),
        has({}, additionalProperties=True),
        drafts=WITH_BOOLEANS,
    ),
    change(
        "a closed model gets a property that nothing fits",
        has({}, additionalProperties=False),
        has({"p": False}, additionalProperties=False),
        drafts=WITH_BOOLEANS,
    ),
    change(
        "a closed model loses a property that nothing fits",
        has({"p": False}, additionalProperties=False),
        has({}, additionalProperties=False),
        drafts=WITH_BOOLEANS,
    ),
]

ARRAYS: list[Change] = [
    change("items get a schema", array(), array(items=STRING), "SCHEMA_ADDED #/items"),
    change("items lose their schema", array(items=STRING), array()),
    change("a list of items goes", listed(STRING, NUMBER), array()),
    change(
        "one schema for all items becomes a list",
        array(items=STRING),
        listed(STRING),
        "ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/0",
    ),
    change(
        "a list of items becomes one schema for all",
        listed(STRING),
        array(items=STRING),
        "SCHEMA_ADDED #/items",
    ),
    change(
        "an open list gets an item",
        listed(STRING),
        listed(STRING, NUMBER),
        "ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1",
    ),
    change(
        "an item comes that the rest covers",
        listed(STRING, additionalItems=NUMBER),
        listed(STRING, NUMBER, additionalItems=NUMBER),
    ),
    change(
        "an item comes that the rest does not cover",
        listed(STRING, additionalItems=NUMBER),
        listed(STRING, STRING, additionalItems=NUMBER),
        "TYPE_CHANGED #/items/1",
        "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    change(
        "an item goes that the rest covers",
        listed(STRING, OPTIONAL_TEXT, additionalItems=OPTIONAL_TEXT),
        listed(STRING, additionalItems=OPTIONAL_TEXT),
    ),
    change(
        "an item goes that the rest does not cover",
        listed(STRING, STRING, additionalItems=NUMBER),
        listed(STRING, additionalItems=NUMBER),
        "TYPE_CHANGED #/items/1",
        "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    change("an item changes", listed(STRING), listed(NUMBER), "TYPE_CHANGED #/items/0"),
    change(
        "a most number of items shrinks",
        array(maxItems=5),
        array(maxItems=4),
        "MAX_ITEMS_DECREASED #/maxItems",
    ),
    change("a least number of items goes", array(minItems=4), array()),
    change(
        "a least number of items grows",
        array(minItems=4),
        array(minItems=5),
        "MIN_ITEMS_INCREASED #/minItems",
    ),
    change("a least number of items shrinks", array(minItems=5), array(minItems=4)),
    change("items need not be unique", array(uniqueItems=True), array()),
    change(
        "items must be unique",
        array(),
        array(uniqueItems=True),
        "UNIQUE_ITEMS_ADDED #/uniqueItems",
    ),
    change(
        "the target of a reference changes",
        array(items={"$ref": "#/definitions/d"}, definitions={"d": STRING}),
        array(items={"$ref": "#/definitions/d"}, definitions={"d": NUMBER}),
        "TYPE_CHANGED #/items",
    ),
    change(
        "a schema becomes a reference",
        STRING,
        {"$ref": "#/definitions/d", "definitions": {"d": STRING}},
    ),
    change(
        "a reference becomes a schema",
        {"$ref": "#/definitions/d", "definitions": {"d": STRING}},
        STRING,
    ),
    change(
        "the rest closes beside no list of items",
        {"additionalItems": True},
        {"additionalItems": False},
        "ADDITIONAL_ITEMS_REMOVED #/additionalItems",
        drafts=LISTS_OF_ITEMS,
    ),
    change(
        "the rest changes beside no list of items",
        {"additionalItems": STRING},
        {"additionalItems": NUMBER},
        "TYPE_CHANGED #/additionalItems",
        drafts=LISTS_OF_ITEMS,
    ),
    change(
        "no items are left",
        {"items": True},
        {"items": False},
        "ADDITIONAL_ITEMS_REMOVED #/additionalItems",
        drafts=(DRAFT_2020,),
    ),
    change(
        "the schema for all items changes",
        {"items": STRING},
        {"items": NUMBER},
        "TYPE_CHANGED #/items",
    ),
    change(
        "an open list gets an item that may be anything",
        listed(NUMBER, additionalItems=True),
        listed(NUMBER, True, additionalItems=True),
        drafts=WITH_BOOLEANS,
    ),
    change(
        "an open list loses an item that may be anything",
        listed(NUMBER, True, additionalItems=True),
        listed(NUMBER, additionalItems=True),
        drafts=WITH_BOOLEANS,
    ),
    change(
        "a closed list gets an item that nothing fits",
        listed(NUMBER, additionalItems=False),
        listed(NUMBER, False, additionalItems=False),
        drafts=WITH_BOOLEANS,
    ),
    change(
        "a closed list loses an item that nothing fits",
        listed(NUMBER, False, additionalItems=False),
        listed(NUMBER, additionalItems=False),
        drafts=WITH_BOOLEANS,
    ),
    change(
        "a closed list gets an item and opens",
        listed(STRING, additionalItems=False),
        listed(STRING, BOOLEAN, additionalItems=True),
    ),
    change(
        "a closed list loses an item and opens",
        listed(STRING, BOOLEAN, additionalItems=False),
        listed(STRING, additionalItems=True),
    ),
    change("an open list loses an item", listed(STRING, NUMBER), listed(STRING)),
    change(
        "a closed list gets an item",
        listed(STRING, additionalItems=False),
        listed(STRING, NUMBER, additionalItems=False),
    ),
    change(
        "a closed list loses an item",
        listed(STRING, NUMBER, additionalItems=False),
        listed(STRING, additionalItems=False),
        "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1",
    ),
    change(
        "a closed list opens for the item that it loses",
        listed(STRING, NUMBER, additionalItems=False),
        listed(STRING, additionalItems=NUMBER),
    ),
    change(
        "a list opens after an item that the rest covered",
        listed(STRING, additionalItems=NUMBER),
        listed(STRING, NUMBER, additionalItems=True),
    ),
]

_MODERN: Final = (DRAFT_2020,)
UNEVALUATED: list[Change] = [
    change(
        "an item moves from the unevaluated ones to the list",
        listed(STRING, unevaluatedItems=NUMBER),
        listed(STRING, NUMBER, unevaluatedItems=NUMBER),
        drafts=_MODERN,
    ),
    change(
        "an item moves from the list to the unevaluated ones",
        listed(STRING, NUMBER, unevaluatedItems=NUMBER),
        listed(STRING, unevaluatedItems=NUMBER),
        drafts=_MODERN,
    ),
    change(
        "an item comes that the unevaluated ones do not cover",
        listed(STRING, unevaluatedItems=NUMBER),
        listed(STRING, STRING, unevaluatedItems=NUMBER),
        "TYPE_CHANGED #/items/1",
        "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
        drafts=_MODERN,
    ),
    change(
        "a list closed for the unevaluated gets an item",
        listed(STRING, unevaluatedItems=False),
        listed(STRING, NUMBER, unevaluatedItems=False),
        drafts=_MODERN,
    ),
    change(
        "a list closed for the unevaluated loses an item",
        listed(STRING, NUMBER, unevaluatedItems=False),
        listed(STRING, unevaluatedItems=False),
        "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1",
        drafts=_MODERN,
    ),
    change(
        "unevaluated items are refused",
        listed(STRING),
        listed(STRING, unevaluatedItems=False),
        "UNEVALUATED_ITEMS_REMOVED #/unevaluatedItems",
        drafts=_MODERN,
    ),
    change(
        "unevaluated items get a schema",
        listed(STRING),
        listed(STRING, unevaluatedItems=NUMBER),
        "UNEVALUATED_ITEMS_NARROWED #/unevaluatedItems",
        drafts=_MODERN,
    ),
    change(
        "unevaluated items are allowed again",
        listed(STRING, unevaluatedItems=False),
        listed(STRING),
        drafts=_MODERN,
    ),
    change(
        "unevaluated items change",
        listed(STRING, unevaluatedItems=NUMBER),
        listed(STRING, unevaluatedItems=BOOLEAN),
        "TYPE_CHANGED #/unevaluatedItems",
        drafts=_MODERN,
    ),
    change(
        "more must be contained",
        array(contains=STRING, minContains=2),
        array(contains=STRING, minContains=3),
        "MIN_CONTAINS_INCREASED #/minContains",
        drafts=_MODERN,
    ),
    change(
        "less may be contained",
        array(contains=STRING, maxContains=3),
        array(contains=STRING, maxContains=2),
        "MAX_CONTAINS_DECREASED #/maxContains",
        drafts=_MODERN,
    ),
    change(
        "unevaluated properties are refused",
        has({}),
        has({}, unevaluatedProperties=False),
        "UNEVALUATED_PROPERTIES_REMOVED #/unevaluatedProperties",
        drafts=_MODERN,
    ),
]

COMBINATIONS: list[Change] = [
    change(
        "the order of factors",
        within(both(COLOURS, STRING, {"maxLength": 9})),
        within(both({"maxLength": 9}, COLOURS, STRING)),
    ),
    change(
        "a factor is exchanged",
        within(both(COLOURS, STRING, {"maxLength": 9})),
        within(both({"maxLength": 9}, COLOURS, NUMBER)),
        f"COMBINED_TYPE_SUBSCHEMAS_CHANGED {P}",
    ),
    change(
        "the values of a factor are exchanged",
        both(STRING, {"enum": ["cyan"]}),
        both(STRING, {"enum": ["teal"]}),
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/",
    ),
    change("the values of a factor grow", both(STRING, {"enum": ["cyan"]}), both(COLOURS, STRING)),
    change(
        "a factor stands there twice before", within(both(STRING, STRING)), within(both(STRING))
    ),
    change("a factor stands there twice after", within(both(STRING)), within(both(STRING, STRING))),
    change("a factor goes", within(both(COLOURS, STRING)), within(both(STRING))),
    change(
        "a factor comes",
        within(both(STRING)),
        within(both(COLOURS, STRING)),
        f"PRODUCT_TYPE_EXTENDED {P}",
    ),
    change(
        "the one alternative changes",
        one(STRING),
        one(NUMBER),
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/",
    ),
    change(
        "a property of the one alternative changes",
        one(has({"p": STRING})),
        one(has({"p": NUMBER})),
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/",
    ),
    change("an alternative comes", within(one(STRING)), within(one(BOOLEAN, NUMBER, STRING))),
    change(
        "an alternative widens and others come",
        within(one({**STRING, "maxLength": 5})),
        within(one(BOOLEAN, {**STRING, "maxLength": 8, "title": "t"})),
    ),
    change(
        "an alternative goes",
        within(one(NUMBER, STRING)),
        within(one(STRING)),
        f"SUM_TYPE_NARROWED {P}",
    ),
    change("one alternative of one becomes any", within(one(STRING)), within(either(STRING))),
    change(
        "one alternative of one becomes any of two",
        within(one(STRING)),
        within(either(NUMBER, STRING)),
    ),
    change("all of one becomes any", within(both(STRING)), within(either(STRING))),
    change("all of one becomes any of two", within(both(STRING)), within(either(NUMBER, STRING))),
    change("any of one becomes one of two", within(either(STRING)), within(one(NUMBER, STRING))),
    change(
        "any of two becomes one",
        within(either(NUMBER, STRING)),
        within(one(STRING)),
        f"COMBINED_TYPE_CHANGED {P}",
    ),
    change("all of one becomes one of two", within(both(NUMBER)), within(one(NUMBER, STRING))),
    change("any of one becomes all of one", within(either(STRING)), within(both(STRING))),
    change("one of one becomes all of one", within(one(STRING)), within(both(STRING))),
    change(
        "any of one becomes all of two",
        within(either(STRING)),
        within(both(NUMBER, STRING)),
        f"COMBINED_TYPE_CHANGED {P}",
    ),
    change(
        "one of one becomes all of two",
        within(one(STRING)),
        within(both(NUMBER, STRING)),
        f"COMBINED_TYPE_CHANGED {P}",
    ),
    change("a schema becomes any of two", within(STRING), within(either(NUMBER, STRING))),
    change("a schema becomes one of two", within(STRING), within(one(NUMBER, STRING))),
    change("a schema becomes all of one", within(STRING), within(both(STRING))),
    change("null becomes one of two", NULL, one(NUMBER, NULL)),
    change("a narrow schema becomes one of two", {**STRING, "maxLength": 3}, one(NUMBER, STRING)),
    change(
        "no alternative takes the schema",
        within(BOOLEAN),
        within(one(NUMBER, STRING)),
        f"TYPE_CHANGED {P}",
    ),
    change(
        "alternatives become a schema that takes one of them",
        within(one(NUMBER, STRING)),
        within(STRING),
        f"TYPE_CHANGED {P}",
    ),
    change("all of two becomes one of them", within(both(STRING, COLOURS)), within(STRING)),
]

CHANGES: list[Change] = [*SCALARS, *OBJECTS, *ARRAYS, *UNEVALUATED, *COMBINATIONS]
