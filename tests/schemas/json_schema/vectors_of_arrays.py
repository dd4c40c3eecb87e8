"""Vectors for arrays: items by position, the rest, what must be contained."""

from __future__ import annotations

from typing import Any

from tests.schemas.json_schema.vectors import (
    DRAFT_2020,
    INTEGER,
    NUMBER,
    STRING,
    Row,
    array,
    row,
)


def pair(*items: Any, **keywords: Any) -> dict[str, Any]:
    """An array with items by position, as drafts before 2020-12 write it."""
    return array(items=list(items), **keywords)


def modern(**keywords: Any) -> dict[str, Any]:
    return array(**{"$schema": DRAFT_2020, **keywords})


ITEMS: list[Row] = [
    row(
        "items change",
        array(items=STRING),
        array(items=INTEGER),
        ["TYPE_CHANGED #/items"],
        ["TYPE_CHANGED #/items"],
    ),
    row("items widen", array(items=INTEGER), array(items=NUMBER), [], ["TYPE_NARROWED #/items"]),
    row("items get a schema", array(), array(items=STRING), ["SCHEMA_ADDED #/items"]),
    row("items without a schema", array(), array(items={})),
    row(
        "an array that must be empty",
        array(items=STRING),
        array(items=False),
        ["TYPE_CHANGED #/items"],
        [],
    ),
    row(
        "a most number of items appears", array(), array(maxItems=3), ["MAX_ITEMS_ADDED #/maxItems"]
    ),
    row(
        "a most number of items grows",
        array(maxItems=3),
        array(maxItems=4),
        [],
        ["MAX_ITEMS_DECREASED #/maxItems"],
    ),
    row(
        "a least number of items appears",
        array(),
        array(minItems=3),
        ["MIN_ITEMS_ADDED #/minItems"],
    ),
    row(
        "a least number of items grows",
        array(minItems=3),
        array(minItems=4),
        ["MIN_ITEMS_INCREASED #/minItems"],
    ),
    row(
        "items become unique",
        array(),
        array(uniqueItems=True),
        ["UNIQUE_ITEMS_ADDED #/uniqueItems"],
    ),
    row("false uniqueness says nothing", array(), array(uniqueItems=False)),
]

POSITIONS: list[Row] = [
    row(
        "an item changes",
        pair(STRING, INTEGER),
        pair(STRING, STRING),
        ["TYPE_CHANGED #/items/1"],
        ["TYPE_CHANGED #/items/1"],
    ),
    row(
        "open: an item more",
        pair(STRING),
        pair(STRING, INTEGER),
        ["ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1"],
    ),
    row("open: an item without a schema", pair(STRING), pair(STRING, {})),
    row(
        "closed: an item more",
        pair(STRING, additionalItems=False),
        pair(STRING, INTEGER, additionalItems=False),
        [],
        ["ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1"],
    ),
    row(
        "closed: an item that nothing fits",
        pair(STRING, additionalItems=False),
        pair(STRING, False, additionalItems=False),
    ),
    row(
        "partially open: an item that the rest covers",
        pair(STRING, additionalItems=INTEGER),
        pair(STRING, INTEGER, additionalItems=INTEGER),
    ),
    row(
        "partially open: an item that the rest does not cover",
        pair(STRING, additionalItems=INTEGER),
        pair(STRING, STRING, additionalItems=INTEGER),
        [
            "TYPE_CHANGED #/items/1",
            "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
        ],
        [
            "TYPE_CHANGED #/items/1",
            "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
        ],
    ),
    row(
        "the rest closes",
        pair(STRING),
        pair(STRING, additionalItems=False),
        ["ADDITIONAL_ITEMS_REMOVED #/additionalItems"],
    ),
    row(
        "the rest gets a schema",
        pair(STRING),
        pair(STRING, additionalItems=INTEGER),
        ["ADDITIONAL_ITEMS_NARROWED #/additionalItems"],
    ),
    row(
        "a closed rest opens for integers",
        pair(STRING, additionalItems=False),
        pair(STRING, additionalItems=INTEGER),
        [],
        ["ADDITIONAL_ITEMS_REMOVED #/additionalItems"],
    ),
    row(
        "additionalItems counts beside a single schema, too",
        array(items=STRING),
        array(items=STRING, additionalItems=False),
        ["ADDITIONAL_ITEMS_REMOVED #/additionalItems"],
        [],
    ),
    row(
        "2020-12: an item changes",
        modern(prefixItems=[STRING]),
        modern(prefixItems=[INTEGER]),
        ["TYPE_CHANGED #/items/0"],
        ["TYPE_CHANGED #/items/0"],
    ),
    row(
        "2020-12: closed: an item more",
        modern(prefixItems=[STRING], items=False),
        modern(prefixItems=[STRING, INTEGER], items=False),
        [],
        ["ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1"],
    ),
    row(
        "2020-12: the rest closes",
        modern(prefixItems=[STRING]),
        modern(prefixItems=[STRING], items=False),
        ["ADDITIONAL_ITEMS_REMOVED #/additionalItems"],
        [],
    ),
    row(
        "draft 7 and 2020-12 write one pair in two ways",
        pair(STRING, INTEGER, additionalItems=False),
        modern(prefixItems=[STRING, INTEGER], items=False),
    ),
    row(
        "2020-12: unevaluated items are refused",
        modern(prefixItems=[STRING]),
        modern(prefixItems=[STRING], unevaluatedItems=False),
        ["UNEVALUATED_ITEMS_REMOVED #/unevaluatedItems"],
    ),
    row(
        "2020-12: unevaluated items widen",
        modern(prefixItems=[STRING], unevaluatedItems=INTEGER),
        modern(prefixItems=[STRING], unevaluatedItems=NUMBER),
        [],
        ["TYPE_NARROWED #/unevaluatedItems"],
    ),
    row(
        "2020-12: unevaluated items get a schema",
        modern(prefixItems=[STRING]),
        modern(prefixItems=[STRING], unevaluatedItems=STRING),
        ["UNEVALUATED_ITEMS_NARROWED #/unevaluatedItems"],
    ),
]

CONTAINED: list[Row] = [
    row(
        "something must be contained",
        array(),
        array(contains=STRING),
        ["PRODUCT_TYPE_EXTENDED #/contains"],
    ),
    row(
        "what is contained widens",
        array(contains=INTEGER),
        array(contains=NUMBER),
        [],
        ["TYPE_NARROWED #/contains"],
    ),
    row(
        "2020-12: more of it",
        modern(contains=STRING, minContains=2),
        modern(contains=STRING, minContains=3),
        ["MIN_CONTAINS_INCREASED #/minContains"],
    ),
    row(
        "2020-12: at least one is the default",
        modern(contains=STRING),
        modern(contains=STRING, minContains=1),
    ),
    row("2020-12: at least none says nothing", modern(), modern(contains=STRING, minContains=0)),
    row(
        "2020-12: at most so many",
        modern(contains=STRING),
        modern(contains=STRING, maxContains=3),
        ["MAX_CONTAINS_ADDED #/maxContains"],
    ),
    row(
        "2020-12: at most more",
        modern(contains=STRING, maxContains=3),
        modern(contains=STRING, maxContains=4),
        [],
        ["MAX_CONTAINS_DECREASED #/maxContains"],
    ),
    row(
        "2020-12: more items count towards a most number",
        modern(contains=INTEGER, maxContains=3),
        modern(contains=NUMBER, maxContains=3),
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/contains"],
        ["TYPE_NARROWED #/contains"],
    ),
    row(
        "draft 7 knows no minContains",
        array(contains=STRING),
        array(contains=STRING, minContains=5),
    ),
]
