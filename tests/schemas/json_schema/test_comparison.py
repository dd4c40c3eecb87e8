"""The comparison as a whole: its kinds, its words, and that it always comes to an end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.schemas.incompatible import message
from headrace.schemas.json_schema import JsonSchema, incompatibilities, parse
from headrace.schemas.json_schema.compatibility import MAX_REPORTED, differences
from headrace.schemas.json_schema.compatibility.comparison import Comparison
from headrace.schemas.json_schema.compatibility.kinds import SAFE, SAFE_IF_LENIENT, UNSAFE


def schema(value: Any) -> JsonSchema:
    return parse(json.dumps(value))


def test_every_kind_has_one_policy() -> None:
    """All 132 kinds are known, each harmless or described; leniency forgives some of those."""
    assert len(SAFE) + len(UNSAFE) == 132
    assert not SAFE & UNSAFE.keys()
    assert SAFE_IF_LENIENT.issubset(UNSAFE)


def test_the_message_says_which_schema_is_which() -> None:
    """A registry fills in who reads and who writes, and gets Confluent's form of text."""
    old, new = schema({"type": "string"}), schema({"type": "string", "maxLength": 5})
    (found,) = incompatibilities(new, old)
    assert message(found, reader="new", writer="old") == (
        '{errorType:"MAX_LENGTH_ADDED", description:"\'#/maxLength\': the new schema '
        'demands something that the old one does not"}'
    )
    assert (found.before, found.after) == ("", "5")


def test_harmless_differences_are_known_too() -> None:
    """A change that breaks nothing still has its kind, for tools that show what changed."""
    old = schema({"title": "a", "type": "integer", "maximum": 5})
    new = schema({"title": "b", "type": "number"})
    assert [each.kind for each in differences(new, old)] == [
        "TITLE_CHANGED",
        "TYPE_EXTENDED",
        "MAXIMUM_REMOVED",
    ]


def test_answers_have_a_bounded_length() -> None:
    """A schema with thousands of broken properties gets a list that a person can read."""
    properties = {f"p{n}": {"type": "string"} for n in range(1_000)}
    changed = {name: {"type": "integer"} for name in properties}
    found = incompatibilities(schema({"properties": changed}), schema({"properties": properties}))
    assert len(found) == MAX_REPORTED
    long = incompatibilities(schema({"enum": ["x" * 500]}), schema({"enum": ["y" * 500]}))
    assert len(long[0].after) <= 200


def graph(size: int, leaf: Any) -> JsonSchema:
    """Definitions that each refer to all others."""
    names = [f"d{n}" for n in range(size)]
    every = {
        name: {"oneOf": [{"type": "null"}, {"$ref": f"#/definitions/{name}"}]} for name in names
    }
    definitions = {name: {"type": "object", "properties": every} for name in names}
    definitions["d0"] = {"type": "object", "properties": {**every, "leaf": leaf}}
    return schema({"definitions": definitions, "$ref": "#/definitions/d0"})


def doubled(depth: int, leaf: Any) -> JsonSchema:
    """Definitions that refer twice to the next: as many paths as two to the power of the depth."""
    definitions: dict[str, Any] = {
        f"d{n}": {"properties": {side: {"$ref": f"#/definitions/d{n + 1}"} for side in "lr"}}
        for n in range(depth)
    }
    definitions[f"d{depth}"] = leaf
    return schema({"definitions": definitions, "$ref": "#/definitions/d0"})


@pytest.mark.parametrize("build", [graph, doubled])
def test_recursive_schemas_are_compared_once_per_pair(build: Any) -> None:
    """However often definitions refer to each other, the one change inside is found, or none."""
    size = 15 if build is graph else 60
    same = incompatibilities(build(size, {"type": "number"}), build(size, {"type": "integer"}))
    assert same == []
    found = incompatibilities(build(size, {"type": "string"}), build(size, {"type": "integer"}))
    assert [each.kind for each in found] == ["TYPE_CHANGED"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"anyOf": [{"maxLength": n} for n in range(400)]},
            {"anyOf": [{"maxLength": n, "minLength": 1} for n in range(400)]},
        ),
        (
            {"properties": {f"p{n}": {} for n in range(400)}},
            {"patternProperties": {f"x{n}": {"type": "null"} for n in range(400)}},
        ),
    ],
)
def test_what_is_too_large_to_compare_is_reported(old: Any, new: Any) -> None:
    """Beyond the bound the answer is an incompatibility that says so, in bounded time."""
    found = incompatibilities(schema(new), schema(old))
    assert "too large or too deep" in found[-1].description


def test_schemas_are_taken_apart_once_and_not_for_every_pair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred alternatives against a hundred are ten thousand pairs, of few schemas."""
    derived: list[str] = []
    part = Comparison.part

    def counted(self: Comparison, node: Any, keywords: frozenset[str]) -> Any:
        derived.append(" ".join(sorted(keywords)))
        return part(self, node, keywords)

    monkeypatch.setattr(Comparison, "part", counted)
    old = {"anyOf": [{"minLength": n, "not": {"const": n}} for n in range(100)]}
    new = {"anyOf": [{"minLength": n + 200, "not": {"const": n}} for n in range(100)]}
    found = incompatibilities(schema(new), schema(old))
    assert [each.kind for each in found] == ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"]
    assert len(derived) <= 1_000


def test_what_is_too_deep_to_compare_is_reported() -> None:
    """A chain of a thousand definitions does not exhaust the stack."""
    found = incompatibilities(doubled(1_000, {"type": "number"}), doubled(1_000, {"type": "null"}))
    assert "too large or too deep" in found[-1].description
    assert incompatibilities(doubled(1_000, {}), doubled(1_000, {})) == []
