"""Vectors for combinators, references and recursion."""

from __future__ import annotations

from typing import Any

from tests.schemas.json_schema.vectors import (
    BOOLEAN,
    DRAFT_2019,
    DRAFT_2020,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    Row,
    closed_object,
    open_object,
    row,
)

SHORT: dict[str, Any] = {"type": "string", "maxLength": 5}
LONG: dict[str, Any] = {"type": "string", "maxLength": 10}


def one(*members: Any) -> dict[str, Any]:
    return {"oneOf": list(members)}


def either(*members: Any) -> dict[str, Any]:
    return {"anyOf": list(members)}


def both(*members: Any) -> dict[str, Any]:
    return {"allOf": list(members)}


SUMS: list[Row] = [
    row(
        "an alternative joins",
        one(STRING, INTEGER),
        one(STRING, INTEGER, NULL),
        [],
        ["SUM_TYPE_NARROWED #/"],
    ),
    row(
        "an alternative joins any",
        either(STRING, INTEGER),
        either(STRING, INTEGER, NULL),
        [],
        ["SUM_TYPE_NARROWED #/"],
    ),
    row("the order of alternatives says nothing", one(STRING, INTEGER), one(INTEGER, STRING)),
    row(
        "an alternative is exchanged",
        one(STRING, INTEGER),
        one(STRING, NULL),
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
    ),
    row(
        "an alternative widens",
        one(SHORT, INTEGER),
        one(LONG, INTEGER),
        [],
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
    ),
    row(
        "one alternative becomes another type",
        one(STRING),
        one(INTEGER),
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
    ),
    row(
        "exactly one becomes any",
        one(STRING, INTEGER),
        either(STRING, INTEGER),
        [],
        ["COMBINED_TYPE_CHANGED #/"],
    ),
    row("a plain schema becomes one alternative", STRING, one(STRING), []),
    row(
        "a plain schema becomes an alternative", STRING, one(STRING, NULL), [], ["TYPE_CHANGED #/"]
    ),
    row("a list of types becomes alternatives", {"type": ["string", "null"]}, either(STRING, NULL)),
    row(
        "a list of types loses one among alternatives",
        {"type": ["string", "null", "boolean"]},
        one(STRING, NULL),
        ["COMBINED_TYPE_CHANGED #/"],
        [],
    ),
    row(
        "no alternative fits", BOOLEAN, one(STRING, NULL), ["TYPE_CHANGED #/"], ["TYPE_CHANGED #/"]
    ),
    row(
        "two alternatives become one that includes them",
        either(SHORT, LONG),
        either(STRING),
        [],
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
    ),
    row(
        "alternatives beside other keywords",
        {**open_object({"a": STRING}), **either({"required": ["a"]}, {"required": ["b"]})},
        {**open_object({"a": STRING}), **either({"required": ["a"]})},
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        [],
    ),
    row(
        "an optional property inside an alternative",
        one(open_object({"a": STRING}, "a"), NULL),
        one(open_object({"a": STRING, "b": STRING}, "a"), NULL),
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        [],
        lenient_backward=[],
    ),
]

