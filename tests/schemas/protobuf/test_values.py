"""Messages and their indexes, and values as JSON."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.schemas import formats
from headrace.schemas.model import InvalidValue, SchemaType
from tests.generated import examples
from tests.schemas.protobuf.resolved import parsed

EVERYTHING = parsed(
    """
    syntax = "proto3";
    package p;
    import "google/protobuf/any.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message All {
      int32 an_int = 1; int64 a_long = 2; uint64 unsigned = 3; float f = 4; double d = 5;
      bool b = 6; string s = 7; bytes raw = 8; E e = 9; Inner inner = 10;
      repeated int32 many = 11; map<string, Inner> by_name = 12; optional int32 maybe = 13;
      oneof choice { string text = 14; int32 number = 15; }
      google.protobuf.Timestamp at = 16; google.protobuf.Duration lasts = 17;
      google.protobuf.StringValue wrapped = 18; google.protobuf.Struct struct = 19;
      google.protobuf.Any any = 20; All next = 21;
      message Inner { string x = 1; }
    }
    enum E { ZERO = 0; ONE = 1; }
    """
)
DEFAULTS: dict[str, Any] = {
    "an_int": 0,
    "a_long": "0",
    "unsigned": "0",
    "f": 0.0,
    "d": 0.0,
    "b": False,
    "s": "",
    "raw": "",
    "e": "ZERO",
    "many": [],
    "by_name": {},
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, {}),
        ({"an_int": 5}, {"an_int": 5}),
        ({"anInt": 5}, {"an_int": 5}),
        ({"an_int": "5"}, {"an_int": 5}),
        ({"an_int": 5.0}, {"an_int": 5}),
        ({"an_int": None}, {}),
        ({"a_long": 2**53}, {"a_long": str(2**53)}),
        ({"a_long": "-9223372036854775808"}, {"a_long": "-9223372036854775808"}),
        ({"unsigned": 2**64 - 1}, {"unsigned": str(2**64 - 1)}),
        ({"f": 1.5, "d": "NaN"}, {"f": 1.5, "d": "NaN"}),
        ({"d": "-Infinity"}, {"d": "-Infinity"}),
        ({"b": True, "s": "é\n"}, {"b": True, "s": "é\n"}),
        ({"raw": "AP8="}, {"raw": "AP8="}),
        ({"raw": "AP8"}, {"raw": "AP8="}),
        ({"e": "ONE"}, {"e": "ONE"}),
        ({"e": 1}, {"e": "ONE"}),
        ({"e": 7}, {"e": 7}),
        ({"inner": {"x": "y"}}, {"inner": {"x": "y"}}),
        ({"inner": {}}, {"inner": {"x": ""}}),
        ({"many": [1, 2]}, {"many": [1, 2]}),
        ({"by_name": {"k": {"x": "v"}}}, {"by_name": {"k": {"x": "v"}}}),
        ({"maybe": 0}, {"maybe": 0}),
        ({"text": ""}, {"text": ""}),
        ({"number": 0}, {"number": 0}),
        ({"at": "2024-02-29T12:00:00.5Z"}, {"at": "2024-02-29T12:00:00.500Z"}),
        ({"lasts": "1.5s"}, {"lasts": "1.500s"}),
        ({"wrapped": "w"}, {"wrapped": "w"}),
        ({"struct": {"a": [1, None, {"b": True}]}}, {"struct": {"a": [1.0, None, {"b": True}]}}),
        (
            {"any": {"@type": "type.googleapis.com/p.All.Inner", "x": "in"}},
            {"any": {"@type": "type.googleapis.com/p.All.Inner", "x": "in"}},
        ),
    ],
)
def test_values_go_through_by_protobufs_json_mapping(
    value: dict[str, Any], expected: dict[str, Any]
) -> None:
    """A value comes back under the schema's names, with zeros where a field has no presence."""
    assert EVERYTHING.decode(EVERYTHING.encode(value)) == {**DEFAULTS, **expected}


