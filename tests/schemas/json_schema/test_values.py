"""Values on their way in and out: validated, compact, and never the cause of a long wait."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest

from headrace.schemas.json_schema import parse
from headrace.schemas.json_schema.patterns import PatternRefused, search
from headrace.schemas.model import InvalidValue
from tests.schemas.json_schema.vectors import DRAFT_2020

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"minLength": 1}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def test_encode_is_compact_json_and_decode_its_inverse() -> None:
    """A value goes out as compact UTF-8 and comes back as it was."""
    schema = parse(json.dumps(PERSON))
    value = {"name": "Zoë", "tags": ["x"]}
    assert schema.encode(value) == '{"name":"Zoë","tags":["x"]}'.encode()
    assert schema.decode(schema.encode(value)) == value
    assert schema.decode(b' { "name" : "a" } ') == {"name": "a"}


@pytest.mark.parametrize(
    ("value", "where", "why"),
    [
        ({}, "#/:", "'name' is a required property"),
        ({"name": 1}, "#/name:", "1 is not of type 'string'"),
        ({"name": "a", "tags": ["x", ""]}, "#/tags/1:", "'' should be non-empty"),
        ({"name": "a", "other": 1}, "#/:", "the property 'other' is not allowed"),
        ([], "#/:", "[] is not of type 'object'"),
    ],
)
def test_a_value_that_does_not_fit(value: object, where: str, why: str) -> None:
    """Both directions name the path and the reason."""
    schema = parse(json.dumps(PERSON))
    with pytest.raises(InvalidValue) as encoding:
        schema.encode(value)
    with pytest.raises(InvalidValue) as decoding:
        schema.decode(json.dumps(value).encode())
    for raised in (encoding, decoding):
        assert str(raised.value).startswith(where)
        assert why in str(raised.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"NaN",
        b"1e999",
        b"9" * 5_000,
        b"[" * 100_000,
        b"[" * 300 + b"]" * 300,
        b'"\\ud800"',
        b"\x00\x00\x00\x00\x01{}",
    ],
)
def test_bytes_that_are_no_json(data: bytes) -> None:
    """Any bytes at all give InvalidValue."""
    with pytest.raises(InvalidValue):
        parse("true").decode(data)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, {1, 2}, b"bytes", object(), "\ud800", deep(1_000), {"a": {1: object()}}],
    ids=["nan", "infinity", "set", "bytes", "object", "surrogate", "deep", "nested object"],
)
def test_values_that_are_no_json(value: object) -> None:
    """What JSON cannot say is refused, whatever the schema."""
    with pytest.raises(InvalidValue):
        parse("true").encode(value)


def test_a_deep_value_under_a_recursive_schema() -> None:
    """A value nested as deep as the limit is validated or refused, never a crash."""
    schema = parse('{"items":{"$ref":"#"},"type":["array","integer"]}')
    assert schema.decode(json.dumps(deep(30)).encode()) == deep(30)
    for levels in (150, 200):
        with suppress(InvalidValue):
            schema.encode(deep(levels))


def test_patterns_match_in_linear_time() -> None:
    """A pattern that explodes in a backtracking engine is answered at once."""
    schema = parse('{"pattern":"^(a+)+$","patternProperties":{"^(b+)+$":false}}')
    assert schema.encode("a" * 1_000)
    with pytest.raises(InvalidValue, match="does not match"):
        schema.encode("a" * 50_000 + "!")
    assert schema.encode({"b" * 50_000 + "!": 1})
    with pytest.raises(InvalidValue):
        schema.encode({"b": 1})


def test_additional_properties_match_in_linear_time() -> None:
    """So is one that decides which properties are additional."""
    schema = parse('{"patternProperties":{"^(b+)+$":{}},"additionalProperties":{"type":"null"}}')
    assert schema.encode({"b" * 50_000: 1, "b" * 50_000 + "!": None})
    with pytest.raises(InvalidValue, match="is not of type 'null'"):
        schema.encode({"b" * 50_000 + "!": 1})


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"^\d+$", "123", True),
        (r"^\p{L}+$", "Zoë", True),
        (r"^(?=.*\d)(?=.*[a-z]).{4,}$", "abc1", True),
        (r"^(?=.*\d)(?=.*[a-z]).{4,}$", "abcd", False),
        (r"^(?!x)a", "ab", True),
        (r"^\u00e9$", "é", True),
        ("a", "xay", True),
        ("a$", "a\n", False),
    ],
)
def test_patterns_mean_what_ecma_says(pattern: str, text: str, expected: bool) -> None:
    """Classes, anchors and look-ahead behave as in the standard that JSON Schema names."""
    assert search(pattern, text) is expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"^(?!x)([a-z]+-?)+$", "a" * 100), (r"^(?!x)(a|aa)+$", "a" * 100), (r"(?=a)a", "a" * 10_000)],
)
def test_patterns_that_could_hang_are_not_tried(pattern: str, text: str) -> None:
    """Look-around beside nested repetitions, or over a long text, is refused with a reason."""
    with pytest.raises(PatternRefused):
        search(pattern, text)
    with pytest.raises(InvalidValue, match="cannot be matched"):
        parse(json.dumps({"pattern": pattern})).encode(text)


def test_unevaluated_properties_refuse_patterns_that_could_hang() -> None:
    """Where the library itself would backtrack, such a pattern is refused beforehand."""
    schema = {"$schema": DRAFT_2020, "unevaluatedProperties": False}
    risky = parse(json.dumps({**schema, "patternProperties": {"^(b+)+$": {}}}))
    with pytest.raises(InvalidValue, match="bounded time"):
        risky.encode({"b" * 30 + "!": 1})
    harmless = parse(json.dumps({**schema, "patternProperties": {"^b+$": {}}}))
    assert harmless.encode({"b": 1})
    with pytest.raises(InvalidValue):
        harmless.encode({"a": 1})


def test_unique_items_take_linear_time() -> None:
    """Items that cannot be sorted are still told apart quickly, and 1.0 is 1 but not true."""
    schema = parse('{"uniqueItems":true}')
    assert schema.encode([{"a": n} for n in range(20_000)])
    assert schema.encode([1, True, "1", [1], {"a": 1}])
    for twice in ([1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}], [[True], [True]]):
        with pytest.raises(InvalidValue, match="unique"):
            schema.encode(twice)


def test_references_keep_the_bounded_keywords() -> None:
    """A schema that names its draft and refers to itself is still matched in linear time."""
    schema = parse(
        json.dumps(
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"next": {"$ref": "#"}, "text": {"pattern": "^(a+)+$"}},
            }
        )
    )
    with pytest.raises(InvalidValue, match="does not match"):
        schema.encode({"next": {"next": {"text": "a" * 5_000 + "!"}}})


def test_additional_items_count_behind_a_list_only() -> None:
    """Beside a boolean, a schema or nothing they say nothing; behind a list they hold."""
    closed = {"additionalItems": False}
    beside: list[dict[str, Any]] = [{"items": True}, {"items": {}}, {}]
    for items in beside:
        assert parse(json.dumps({**items, **closed})).encode([1, 2]) == b"[1,2]"
    pair = parse(json.dumps({"items": [{}, {}], **closed}))
    assert pair.encode([1, 2]) == b"[1,2]"
    with pytest.raises(InvalidValue, match="item 2 is not allowed"):
        pair.encode([1, 2, 3])
    numbers = parse(json.dumps({"items": [{}], "additionalItems": {"type": "number"}}))
    with pytest.raises(InvalidValue, match="1"):
        numbers.encode(["a", "b"])