PRODUCTS: list[Row] = [
    row(
        "a factor joins",
        both(STRING, {"maxLength": 5}),
        both(STRING, {"maxLength": 5}, {"minLength": 1}),
        ["PRODUCT_TYPE_EXTENDED #/"],
        [],
    ),
    row(
        "the order of factors says nothing",
        both(STRING, {"maxLength": 5}),
        both({"maxLength": 5}, STRING),
    ),
    row("a plain schema gets a factor", STRING, both(STRING), []),
    row(
        "a factor is a plain schema",
        both(STRING, {"maxLength": 5}),
        STRING,
        [],
        ["TYPE_CHANGED #/"],
    ),
    row("one factor changes", both(SHORT), both(LONG), [], ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"]),
    row(
        "one factor of two changes",
        both(SHORT, {"minLength": 2}),
        both(SHORT, {"minLength": 3}),
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        [],
    ),
    row(
        "a product becomes a sum",
        both(STRING, {"maxLength": 5}),
        either(STRING, {"maxLength": 5}),
        [],
        ["COMBINED_TYPE_CHANGED #/"],
    ),
    row(
        "a property more in a factor",
        both(open_object({"a": STRING}), {"required": ["a"]}),
        both(open_object({"a": STRING, "b": STRING}), {"required": ["a"]}),
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        [],
        lenient_backward=[],
    ),
]

NEGATIONS: list[Row] = [
    row("something is refused", {}, {"not": STRING}, ["TYPE_CHANGED #/"], []),
    row("more is refused", {"not": INTEGER}, {"not": NUMBER}, ["NOT_TYPE_EXTENDED #/not"]),
    row("longer strings are refused", {"not": SHORT}, {"not": LONG}, ["NOT_TYPE_EXTENDED #/not"]),
    row("what is refused was never sent", INTEGER, {**INTEGER, "not": STRING}),
    row("the same is refused", {"not": STRING}, {"not": STRING, "title": "x"}),
]

CONDITIONS: list[Row] = [
    row(
        "a condition appears", {}, {"if": STRING, "then": {"maxLength": 5}}, ["TYPE_CHANGED #/"], []
    ),
    row("a condition without outcome says nothing", {}, {"if": STRING}),
    row(
        "its outcome tightens",
        {"if": STRING, "then": {"maxLength": 5}},
        {"if": STRING, "then": {"maxLength": 4}},
        ["MAX_LENGTH_DECREASED #/then/maxLength"],
    ),
    row(
        "the condition changes",
        {"if": STRING, "then": {"maxLength": 5}},
        {"if": INTEGER, "then": {"maxLength": 5}},
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/if"],
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/if"],
    ),
    row(
        "every outcome holds anyway",
        SHORT,
        {**SHORT, "if": {"minLength": 2}, "then": LONG, "else": LONG},
    ),
]


def tree(value: Any, **more: Any) -> dict[str, Any]:
    """A schema that refers to itself."""
    node = closed_object({"value": value, "next": {"$ref": "#/definitions/node"}, **more})
    return {"definitions": {"node": node}, "$ref": "#/definitions/node"}


REFERENCES: list[Row] = [
    row(
        "a reference and its target",
        {"definitions": {"s": STRING}, **open_object({"a": {"$ref": "#/definitions/s"}})},
        open_object({"a": STRING}),
    ),
    row(
        "the target changes",
        {"definitions": {"s": STRING}, **open_object({"a": {"$ref": "#/definitions/s"}})},
        {"definitions": {"s": INTEGER}, **open_object({"a": {"$ref": "#/definitions/s"}})},
        ["TYPE_CHANGED #/properties/a"],
        ["TYPE_CHANGED #/properties/a"],
    ),
    row(
        "definitions that nothing refers to",
        {"definitions": {"s": STRING}, **INTEGER},
        {"definitions": {"s": NULL}, **INTEGER},
    ),
    row(
        "definitions move to $defs",
        {"definitions": {"s": STRING}, "$ref": "#/definitions/s"},
        {"$schema": DRAFT_2020, "$defs": {"s": STRING}, "$ref": "#/$defs/s"},
    ),
    row(
        "draft 7 ignores what stands beside a reference",
        {"definitions": {"s": STRING}, "$ref": "#/definitions/s"},
        {"definitions": {"s": STRING}, "$ref": "#/definitions/s", "maxLength": 3},
    ),
    row(
        "2019-09 does not",
        {"$schema": DRAFT_2019, "$defs": {"s": STRING}, "$ref": "#/$defs/s"},
        {"$schema": DRAFT_2019, "$defs": {"s": STRING}, "$ref": "#/$defs/s", "maxLength": 3},
        ["TYPE_CHANGED #/"],
        [],
    ),
    row("a tree stays the same", tree(INTEGER), {**tree(INTEGER), "title": "tree"}),
    row("a tree widens", tree(INTEGER), tree(NUMBER), [], ["TYPE_NARROWED #/properties/value"]),
    row(
        "a tree changes",
        tree(INTEGER),
        tree(STRING),
        ["TYPE_CHANGED #/properties/value"],
        ["TYPE_CHANGED #/properties/value"],
    ),
    row(
        "a tree gets a property",
        tree(INTEGER),
        tree(INTEGER, b=STRING),
        [],
        ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b"],
        lenient_forward=[],
    ),
    row(
        "a tree unrolled once is the same tree",
        tree(INTEGER),
        {
            **tree(INTEGER),
            "$ref": "#/definitions/first",
            "definitions": {
                **tree(INTEGER)["definitions"],
                "first": closed_object({"value": INTEGER, "next": {"$ref": "#/definitions/node"}}),
            },
        },
    ),
    row(
        "a reference by anchor",
        {
            "$schema": DRAFT_2020,
            "$defs": {"s": {"$anchor": "text", **STRING}},
            "items": {"$ref": "#text"},
        },
        {"$schema": DRAFT_2020, "items": STRING},
    ),
    row(
        "a reference by identifier",
        {
            "$id": "https://example.com/root",
            "definitions": {"s": {"$id": "inner", **STRING}},
            "items": {"$ref": "inner"},
        },
        {"items": INTEGER},
        ["TYPE_CHANGED #/items"],
        ["TYPE_CHANGED #/items"],
    ),
]