def test_json_names_can_be_asked_for() -> None:
    """Fields stand under their JSON names on demand, as Confluent's console tools print them."""
    value = EVERYTHING.decode(EVERYTHING.encode({"an_int": 1}), preserve_field_names=False)
    assert isinstance(value, dict)
    assert value["anInt"] == 1
    assert "byName" in value


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"next": value}
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"unknown": 1}, 'no field named "unknown"'),
        ({"an_int": "five"}, "an_int"),
        ({"an_int": 2**31}, "an_int"),
        ({"an_int": 1.5}, "an_int"),
        ({"an_int": True}, "an_int"),
        ({"unsigned": -1}, "unsigned"),
        ({"b": "yes"}, "field: b|Failed to parse b"),
        ({"s": 5}, "Failed to parse s"),
        ({"s": "\ud800"}, "p.All"),
        ({"raw": "A"}, "raw"),
        ({"e": "TWO"}, "Invalid enum value|TWO"),
        ({"inner": 5}, "inner"),
        ({"inner": {"x": 5}}, "inner"),
        ({"many": 5}, "many"),
        ({"many": [None]}, "many"),
        ({"by_name": []}, "by_name"),
        ({"text": "a", "number": 1}, "oneof|more than one"),
        ({"at": "yesterday"}, "at"),
        ({"any": {"@type": "type.googleapis.com/p.Lost"}}, "p.Lost|any"),
        ([], "p.All"),
        ("text", "p.All"),
        (5, "p.All"),
        (None, "p.All"),
        (nested(500), "recursion|nest|deep"),
        ({1: 2}, "p.All"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: object, reason: str) -> None:
    """A value that the message cannot hold is refused, and the reason names the field."""
    with pytest.raises(InvalidValue, match=reason):
        EVERYTHING.encode(value)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"\x08",
        b"\x0a\x05ab",
        b"\x3a\x02\xff\xfe",
        b"\x0b",
        b"\x0c",
        b"\x00",
        b"\xaa\x01\x02" * 3,
        b"\x82\x01\x0b\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    ],
)
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    """Bytes that do not parse, or have no JSON form, are refused by name of the message."""
    with pytest.raises(InvalidValue, match=r"p\.All"):
        EVERYTHING.decode(data)


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4))
@settings(max_examples=examples(200), deadline=None)
def test_damaged_bytes_are_read_or_refused(damage: list[tuple[int, int]]) -> None:
    """Whatever happens to the bytes of a message, there is a value or an InvalidValue."""
    data = bytearray(
        EVERYTHING.encode(
            {
                "an_int": 5,
                "by_name": {"k": {}},
                "at": "2020-01-01T00:00:00Z",
                "struct": {"a": [1]},
                "any": {"@type": "type.googleapis.com/p.All.Inner", "x": "a"},
            }
        )
    )
    for position, value in damage:
        data[position % len(data)] = value
    with suppress(InvalidValue):
        assert isinstance(EVERYTHING.decode(bytes(data)), dict)


def test_bytes_nested_without_end_are_refused() -> None:
    """A message a thousand levels deep is refused and does not end the process."""
    data = b""
    for _ in range(1_000):
        length = len(data)
        size = b""
        while length > 127:
            size += bytes([length & 127 | 128])
            length >>= 7
        data = b"\xaa\x01" + size + bytes([length]) + data
    with pytest.raises(InvalidValue):
        EVERYTHING.decode(data)


def test_required_fields_are_demanded_both_ways() -> None:
    """A message that lacks a required field is neither written nor read."""
    schema = parsed('syntax = "proto2"; message M { required int32 a = 1; optional M m = 2; }')
    assert schema.encode({"a": 1}) == b"\x08\x01"
    with pytest.raises(InvalidValue, match="required fields are missing: a"):
        schema.encode({})
    with pytest.raises(InvalidValue, match=r"required fields are missing: m\.a"):
        schema.decode(b"\x08\x01\x12\x00")


