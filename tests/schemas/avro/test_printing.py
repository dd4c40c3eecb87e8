"""The canonical text, the normal form, and schemas with their references inside.

The expectations of the canonical text were checked against Avro's Java library.
"""

from __future__ import annotations

import json

import pytest

from headrace.schemas import avro
from headrace.schemas.model import Reference, Resolved
from tests.schemas.avro.vectors import field, record

CANONICAL = [
    ('{"type": "string"}', '"string"'),
    ('{"type": "string", "x": 1}', '{"type":"string","x":1}'),
    ('[ "null" , { "type" : "int" } ]', '["null","int"]'),
    (
        '{"fields": [], "doc": "d", "aliases": ["B"], "x": {"b": 1, "a": [2]}, '
        '"namespace": "n", "name": "A", "type": "record"}',
        '{"type":"record","name":"A","namespace":"n","doc":"d","fields":[],'
        '"x":{"b":1,"a":[2]},"aliases":["B"]}',
    ),
    (
        '{"type":"record","name":"A","fields":[{"z":1,"aliases":["g"],"order":"descending",'
        '"default":1,"doc":"","type":"int","name":"f"}]}',
        '{"type":"record","name":"A","fields":[{"name":"f","type":"int","doc":"","default":1,'
        '"order":"descending","aliases":["g"],"z":1}]}',
    ),
    (
        '{"type":"record","name":"A","fields":[{"name":"f","type":"int","order":"ASCENDING"}]}',
        '{"type":"record","name":"A","fields":[{"name":"f","type":"int"}]}',
    ),
    (
        '{"aliases":["x.D"],"default":"X","symbols":["X"],"name":"n.E","type":"enum","p":null}',
        '{"type":"enum","name":"E","namespace":"n","symbols":["X"],"default":"X","p":null,'
        '"aliases":["x.D"]}',
    ),
    (
        '{"type":"fixed","logicalType":"decimal","precision":4,"size":16,"name":"F"}',
        '{"type":"fixed","name":"F","size":16,"logicalType":"decimal","precision":4}',
    ),
    ('{"items":"int","type":"array","p":1}', '{"type":"array","items":"int","p":1}'),
    ('{"values":"int","type":"map","default":{}}', '{"type":"map","values":"int","default":{}}'),
    # The namespace of a record is that of the types inside it, which do not repeat it.
    (
        '{"type":"record","name":"n.A","fields":['
        '{"name":"b","type":{"type":"record","name":"n.B","fields":[]}},'
        '{"name":"c","type":{"type":"record","name":"m.C","fields":[{"name":"b","type":"n.B"}]}},'
        '{"name":"d","type":{"type":"fixed","name":"D","namespace":"","size":1}},'
        '{"name":"e","type":["null","n.B","m.C","A"]}]}',
        '{"type":"record","name":"A","namespace":"n","fields":['
        '{"name":"b","type":{"type":"record","name":"B","fields":[]}},'
        '{"name":"c","type":{"type":"record","name":"C","namespace":"m",'
        '"fields":[{"name":"b","type":"n.B"}]}},'
        '{"name":"d","type":{"type":"fixed","name":"D","namespace":"","size":1}},'
        '{"name":"e","type":["null","B","m.C","A"]}]}',
    ),
    # A name that is also the name of a type keeps its namespace.
    (
        '{"type":"record","name":"n.A","fields":['
        '{"name":"b","type":{"type":"record","name":"string","fields":[]}},'
        '{"name":"c","type":"n.string"}]}',
        '{"type":"record","name":"A","namespace":"n","fields":['
        '{"name":"b","type":{"type":"record","name":"string","fields":[]}},'
        '{"name":"c","type":"n.string"}]}',
    ),
    ('{"type":"int","d":1e10}', '{"type":"int","d":1.0E10}'),
    ('{"type":"int","d":12345678.9}', '{"type":"int","d":1.23456789E7}'),
    ('{"type":"int","d":0.00012}', '{"type":"int","d":1.2E-4}'),
    ('{"type":"int","d":1e2}', '{"type":"int","d":100.0}'),
    ('{"type":"int","d":-2.5e-10}', '{"type":"int","d":-2.5E-10}'),
    ('{"type":"int","d":0.0}', '{"type":"int","d":0.0}'),
    ('{"type":"int","d":12345678901234567890}', '{"type":"int","d":12345678901234567890}'),
    ('{"type":"int","d":"\\u001f\\t\\u00e9\\/"}', '{"type":"int","d":"\\u001F\\té/"}'),
    ('{"type":"int","x":1,"x":2}', '{"type":"int","x":2}'),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_the_text_is_the_one_that_java_prints(text: str, canonical: str) -> None:
    """Keys, namespaces, numbers and escapes are spelt as Avro's Java library spells them."""
    assert avro.parse(text).text == canonical


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_the_text_is_stable(text: str, canonical: str) -> None:
    """Parsing the canonical text gives it back."""
    assert avro.parse(canonical).text == canonical


NORMAL = [
    (
        '{"type":"string","b":1,"a":{"z":1,"y":2}}',
        '{"type":"string","a":{"y":2,"z":1},"b":1}',
    ),
    (
        '{"type":"bytes","scale":2,"a":1,"precision":4,"logicalType":"decimal"}',
        '{"type":"bytes","logicalType":"decimal","precision":4,"scale":2,"a":1}',
    ),
    (
        '{"type":"bytes","scale":5,"precision":4,"logicalType":"decimal","a":1}',
        '{"type":"bytes","a":1,"logicalType":"decimal","precision":4,"scale":5}',
    ),
    (
        '{"type":"long","adjust":true,"logicalType":"timestamp-millis"}',
        '{"type":"long","logicalType":"timestamp-millis","adjust":true}',
    ),
    (
        '{"type":"int","adjust":true,"logicalType":"timestamp-millis"}',
        '{"type":"int","adjust":true,"logicalType":"timestamp-millis"}',
    ),
    (
        '{"type":"fixed","name":"U","size":16,"a":1,"logicalType":"uuid"}',
        '{"type":"fixed","name":"U","size":16,"logicalType":"uuid","a":1}',
    ),
    (
        '{"type":"enum","name":"E","doc":"","symbols":["B","A"],"aliases":["z","a"]}',
        '{"type":"enum","name":"E","symbols":["B","A"],"aliases":["a","z"]}',
    ),
    (
        '{"type":"record","name":"a.R","fields":[{"name":"f","type":"double","default":1,'
        '"aliases":["y","x"]},{"name":"m","type":{"type":"map","values":"float"},'
        '"default":{"b":1,"a":2}}]}',
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"f","type":"double",'
        '"default":1.0,"aliases":["x","y"]},{"name":"m","type":{"type":"map","values":"float"},'
        '"default":{"a":2.0,"b":1.0}}]}',
    ),
]


@pytest.mark.parametrize(("text", "normal"), NORMAL)
def test_the_normal_form_orders_what_has_no_meaning(text: str, normal: str) -> None:
    """Properties and aliases are sorted, a logical type that fits its type stands first."""
    schema = avro.parse(text)
    assert schema.normalized() == normal
    assert avro.parse(normal).normalized() == normal


def test_schemas_that_differ_in_spelling_have_one_normal_form() -> None:
    """The order of keys, full or short names and white space do not make another schema."""
    one = '{"type":"record","name":"R","namespace":"n","fields":[{"name":"r","type":["null","R"]}]}'
    other = '{"name": "n.R", "fields": [{"type": ["null", "n.R"], "name": "r"}], "type": "record"}'
    assert avro.parse(one).normalized() == avro.parse(other).normalized()


ADDRESS = Resolved(
    Reference("geo.Address", "address", 1),
    json.dumps(record(field("city", "string"), name="Address", namespace="geo")),
)
PERSON = '{"type":"record","name":"Person","fields":[{"name":"home","type":"geo.Address"}]}'


def test_references_stay_names_in_the_text() -> None:
    """A referenced type is named and not repeated, in the text and in the normal form."""
    schema = avro.parse(PERSON, [ADDRESS])
    assert schema.text == PERSON
    assert schema.normalized() == PERSON


def test_the_resolved_form_stands_alone() -> None:
    """With the references inside, the schema parses without them."""
    resolved = avro.parse(PERSON, [ADDRESS]).formatted("resolved")
    assert resolved == (
        '{"type":"record","name":"Person","fields":[{"name":"home","type":{"type":"record",'
        '"name":"Address","namespace":"geo","fields":[{"name":"city","type":"string"}]}}]}'
    )
    assert avro.parse(resolved).text == resolved


@pytest.mark.parametrize("form", ["", "default", "serialized", "no such form"])
def test_other_forms_are_the_text(form: str) -> None:
    """A form that Avro does not have gives the canonical text."""
    assert avro.parse(PERSON, [ADDRESS]).formatted(form) == PERSON
