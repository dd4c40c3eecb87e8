"""From text to schema: drafts, canonical texts, references, and everything that is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.schemas.json_schema import incompatibilities, parse
from headrace.schemas.json_schema.checks import MAX_SHAPES, MAX_SUBSCHEMAS
from headrace.schemas.model import InvalidSchema, InvalidValue, Reference, Resolved, SchemaType
from tests.schemas.json_schema.vectors import (
    DRAFT_4,
    DRAFT_6,
    DRAFT_7,
    DRAFT_2019,
    DRAFT_2020,
    STRING,
)


def needed(name: str, schema: Any) -> Resolved:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return Resolved(Reference(name, f"{name}-value", 1), text)


def fits(schema: Any, value: object, *references: Resolved) -> bool:
    try:
        parse(json.dumps(schema), references).encode(value)
    except InvalidValue:
        return False
    return True


def test_the_text_is_compact_and_keeps_its_order() -> None:
    """The canonical text drops space, keeps keys in order and leaves letters unescaped."""
    parsed = parse('{ "type" : "object",\n "title": "Größe", "properties": {"b": {}, "a": {}} }')
    assert parsed.text == '{"type":"object","title":"Größe","properties":{"b":{},"a":{}}}'
    assert parsed.type is SchemaType.JSON
    assert parsed.name == "Größe"


def test_normalized_text_sorts_the_keys_of_every_object() -> None:
    """Two spellings of one schema have one normalized text; lists stay as they are."""
    one = parse('{"type":"object","properties":{"b":{"type":"string","maxLength":1},"a":{}}}')
    two = parse('{"properties":{"a":{},"b":{"maxLength":1,"type":"string"}},"type":"object"}')
    assert one.text != two.text
    assert one.normalized() == two.normalized()
    assert one.normalized().startswith('{"properties":{"a"')
    assert parse('{"required":["b","a"]}').normalized() == '{"required":["b","a"]}'


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False), ("{}", True)])
def test_boolean_schemas(text: str, value: bool) -> None:
    """A schema may be a boolean: one takes everything, the other nothing."""
    parsed = parse(text)
    assert parsed.text == text
    assert parsed.name is None
    assert fits(json.loads(text), 1) is value


def test_a_title_that_is_no_name() -> None:
    """Without a title there is no name."""
    assert parse('{"type":"string"}').name is None


@pytest.mark.parametrize(
    ("draft", "schema", "good", "bad"),
    [
        (DRAFT_4, {"maximum": 5, "exclusiveMaximum": True}, 4, 5),
        (DRAFT_4, {"items": [STRING], "additionalItems": False}, ["a"], ["a", "b"]),
        (DRAFT_6, {"exclusiveMaximum": 5}, 4, 5),
        (DRAFT_6, {"contains": STRING}, ["a"], [1]),
        (DRAFT_6, {"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}),
        (DRAFT_7, {"if": STRING, "then": {"maxLength": 1}}, "a", "ab"),
        (DRAFT_7, {"dependencies": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
        (DRAFT_2019, {"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
        (DRAFT_2019, {"contains": STRING, "minContains": 2}, ["a", "b"], ["a", 1]),
        (
            DRAFT_2019,
            {"properties": {"a": {}}, "unevaluatedProperties": False},
            {"a": 1},
            {"b": 1},
        ),
        (DRAFT_2019, {"$defs": {"s": STRING}, "$ref": "#/$defs/s", "maxLength": 1}, "a", "ab"),
        (DRAFT_2020, {"prefixItems": [STRING], "items": False}, ["a"], ["a", 1]),
        (DRAFT_2020, {"$defs": {"s": {"$anchor": "x", **STRING}}, "$ref": "#x"}, "a", 1),
    ],
)
def test_each_draft_reads_its_own_keywords(
    draft: str, schema: dict[str, Any], good: object, bad: object
) -> None:
    """`$schema` chooses the draft by which values are validated."""
    assert fits({"$schema": draft, **schema}, good)
    assert not fits({"$schema": draft, **schema}, bad)


@pytest.mark.parametrize(
    "dialect",
    [
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft-07/schema#",
        "https://example.com/our-own-dialect",
    ],
)
def test_draft_7_is_the_default(dialect: str) -> None:
    """Draft 7 is meant without `$schema`, with other spellings of it, and with unknown dialects."""
    for schema in ({}, {"$schema": dialect}):
        beside = {**schema, "definitions": {"s": STRING}, "$ref": "#/definitions/s", "maxLength": 1}
        assert fits(beside, "ab"), "draft 7 ignores what stands beside $ref"


@pytest.mark.parametrize(
    ("name", "own_id", "used"),
    [
        ("other.json", None, "other.json"),
        ("other.json", "https://example.com/schemas/root.json", "other.json"),
        ("https://example.com/other", None, "https://example.com/other"),
        ("common/other.json", "https://example.com/schemas/root.json", "common/other.json"),
        ("../other.json", "https://example.com/schemas/root.json", "../other.json"),
        ("other.json", "https://example.com/root.json", "https://example.com/other.json"),
        ("other.json", None, "other.json#/definitions/text"),
        ("other.json", None, "other.json#text"),
    ],
)
def test_a_reference_is_found_by_the_name_that_the_schema_uses(
    name: str, own_id: str | None, used: str
) -> None:
    """Names may be URIs or paths, with or without an `$id` that makes them relative."""
    other = {**STRING, "definitions": {"text": {**STRING, "$id": "#text"}}}
    root = {**({"$id": own_id} if own_id else {}), "properties": {"a": {"$ref": used}}}
    assert fits(root, {"a": "text"}, needed(name, other))
    assert not fits(root, {"a": 1}, needed(name, other))


def test_references_of_references() -> None:
    """A referred document may itself refer to another, also from a folder of its own."""
    root = {"properties": {"a": {"$ref": "folder/middle.json"}}}
    middle = {"properties": {"b": {"$ref": "leaf.json#/definitions/x"}}}
    leaf = {"definitions": {"x": {"type": "integer"}}}
    given = [needed("leaf.json", leaf), needed("folder/middle.json", middle)]
    assert fits(root, {"a": {"b": 1}}, *given)
    assert not fits(root, {"a": {"b": "x"}}, *given)


def test_a_reference_may_be_of_another_draft() -> None:
    """Each document is read by its own draft."""
    root = {"$schema": DRAFT_2020, "properties": {"a": {"$ref": "old.json"}}}
    old = {"$schema": DRAFT_4, "maximum": 5, "exclusiveMaximum": True}
    assert fits(root, {"a": 4}, needed("old.json", old))
    assert not fits(root, {"a": 5}, needed("old.json", old))


def test_compatibility_looks_through_references_on_both_sides() -> None:
    """A change in a referred document is a change of the schema."""
    root = '{"properties":{"a":{"$ref":"other.json"}}}'
    old = parse(root, [needed("other.json", {"type": "integer"})])
    new = parse(root, [needed("other.json", STRING)])
    (found,) = incompatibilities(new, old)
    assert (found.kind, found.path) == ("TYPE_CHANGED", "#/properties/a")
    assert (found.before, found.after) == ('"integer"', '"string"')
    assert incompatibilities(new, parse('{"properties":{"a":{"type":"string"}}}')) == []


def test_meta_schemas_may_be_referred_to() -> None:
    """A property may hold a schema: the drafts themselves are always there."""
    root = {"properties": {"a": {"$ref": "http://json-schema.org/draft-07/schema#"}}}
    assert fits(root, {"a": {"type": "string"}})
    assert not fits(root, {"a": {"type": "strange"}})


def test_the_resolved_form_needs_no_references() -> None:
    """`resolved` carries referred documents inside and validates as the original does."""
    root = {
        "$id": "https://example.com/root.json",
        "definitions": {"own": {"type": "integer"}},
        "properties": {
            "a": {"$ref": "other.json"},
            "b": {"$ref": "other.json#/definitions/x~1y"},
            "c": {"$ref": "#/definitions/own"},
        },
    }
    other = {
        "$id": "https://example.com/other.json",
        "definitions": {"x/y": STRING, "any": True, "self": {"$ref": "#"}},
        "properties": {
            "d": {"$ref": "#/definitions/x~1y"},
            "e": {"$ref": "#/definitions/any"},
            "f": {"$ref": "#/definitions/self"},
        },
    }
    parsed = parse(json.dumps(root), [needed("other.json", other)])
    alone = parse(parsed.formatted("resolved"))
    assert incompatibilities(alone, parsed) == incompatibilities(parsed, alone) == []
    good = {"a": {"d": "x", "e": 1, "f": {"d": "y"}}, "b": "x", "c": 1}
    assert alone.encode(good) == parsed.encode(good)
    bad: list[Any] = [{"a": {"f": {"d": 1}}}, {"b": 1}, {"c": "x"}]
    for value in bad:
        with pytest.raises(InvalidValue):
            alone.encode(value)


@pytest.mark.parametrize("form", ["", "serialized", "ignore_extensions"])
def test_other_forms_are_the_text(form: str) -> None:
    """A form that JSON Schema does not have gives the text itself."""
    assert parse('{"type": "string"}').formatted(form) == '{"type":"string"}'


BAD: dict[str, tuple[str, str]] = {
    "nothing": ("", "not JSON"),
    "half an object": ('{"type":', "not JSON"),
    "two values": ("{} {}", "not JSON"),
    "a number": ("1", "an object or a boolean"),
    "a list": ("[]", "an object or a boolean"),
    "a string": ('"string"', "an object or a boolean"),
    "null": ("null", "an object or a boolean"),
    "NaN": ('{"maximum":NaN}', "NaN"),
    "a number out of range": ('{"maximum":1e999}', "out of range"),
    "an integer of 5000 digits": ('{"maximum":' + "9" * 5000 + "}", "not JSON"),
    "an escaped half of a surrogate": ('{"title":"\\ud800"}', "surrogate"),
    "a half of a surrogate": ('{"title":"\ud800"}', "surrogate"),
    "10,000 levels of lists": ("[" * 10_000 + "]" * 10_000, "deeper than 200"),
    "10,000 levels of schemas": ('{"not":' * 10_000 + "{}" + "}" * 10_000, "deeper than 200"),
    "201 levels": ('{"not":' * 201 + "{}" + "}" * 201, "deeper than 200"),
    "an unknown type": ('{"type":"strin"}', "type: 'strin'"),
    "a type that is no name": ('{"type":5}', "type: 5"),
    "a negative length": ('{"maxLength":-1}', "maxLength: -1"),
    "a length that is text": ('{"maxLength":"5"}', "maxLength: '5'"),
    "properties as a list": ('{"properties":[]}', "properties: []"),
    "a property that is no schema": ('{"properties":{"a":5}}', "properties/a: 5"),
    "deep inside": (
        '{"items":{"properties":{"a":{"minItems":-1}}}}',
        "#/items/properties/a: minItems",
    ),
    "required that is no list": ('{"required":true}', "required: True"),
    "required with a number": ('{"required":[1]}', "required/0: 1"),
    "an enum without values": ('{"enum":[]}', "at least one value"),
    "an enum that is no list": ('{"enum":"a"}', "enum: 'a'"),
    "a product of nothing": ('{"allOf":[]}', "allOf: []"),
    "a boolean in draft 4": (f'{{"$schema":"{DRAFT_4}","not":true}}', "not: True"),
    "a numeric exclusive limit in draft 4": (
        f'{{"$schema":"{DRAFT_4}","maximum":1,"exclusiveMaximum":1}}',
        "exclusiveMaximum: 1",
    ),
    "a list of items in 2020-12": (f'{{"$schema":"{DRAFT_2020}","items":[{{}}]}}', "items: "),
    "a dialect that is no URI": ('{"$schema":5}', "$schema"),
    "an open bracket": ('{"pattern":"("}', "'(' is not a regular expression"),
    "a bad pattern of properties": ('{"patternProperties":{"[":{}}}', "'[' is not a regular"),
    "a pattern of 20,000 characters": (json.dumps({"pattern": "a" * 20_000}), "longer than 10000"),
    "a reference to nowhere": ('{"$ref":"#/definitions/a"}', "leads nowhere"),
    "a reference to another host": (
        '{"items":{"$ref":"http://localhost:1/a"}}',
        "nothing is fetched",
    ),
    "a reference to a file": ('{"$ref":"file:///etc/passwd"}', "leads nowhere"),
    "a reference to an unknown anchor": ('{"$ref":"#a"}', "leads nowhere"),
    "a reference into a list": ('{"allOf":[{}],"items":{"$ref":"#/allOf/x"}}', "leads nowhere"),
    "a reference to a number": ('{"maximum":1,"items":{"$ref":"#/maximum"}}', "not a schema"),
    "a reference through a number": (
        '{"maximum":1,"items":{"$ref":"#/maximum/a"}}',
        "leads nowhere",
    ),
    "a reference that is a number": ('{"$ref":5}', "$ref must be a string"),
    "a reference that is no URI": ('{"$ref":"http://["}', "leads nowhere"),
    "an identifier that is no URI": ('{"$id":"http://["}', "not a URI"),
    "a reference to itself": ('{"$ref":"#"}', "lead back"),
    "two references in a circle": (
        '{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}',
        "lead back",
    ),
    "a loop through a product": ('{"allOf":[{"$ref":"#"}]}', "lead back"),
    "a loop through a sum": ('{"anyOf":[{"type":"null"},{"not":{"$ref":"#"}}]}', "lead back"),
    "a bad schema behind a reference": ('{"x":{"maxLength":-1},"$ref":"#/x"}', "maxLength: -1"),
    "too many schemas": (
        json.dumps({"properties": {f"p{n}": {} for n in range(MAX_SUBSCHEMAS)}}),
        f"more than {MAX_SUBSCHEMAS} schemas",
    ),
    "too many shapes": (
        json.dumps({"properties": {f"p{n}": {"x": n} for n in range(MAX_SHAPES + 1)}}),
        f"more than {MAX_SHAPES} shapes",
    ),
}


@pytest.mark.parametrize(("text", "reason"), BAD.values(), ids=BAD)
def test_bad_schemas_are_refused_with_the_reason(text: str, reason: str) -> None:
    """Whatever is wrong with a text, the answer is InvalidSchema and says what and where."""
    with pytest.raises(InvalidSchema) as refused:
        parse(text)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("root", "references", "reason"),
    [
        ({"$ref": "other.json"}, [("another.json", {})], "leads nowhere"),
        ({"$ref": "other.json#/nope"}, [("other.json", {})], "leads nowhere"),
        ({"$ref": "other.json"}, [("other.json", "{")], "the reference 'other.json'"),
        ({"$ref": "other.json"}, [("other.json", {"type": "x"})], "of reference 'other.json'"),
        ({"$ref": "other.json"}, [("other.json", {"$ref": "gone.json"})], "leads nowhere"),
        (
            {"items": {"$ref": "a.json"}},
            [("a.json", {"items": {"$ref": "b.json"}}), ("b.json", {"items": {"$ref": "a.json"}})],
            "a circle of references",
        ),
        (
            {"$id": "root.json", "items": {"$ref": "a.json"}},
            [("a.json", {"items": {"$ref": "root.json"}})],
            "a circle of references",
        ),
    ],
)
def test_bad_references_are_refused_with_the_reason(
    root: Any, references: list[tuple[str, Any]], reason: str
) -> None:
    """References that lack, break or run in a circle make the schema invalid."""
    with pytest.raises(InvalidSchema) as refused:
        parse(json.dumps(root), [needed(name, schema) for name, schema in references])
    assert reason in str(refused.value)


def test_schemas_may_be_recursive_and_large() -> None:
    """A step into the value makes recursion fine; ten megabytes of text are read in no time."""
    tree = {"properties": {"next": {"$ref": "#"}}, "type": "object"}
    assert fits(tree, {"next": {"next": {}}})
    assert not fits(tree, {"next": {"next": 1}})
    chain = {f"d{n}": {"$ref": f"#/definitions/d{n + 1}"} for n in range(5_000)}
    parse(json.dumps({"definitions": {**chain, "d5000": STRING}, "$ref": "#/definitions/d0"}))
    parse(json.dumps({"description": "x" * 10_000_000}))
    parse(json.dumps({"enum": [{"a": n} for n in range(100_000)]}))