INDEXED = parsed(
    """
    syntax = "proto2";
    package p;
    enum E { Z = 0; }
    message A {
      message B { message C {} message D {} }
      map<string, int32> m = 1;
      enum F { Y = 0; }
      message G { map<string, int32> n = 1; message H {} }
      optional group I = 2 { message J {} }
      message K {}
    }
    message L { message B {} }
    """
)
INDEXES = {
    "p.A": (0,),
    "p.A.B": (0, 0),
    "p.A.B.C": (0, 0, 0),
    "p.A.B.D": (0, 0, 1),
    "p.A.G": (0, 2),
    "p.A.G.H": (0, 2, 1),
    "p.A.I": (0, 3),
    "p.A.I.J": (0, 3, 0),
    "p.A.K": (0, 4),
    "p.L": (1,),
    "p.L.B": (1, 0),
}


def test_messages_are_numbered_as_descriptors_number_them() -> None:
    """Every message has its path of indexes; the entry of a map takes a number, enums do not."""
    assert INDEXED.message_names() == INDEXES
    assert {INDEXED.message_name(path): path for path in INDEXES.values()} == INDEXES
    assert INDEXED.name == "p.A"


@pytest.mark.parametrize("indexes", [(), (2,), (0, 1), (0, 0, 2), (-1,), (0, 0, 0, 0)])
def test_indexes_that_lead_nowhere_are_refused(indexes: tuple[int, ...]) -> None:
    """A path of indexes without a message, which a broken record may hold, is an invalid value."""
    with pytest.raises(InvalidValue, match="no message with the indexes"):
        INDEXED.decode(b"", indexes)


def test_values_of_any_message_are_encoded_by_its_indexes() -> None:
    """The indexes choose the message that a value is encoded and decoded as."""
    schema = parsed(
        'syntax = "proto3"; message A { int32 a = 1; message B { string b = 1; } } message C {}'
    )
    assert schema.encode({"b": "x"}, (0, 0)) == b"\x0a\x01x"
    assert schema.decode(b"\x0a\x01x", message_indexes=[0, 0]) == {"b": "x"}
    assert schema.encode({}, (1,)) == b""
    with pytest.raises(InvalidValue):
        schema.encode({"b": "x"})


def test_file_without_messages_is_a_schema_without_a_name() -> None:
    """A file of enums alone can be registered, for others to import."""
    schema = formats.parse(SchemaType.PROTOBUF, 'syntax = "proto3"; enum E { Z = 0; }')
    assert schema.type is SchemaType.PROTOBUF
    assert schema.name is None
    with pytest.raises(InvalidValue, match="no message"):
        schema.encode({})


@pytest.mark.spec("slides:G34")
def test_simple_message_of_the_course_goes_through() -> None:
    """The course's message of two strings is encoded by its numbers and read back by its names."""
    schema = parsed(
        'syntax = "proto3"; package com.codingharbour.protobuf; '
        "message SimpleMessage { string content = 1; string date_time = 2; }"
    )
    value = {"content": "Hello world", "date_time": "2020-07-20"}
    assert schema.name == "com.codingharbour.protobuf.SimpleMessage"
    assert schema.encode(value) == b"\x0a\x0bHello world\x12\x0a2020-07-20"
    assert schema.decode(schema.encode(value)) == value


@pytest.mark.spec("slides:G35")
def test_order_with_products_of_the_course_goes_through() -> None:
    """An order holds its products, whose message is defined beside it."""
    schema = parsed(
        'syntax = "proto3"; package com.codingharbour.protobuf; '
        "message Order { int64 order_id = 1; int64 date_time = 2; repeated Product product = 3; } "
        "message Product { int32 product_id = 1; string name = 2; string description = 3; }"
    )
    product = {"product_id": 7, "name": "pump", "description": "a pump"}
    value = {"order_id": "1", "date_time": "1595246400000", "product": [product, product]}
    assert schema.decode(schema.encode(value)) == value
    assert schema.decode(schema.encode({})) == {"order_id": "0", "date_time": "0", "product": []}
    assert schema.decode(schema.encode(product, (1,)), (1,)) == product
