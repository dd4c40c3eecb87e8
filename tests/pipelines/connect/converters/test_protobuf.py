"""Connect's structs as Protobuf's messages, and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.registry import RegistryClient, RegistrySettings
from headrace.pipelines.connect.converters.registry.protobuf import ProtobufConverter
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from headrace.schemas import protobuf
from headrace.schemas.framing import frame, unframe
from tests.pipelines.connect.converters import generating
from tests.pipelines.connect.converters.oracle import normal, shown_schema, shown_value

pytestmark = pytest.mark.timeout(900)  # for `make thorough`, which draws far more


NOWHERE = RegistryClient(RegistrySettings.at("http://127.0.0.1:9"))
GIVEN = {"converter.type": "value", "schema.registry.url": "http://127.0.0.1:9"}
LEAVES = st.sampled_from([*generating.PRIMITIVE, *generating.LOGICAL])
NAMES = st.text("abcd", min_size=1, max_size=3)


def converter(**more: str) -> ProtobufConverter:
    """A converter that asks no registry for what these tests want of it."""
    given_ = {**GIVEN, **{name.replace("_", "."): text for name, text in more.items()}}
    return ProtobufConverter(given_, NOWHERE)


def messages() -> st.SearchStrategy[Schema]:
    """Structs of what Protobuf can nest."""

    def fields(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
        keys = st.sampled_from([schemas.STRING, schemas.INT64, schemas.BOOLEAN])
        plain = LEAVES.filter(lambda leaf: leaf.type not in (Type.INT8, Type.INT16))
        single = st.one_of(LEAVES, inner)
        parts = st.one_of(
            st.tuples(single, st.booleans()).map(lambda pair: pair[0].but(optional=pair[1])),
            single.map(schemas.array),
            st.tuples(keys, plain.filter(lambda leaf: leaf.name != schemas.DECIMAL)).map(
                lambda pair: schemas.map_of(*pair)
            ),
        )
        return generating.structs(parts, NAMES)

    return fields(fields(LEAVES))


@generating.cases(30)
@given(generating.with_values(messages()), st.sampled_from(["optional", "wrapper"]))
def test_there_and_back(case: tuple[Schema, Any], form: str) -> None:
    """Nothing is lost where fields that may be null say so."""
    schema, value = case
    made = converter(**{f"{form}_for_nullables": "true"})
    parsed = protobuf.parse(made.text_of(schema))
    again = made.schema_of(parsed)
    if form == "optional":
        assert shown_schema(again) == shown_schema(schema)
    framed = frame(1, made.payload_of(parsed, schema, value), (0,))
    payload = bytes(unframe(framed).payload)
    read = made.value_of(parsed, again, payload)
    if form == "optional":
        assert normal(shown_value(again, read)) == normal(shown_value(schema, value))
    else:
        assert isinstance(read, Struct)
        scalars = {
            f.name for f in schema.fields if f.schema.type.is_primitive and not f.schema.name
        }
        for name in scalars:
            part = schema.fields[schema.places[name]].schema
            assert shown_value(part, read.given(name)) == shown_value(part, value.given(name))


def test_the_source() -> None:
    shape = schemas.struct(
        {
            "id": schemas.INT64,
            "name": schemas.OPTIONAL_STRING,
            "small": Schema(Type.INT8),
            "lines": schemas.array(schemas.struct({"sku": schemas.STRING}, name="acme.Line")),
            "at": schemas.timestamp(),
        },
        name="acme.Order",
    )
    assert converter(optional_for_nullables="true").text_of(shape).splitlines() == [
        'syntax = "proto3";',
        "package acme;",
        'import "confluent/meta.proto";',
        'import "google/protobuf/timestamp.proto";',
        "message Order {",
        "  int64 id = 1;",
        "  optional string name = 2;",
        '  int32 small = 3 [(confluent.field_meta) = { params: [ { key: "connect.type", '
        'value: "int8" } ] }];',
        "  repeated Line lines = 4;",
        "  google.protobuf.Timestamp at = 5;",
        "}",
        "message Line {",
        "  string sku = 1;",
        "}",
    ]


def test_what_protobuf_cannot_nest() -> None:
    nested = schemas.struct({"a": schemas.array(schemas.array(schemas.INT32))})
    with pytest.raises(DataException, match="put it into a struct"):
        converter().text_of(nested)
    with pytest.raises(DataException, match="HoistField"):
        converter().text_of(schemas.STRING)


def test_messages_of_others() -> None:
    """Enums are strings, unsigned numbers have room, plain fields may be missing."""
    text = """
        syntax = "proto3";
        enum Kind { NONE = 0; SOME = 1; }
        message M { uint32 n = 1; Kind kind = 2; oneof one { string a = 3; int32 b = 4; } }
    """
    parsed, made = protobuf.parse(text), converter()
    schema = made.schema_of(parsed)
    assert [(f.name, f.schema.type, f.schema.optional) for f in schema.fields] == [
        ("n", Type.INT64, True),
        ("kind", Type.STRING, True),
        ("a", Type.STRING, True),
        ("b", Type.INT32, True),
    ]
    data = made.payload_of(parsed, schema, Struct(schema, [7, "SOME", "x", None]))
    read = made.value_of(parsed, schema, b"\x00" + data)
    assert isinstance(read, Struct)
    assert read.values == [7, "SOME", "x", None]
