"""What the strict policy calls backward compatible, a real validator accepts.

A writer's schema is drawn together with a value that fits it, a reader's schema is made from it by
a few edits of any kind, and wherever the checker finds nothing to object to, the `jsonschema`
library must accept the value under the reader's schema. Two things are left out because Confluent's
rules call them compatible although a validator does not: a newly required property that has a
default, and alternatives of `oneOf` that overlap.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from headrace.schemas.json_schema import incompatibilities, parse
from headrace.schemas.model import InvalidSchema
from tests.generated import examples
from tests.schemas.json_schema.vectors import DRAFT_2020

NAMES = ("a", "b", "xa", "xb")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
small = st.integers(0, 4)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 6),
    st.sampled_from([0.5, 2.0, 2.5]),
    st.text("ab", max_size=4),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=8,
)


COMMON: list[Any] = [
    *(None, True, False, *range(-1, 6), 0.5, 2.5, "", "a", "b", "ab", "ba", "aab", "abab"),
    *([], [1], [1, 1], ["a"], ["a", 1], [1, "ab"], [None] * 4, [[], {}], [0, 1, 2, 3, "b"]),
    *({}, {"a": 1}, {"a": "ab"}, {"b": None}, {"xa": 1}, {"xb": "ab"}, {"a": 1, "b": "a"}),
    *({"a": [], "xa": {}}, {"xa": 0, "xb": "b"}, {"a": 1, "b": 2, "xa": 3, "xb": 4}),
]
"""Values that lie near the limits which the schemas draw, and are tried every time."""


def some_of(keywords: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with any few of the keywords."""
    return st.lists(st.sampled_from(sorted(keywords)), max_size=3, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({each: keywords[each] for each in chosen})
    )


def extended(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    lists = st.lists(inner, min_size=1, max_size=3)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": st.one_of(
            st.sampled_from(TYPES),
            st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        ),
        "enum": st.lists(scalars, min_size=1, max_size=3),
        "const": scalars,
        "maxLength": small,
        "minLength": small,
        "pattern": st.sampled_from(["^a", "b$", "ab"]),
        "maximum": small,
        "minimum": small,
        "exclusiveMaximum": small,
        "exclusiveMinimum": small,
        "multipleOf": st.integers(1, 4),
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^x", "a$"]), inner, max_size=2),
        "additionalProperties": inner,
        "required": st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
        "maxProperties": small,
        "minProperties": small,
        "propertyNames": inner,
        "items": inner,
        "maxItems": small,
        "minItems": small,
        "uniqueItems": st.booleans(),
        "contains": inner,
        "allOf": lists,
        "anyOf": lists,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
    }
    return some_of(keywords)


schemas = st.recursive(st.one_of(st.booleans(), extended(st.booleans())), extended, max_leaves=6)

CLASSIC: dict[str, st.SearchStrategy[Any]] = {
    "items": st.lists(extended(st.booleans()), min_size=1, max_size=2),
    "additionalItems": st.one_of(st.booleans(), extended(st.booleans())),
}

MODERN: dict[str, st.SearchStrategy[Any]] = {
    "prefixItems": st.lists(extended(st.booleans()), min_size=1, max_size=2),
    "unevaluatedProperties": st.one_of(st.booleans(), extended(st.booleans())),
    "unevaluatedItems": st.one_of(st.booleans(), extended(st.booleans())),
    "dependentRequired": st.dictionaries(
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        max_size=2,
    ),
    "dependentSchemas": st.dictionaries(
        st.sampled_from(NAMES), extended(st.booleans()), max_size=2
    ),
    "minContains": small,
    "maxContains": small,
    "$ref": st.just("#/$defs/shared"),
}


def places(schema: Any) -> list[dict[str, Any]]:
    """Every schema object inside, the outermost first."""
    if isinstance(schema, list):
        return [each for item in schema for each in places(item)]
    if not isinstance(schema, dict):
        return []
    found = [schema]
    for keyword, value in schema.items():
        if keyword in {"properties", "patternProperties", "dependentSchemas", "$defs"}:
            found += [each for item in value.values() for each in places(item)]
        elif keyword not in {"enum", "const", "dependentRequired"}:
            found += places(value)
    return found


def edited(draw: st.DrawFn, writer: Any, extras: st.SearchStrategy[Any]) -> Any:
    """A schema that differs from the writer's in a few keywords."""
    reader = copy.deepcopy(writer)
    for _ in range(draw(st.integers(1, 2))):
        objects = places(reader)
        if not objects:
            return draw(schemas)
        target = draw(st.sampled_from(objects))
        if target and draw(st.booleans()):
            dropped = draw(st.sampled_from(sorted(target)))
            if dropped != "$defs":
                del target[dropped]
        else:
            added = draw(extras)
            if isinstance(added, dict):
                target.update(copy.deepcopy(added))
    return reader


@st.composite
def changes(draw: st.DrawFn) -> tuple[Any, Any, list[Any]]:
    writer = draw(schemas)
    if isinstance(writer, dict):
        writer = {**writer, **draw(some_of(CLASSIC))}
    reader = edited(draw, writer, st.one_of(some_of(CLASSIC), extended(st.booleans())))
    return writer, reader, draw(st.lists(values, max_size=4))


@st.composite
def modern_changes(draw: st.DrawFn) -> tuple[Any, Any, list[Any]]:
    shared = draw(extended(st.booleans()))
    base = draw(st.one_of(extended(st.booleans()), schemas.filter(lambda each: each is not True)))
    own = base if isinstance(base, dict) else {}
    writer = {**own, **draw(some_of(MODERN)), "$schema": DRAFT_2020, "$defs": {"shared": shared}}
    extras = st.one_of(some_of(MODERN), extended(st.booleans()))
    reader = edited(draw, writer, extras)
    reader = {**reader, "$schema": DRAFT_2020, "$defs": reader.get("$defs", {"shared": shared})}
    return writer, reader, draw(st.lists(values, max_size=4))


def sound(writer: Any, reader: Any, candidates: list[Any], validator: Any) -> None:
    try:
        writing, reading = parse(json.dumps(writer)), parse(json.dumps(reader))
    except InvalidSchema:  # an edit may close a loop of references
        return
    if incompatibilities(reading, writing):
        return
    accepted, tried = validator(writer).is_valid, validator(reader).is_valid
    for value in filter(accepted, [*COMMON, *candidates]):
        assert tried(value), (writer, reader, value)


def judged(schema: Any) -> bool:
    """Whether the library that is the judge does not fail: it does if `items` is a boolean."""
    return not any(
        isinstance(each.get("items"), bool) and "additionalItems" in each for each in places(schema)
    )


@settings(
    max_examples=examples(250),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(changes())
def test_what_is_called_compatible_is_read(change: tuple[Any, Any, list[Any]]) -> None:
    """Under draft 7 every value of the writer is valid for a reader that is called compatible."""
    assume(judged(list(change[:2])))
    sound(*change, Draft7Validator)


@settings(
    max_examples=examples(200),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(modern_changes())
def test_what_is_called_compatible_is_read_in_2020_12(change: tuple[Any, Any, list[Any]]) -> None:
    """So it is under 2020-12, with references, prefixes, dependencies and unevaluated parts."""
    sound(*change, Draft202012Validator)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(schemas)
def test_every_schema_reads_its_own_data(schema: Any) -> None:
    """A schema is compatible with a copy of itself, whatever it holds, under both policies."""
    first = parse(json.dumps(schema))
    second = parse(json.dumps({"title": "copy", **schema} if isinstance(schema, dict) else schema))
    assert incompatibilities(first, second) == []
    assert incompatibilities(first, second, lenient=True) == []
