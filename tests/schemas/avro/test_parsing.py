"""What is an Avro schema, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.schemas import avro
from headrace.schemas.model import MAX_DEPTH, InvalidSchema, Reference, Resolved, SchemaType
from tests.schemas.avro.vectors import array, enum, field, fixed, record


def _resolved(text: Any, name: str = "ref", version: int = 1) -> Resolved:
    return Resolved(Reference(name, f"{name}-value", version), json.dumps(text))


VALID = [
    '"null"',
    '{"type": "string"}',
    '["null", "int"]',
    "[]",
    '{"type": "array", "items": {"type": "map", "values": "bytes"}}',
    '{"type": "record", "name": "Überweisung", "fields": []}',
    '{"type": "record", "name": "_9", "fields": [{"name": "_", "type": "int"}]}',
    '{"type": "record", "name": "a.b.C", "namespace": "ignored", "fields": []}',
    '{"type": "record", "name": "record", "fields": []}',
    '{"type": "record", "name": "string", "namespace": "a", "fields": []}',
    '{"type": "enum", "name": "E", "symbols": []}',
    '{"type": "fixed", "name": "F", "size": 0}',
    '{"type": "error", "name": "Oops", "fields": []}',
    '{"type": "bytes", "logicalType": "decimal", "precision": -1}',
    '{"type": "int", "logicalType": "no such type"}',
    '{"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}',
    '{"type": "record", "name": "R", "doc": 5, "fields": []}',
    '/* a comment */ {"type": "int" // and another\n}',
    '/**/ {"type": "string", "url": "http://not.a/comment /* nor this */"}',
]

INVALID = [
    ("", "not valid JSON"),
    ("string", "not valid JSON"),
    ('{"type": "int"} x', "not valid JSON"),
    ('{"type": "int", "x": NaN}', "NaN"),
    ('{"type": "int", "x": 1e999}', "too large"),
    ("1" * 5000, "not valid JSON"),
    ("null", "not null"),
    ("7", "not 7"),
    ("{}", 'no "type"'),
    ('{"type": 3}', 'no "type"'),
    ('{"type": {"type": "int"}}', 'no "type"'),
    ('"Unknown"', "not a defined name"),
    ('{"type": "Unknown"}', "not a defined name"),
    ('["int", "int"]', "twice"),
    ('["int", {"type": "int", "logicalType": "date"}]', "twice"),
    ('[["int"]]', "directly inside a union"),
    ('{"type": "array"}', 'no "items"'),
    ('{"type": "map"}', 'no "values"'),
    ('{"type": "record", "name": "R"}', 'no "fields"'),
    ('{"type": "record", "fields": []}', 'no "name"'),
    ('{"type": "record", "name": "", "fields": []}', "empty"),
    ('{"type": "record", "name": "a b", "fields": []}', "Illegal character"),
    ('{"type": "record", "name": "1a", "fields": []}', "Illegal initial"),
    ('{"type": "record", "name": "a-b", "fields": []}', "Illegal character"),
    ('{"type": "record", "name": "R", "namespace": "a..b", "fields": []}', "empty"),
    ('{"type": "record", "name": "string", "fields": []}', "primitive"),
    ('{"type": "record", "name": "R", "fields": [7]}', "a field is an object"),
    ('{"type": "record", "name": "R", "fields": [{"type": "int"}]}', 'no "name"'),
    ('{"type": "record", "name": "R", "fields": [{"name": "f"}]}', 'no "type"'),
    ('{"type": "record", "name": "R", "fields": [{"name": "a.b", "type": "int"}]}', "Illegal"),
    (json.dumps(record(("a", "int"), ("a", "long"))), "twice"),
    (json.dumps(record(field("a", "int", order="up"))), '"order"'),
    (json.dumps(record(field("a", "int", aliases="b"))), '"aliases"'),
    (json.dumps(record(field("a", "int", aliases=[1]))), "an alias is a string"),
    (json.dumps(record(aliases=["a b"])), "Illegal"),
    (json.dumps(record(("a", record()))), "Can't redefine: R"),
    (json.dumps([enum("A"), fixed(1, "E")]), "Can't redefine: E"),
    ('{"type": "enum", "name": "E"}', 'no "symbols"'),
    ('{"type": "enum", "name": "E", "symbols": "A"}', 'no "symbols"'),
    ('{"type": "enum", "name": "E", "symbols": [1]}', "a symbol is a string"),
    (json.dumps(enum("A A")), "Duplicate enum symbol: A"),
    (json.dumps(enum("A-B")), "Illegal character"),
    (json.dumps(enum("A", "B")), "not among the symbols"),
    ('{"type": "fixed", "name": "F"}', '"size"'),
    ('{"type": "fixed", "name": "F", "size": -1}', '"size"'),
    ('{"type": "fixed", "name": "F", "size": "4"}', '"size"'),
    ('{"type": "fixed", "name": "F", "size": 4.0}', '"size"'),
    ('{"type": "fixed", "name": "F", "size": true}', '"size"'),
    ('{"type": "fixed", "name": "F", "size": 4294967296}', '"size"'),
    ('{"type": "string", "doc2": "\\ud800"}', "surrogate"),
    # A name must be defined before it is used.
    (json.dumps(record(("a", "B"), ("b", record(name="B")))), "not a defined name"),
]


@pytest.mark.parametrize("text", VALID)
def test_valid_schemas_are_parsed(text: str) -> None:
    """Everything that Avro's Java parser takes is taken, and its text parses to the same."""
    schema = avro.parse(text, check_defaults=True)
    assert schema.type is SchemaType.AVRO
    assert avro.parse(schema.text).text == schema.text


@pytest.mark.parametrize(("text", "words"), INVALID)
def test_invalid_schemas_are_refused_with_a_reason(text: str, words: str) -> None:
    """What is no schema gives InvalidSchema with a text that says what is wrong."""
    with pytest.raises(InvalidSchema, match=words):
        avro.parse(text)


def test_the_place_is_part_of_the_message() -> None:
    """The error names the path of the part that is wrong."""
    text = json.dumps(record(("a", "int"), ("b", array(["null", enum("X Y X")]))))
    with pytest.raises(InvalidSchema, match=r"\(at /fields/1/type/items/1/symbols/2\)"):
        avro.parse(text)


GOOD_DEFAULTS: list[tuple[Any, Any]] = [
    ("null", None),
    ("boolean", False),
    ("int", 2**31 - 1),
    ("long", -(2**63)),
    ("float", 1),
    ("double", 1.5),
    ("double", "NaN"),
    ("bytes", "ÿ"),
    ("string", ""),
    (array("int"), [1, 2]),
    ({"type": "map", "values": "int"}, {"a": 1}),
    (["null", "string"], None),
    (["null", "string"], "any branch will do"),
    (enum("X"), "X"),
    (fixed(1), "a"),
    (record(("x", "int"), field("y", "int", 3), name="P"), {"x": 1}),
    (["null", "R"], None),
]
BAD_DEFAULTS: list[tuple[Any, Any]] = [
    ("null", 0),
    ("boolean", 0),
    ("int", 2**31),
    ("int", 1.0),
    ("int", "1"),
    ("int", True),
    ("int", None),
    ("long", 2**63),
    ("double", True),
    ("bytes", 1),
    ("string", None),
    (array("int"), {}),
    (array("int"), [1, "x"]),
    ({"type": "map", "values": "int"}, {"a": "x"}),
    (["null", "string"], 1),
    (enum("X"), 1),
    (record(("x", "int"), name="P"), {}),
    (record(("x", "int"), name="P"), {"x": "y"}),
]


@pytest.mark.parametrize(("type_", "default"), GOOD_DEFAULTS)
def test_defaults_that_fit_are_accepted(type_: Any, default: Any) -> None:
    """A default of the type of its field passes the check for new schemas."""
    avro.parse(json.dumps(record(field("f", type_, default))), check_defaults=True)


@pytest.mark.parametrize(("type_", "default"), BAD_DEFAULTS)
def test_defaults_that_do_not_fit_are_refused_when_new(type_: Any, default: Any) -> None:
    """A wrong default is refused in a new schema and let through in one that is stored."""
    text = json.dumps(record(field("f", type_, default)))
    with pytest.raises(InvalidSchema, match="Invalid default for field f"):
        avro.parse(text, check_defaults=True)
    assert '"default":' in avro.parse(text).text


def test_a_default_for_a_number_must_be_one() -> None:
    """A text that is no number is never a default of a double."""
    with pytest.raises(InvalidSchema, match="is not a number"):
        avro.parse(json.dumps(record(field("f", "double", "much"))))


def test_references_define_names() -> None:
    """Types of other subjects can be used, through one another and in their order."""
    street = _resolved({"type": "enum", "name": "geo.Kind", "symbols": ["ROAD"]}, "kind")
    address = _resolved(record(("kind", "geo.Kind"), name="geo.Address"), "address")
    schema = avro.parse(json.dumps(record(("home", "geo.Address"))), [street, address])
    assert schema.encode({"home": {"kind": "ROAD"}}) == b"\x00"


def test_a_missing_reference_is_refused() -> None:
    """A name that no reference defines is refused, and the message says what to do."""
    with pytest.raises(InvalidSchema, match="name its subject and version in the references"):
        avro.parse(json.dumps(record(("home", "geo.Address"))))


def test_circular_references_are_refused() -> None:
    """Two references that need each other cannot be parsed in any order."""
    one = _resolved(record(("b", "B"), name="A"), "one")
    two = _resolved(record(("a", "A"), name="B"), "two")
    for references in ([one, two], [two, one]):
        with pytest.raises(InvalidSchema, match=r"The reference .* is not usable"):
            avro.parse(json.dumps(record(("a", "A"))), references)


def test_a_broken_reference_is_named() -> None:
    """An error inside a reference says which one, with its subject and version."""
    with pytest.raises(InvalidSchema, match="subject 'bad-value', version 3"):
        avro.parse('"int"', [_resolved(enum("A A"), "bad", 3)])


def test_a_reference_that_is_given_twice_is_one() -> None:
    """The same text through two ways is parsed once."""
    needed = _resolved(record(name="A"))
    assert avro.parse('"A"', [needed, needed]).name == "A"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps(record(namespace="a.b")), "a.b.R"),
        (json.dumps(record()), "R"),
        (json.dumps(enum("A")), None),
        ('"int"', None),
        (json.dumps([record()]), None),
    ],
)
def test_a_record_has_a_name(text: str, name: str | None) -> None:
    """The full name of a record is known to the naming strategies; other types have none."""
    assert avro.parse(text).name == name


def _nested(levels: int) -> str:
    return '{"type":"array","items":' * levels + '"int"' + "}" * levels


def test_nesting_is_bounded() -> None:
    """A schema nests as deep as the limit says; one more is an error, and so are a million."""
    avro.parse(_nested(MAX_DEPTH - 1)).normalized()
    for levels in (MAX_DEPTH, 3 * MAX_DEPTH, 1_000, 1_000_000):
        with pytest.raises(InvalidSchema, match="nested"):
            avro.parse(_nested(levels))


@pytest.mark.parametrize("levels", [33, 300, 900])
def test_values_inside_a_schema_are_bounded(levels: int) -> None:
    """Properties and defaults that nest deeply are refused and not walked to the end."""
    deep = "[" * levels + "]" * levels
    with pytest.raises(InvalidSchema, match="nested"):
        avro.parse('{"type": "int", "x": ' + deep + "}")
    looped: Any = None
    for _ in range(levels):
        looped = {"next": looped}
    node = record(field("next", ["null", "Node"], None), name="Node")
    with pytest.raises(InvalidSchema, match="nested"):
        avro.parse(json.dumps(record(("n", node), field("d", "Node", looped))), check_defaults=True)


def test_schemas_at_the_limits_work() -> None:
    """Records as deep as the limit, with a deep default, are parsed, printed and compared."""
    node = record(field("next", ["null", "Node"], None), name="Node")
    looped: Any = None
    for _ in range(30):
        looped = {"next": looped}
    inner = record(("n", node), field("d", "Node", looped), name="R0")
    for number in range(1, MAX_DEPTH - 3):
        inner = record(("inner", inner), name=f"R{number}")
    schema = avro.parse(json.dumps(inner), check_defaults=True)
    assert avro.parse(schema.normalized()).text == schema.text
    assert avro.incompatibilities(schema, schema) == []


def test_nesting_through_names_is_bounded() -> None:
    """A chain of records that name one another counts like records inside one another."""

    def chain(length: int) -> str:
        links = [record(name="R0")]
        links += [record(("next", f"R{n - 1}"), name=f"R{n}") for n in range(1, length)]
        return json.dumps(links)

    deep = avro.parse(chain(MAX_DEPTH - 1))
    assert avro.incompatibilities(deep, deep) == []
    with pytest.raises(InvalidSchema, match="nested more than"):
        avro.parse(chain(5_000))


def test_defaults_of_defaults_are_checked_in_no_time() -> None:
    """Records that contain the next one twice, all with defaults, do not double the work."""
    inner: Any = record(name="R0")
    for number in range(1, 60):
        twice = [field("a", inner, {}), field("b", f"R{number - 1}", {})]
        inner = record(*twice, name=f"R{number}")
    assert avro.parse(json.dumps(inner), check_defaults=True).name == "R59"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "name", "fields", "items", "values", "symbols", "size", "default", "x"]
            ),
            inner | st.sampled_from(["record", "enum", "array", "map", "fixed", "int", "R"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_any_json_is_a_schema_or_an_invalid_one(value: Any) -> None:
    """Whatever JSON comes in, it is parsed and printed stably, or refused with InvalidSchema."""
    try:
        schema = avro.parse(json.dumps(value), check_defaults=True)
    except InvalidSchema:
        return
    assert avro.parse(schema.text).text == schema.text
    assert avro.parse(schema.normalized()).normalized() == schema.normalized()
