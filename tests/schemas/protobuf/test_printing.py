"""The canonical text: it compiles to the descriptor that it was printed from."""

from __future__ import annotations

import base64
from pathlib import Path

import grpc_tools
import pytest
from google.protobuf import descriptor_pb2, message_factory, struct_pb2

import headrace.schemas.protobuf
from headrace.schemas.model import InvalidSchema
from headrace.schemas.protobuf import ProtobufSchema
from tests.schemas.protobuf.printed_sources import EXTENDED, SOURCES
from tests.schemas.protobuf.resolved import parsed

SHIPPED = sorted(
    [
        *(Path(grpc_tools.__file__).parent / "_proto").rglob("*.proto"),
        *(Path(headrace.schemas.protobuf.__file__).parent / "protos").rglob("*.proto"),
    ]
)


def same_descriptor(one: ProtobufSchema, other: ProtobufSchema) -> bool:
    """Whether two descriptors say the same: maps in options, once read, have no order."""
    name = descriptor_pb2.FileDescriptorProto.DESCRIPTOR.full_name
    try:
        descriptor = one.pool.FindMessageTypeByName(name)
    except KeyError:
        return bool(one.files[-1] == other.files[-1])
    reader = message_factory.GetMessageClass(descriptor)
    first, second = (reader.FromString(each.files[-1].SerializeToString()) for each in (one, other))
    return bool(first == second)


def assert_round_trip(schema: ProtobufSchema) -> None:
    again = parsed(schema.text)
    assert again.text == schema.text
    assert same_descriptor(again, schema)
    encoded = parsed(schema.formatted("serialized"))
    assert encoded.text == schema.text
    assert same_descriptor(encoded, schema)
    normal = parsed(schema.normalized())
    assert normal.text == normal.normalized() == schema.normalized()
    assert normal.message_names() == schema.message_names()


@pytest.mark.parametrize("title", SOURCES)
def test_source_is_printed_as_what_it_means(title: str) -> None:
    """The printed text compiles to the same bytes of descriptors, as does the serialized form."""
    assert_round_trip(parsed(SOURCES[title]))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_files_of_google_and_confluent_are_printed_as_what_they_mean(path: Path) -> None:
    """Well-known types, Google's common types and the compiler's own files survive the printer."""
    assert_round_trip(parsed(path.read_text()))


def test_blanks_comments_and_spelling_do_not_make_another_schema() -> None:
    """Two spellings of one schema have one canonical text."""
    one = parsed(
        'syntax = "proto3"; package p; import "google/protobuf/any.proto";\n'
        "message M { N n = 1; google.protobuf.Any a = 2; message N {} }"
    )
    other = parsed(
        "/* why */ syntax = 'proto3';\n\n\npackage p ;// here\n"
        "import 'google/protobuf/any.proto';\n"
        "message M {\n\n  message N { }\n  .p.M.N n = 0x1;\n"
        "  google.protobuf.Any a = 2;;\n}\n"
    )
    assert one.text == other.text
    assert "why" not in other.text


def test_text_reads_as_a_person_would_write_it() -> None:
    """The layout is stable: it is what users see and what decides whether a version is new."""
    schema = parsed(
        'syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto"; '
        'import "confluent/meta.proto"; option java_package = "com.shop"; '
        "message Order { reserved 9; string id = 1; repeated Line lines = 2; "
        "map<string, int64> totals = 3; oneof payment { string card = 4; bool cash = 5; } "
        'string email = 7 [(confluent.field_meta).tags = "PII", deprecated = true]; '
        "google.protobuf.Timestamp at = 6; message Line { string sku = 1; } } "
        "enum State { NEW = 0; PAID = 1 [deprecated = true]; } "
        "service Orders { rpc Get (Order) returns (stream Order); }"
    )
    assert schema.text == (
        'syntax = "proto3";\n'
        "package shop;\n"
        "\n"
        'import "google/protobuf/timestamp.proto";\n'
        'import "confluent/meta.proto";\n'
        "\n"
        'option java_package = "com.shop";\n'
        "\n"
        "message Order {\n"
        "  reserved 9;\n"
        "\n"
        "  string id = 1;\n"
        "  repeated .shop.Order.Line lines = 2;\n"
        "  map<string, int64> totals = 3;\n"
        "  oneof payment {\n"
        "    string card = 4;\n"
        "    bool cash = 5;\n"
        "  }\n"
        "  string email = 7 [\n"
        "    (confluent.field_meta) = {\n"
        "      tags: [\n"
        '        "PII"\n'
        "      ]\n"
        "    },\n"
        "    deprecated = true\n"
        "  ];\n"
        "  .google.protobuf.Timestamp at = 6;\n"
        "\n"
        "  message Line {\n"
        "    string sku = 1;\n"
        "  }\n"
        "}\n"
        "enum State {\n"
        "  NEW = 0;\n"
        "  PAID = 1 [deprecated = true];\n"
        "}\n"
        "\n"
        "service Orders {\n"
        "  rpc Get (.shop.Order) returns (stream .shop.Order);\n"
        "}\n"
    )


def test_normalized_text_does_not_depend_on_the_order_of_declarations() -> None:
    """Imports, fields, oneofs, reserved numbers and names and values of enums are sorted."""
    one = parsed(
        'syntax = "proto3"; import "google/type/date.proto"; import "google/type/money.proto"; '
        'message M { reserved 20, 10 to 12; reserved "y", "x"; map<string, int32> b = 2; '
        "message N {} oneof p { int32 f = 6; int32 e = 5; } map<string, int32> a = 1; "
        "oneof o { int32 c = 3; } optional int32 d = 4; google.type.Date g = 7; "
        "google.type.Money h = 8; } enum E { Z = 0; B = 2; A = 1; reserved 9, 7; }"
    )
    other = parsed(
        'syntax = "proto3"; import "google/type/money.proto"; import "google/type/date.proto"; '
        "message M { map<string, int32> a = 1; message N {} map<string, int32> b = 2; "
        "google.type.Money h = 8; google.type.Date g = 7; optional int32 d = 4; "
        "oneof o { int32 c = 3; } oneof p { int32 e = 5; int32 f = 6; } "
        'reserved "x"; reserved 10 to 12; reserved "y"; reserved 20; } '
        "enum E { Z = 0; A = 1; B = 2; reserved 7; reserved 9; }"
    )
    assert one.text != other.text
    assert one.normalized() == other.normalized()
    numbers = [each.number for each in parsed(one.normalized()).files[-1].message_type[0].field]
    assert numbers == [1, 2, 4, 7, 8, 3, 5, 6]
    assert one.message_names()["M.N"] == parsed(one.normalized()).message_names()["M.N"] == (0, 1)


def test_order_of_messages_and_the_default_of_an_enum_are_not_normalized_away() -> None:
    """Records refer to messages by number, and the first value of an enum is its default."""
    schema = parsed(
        'syntax = "proto2"; message Z {} message A {} enum E { TWO = 2; ONE = 1; ZERO = 0; }'
    )
    normal = parsed(schema.normalized())
    assert list(normal.message_names()) == ["Z", "A"]
    assert [each.name for each in normal.files[-1].enum_type[0].value] == ["TWO", "ZERO", "ONE"]


def test_descriptor_of_generated_code_is_understood() -> None:
    """What confluent-kafka registers, base64 of a module's serialized descriptor, is a schema."""
    registered = base64.standard_b64encode(struct_pb2.DESCRIPTOR.serialized_pb).decode()
    schema = parsed(registered)
    assert schema.name == "google.protobuf.Struct"
    assert schema.text.startswith('syntax = "proto3";\npackage google.protobuf;\n')
    assert schema.text == parsed(schema.text).text


def test_descriptor_whose_imports_are_references_is_understood() -> None:
    """A serialized descriptor resolves imports, and options that they define, like source does."""
    options = (
        'syntax = "proto2"; package opt; import "google/protobuf/descriptor.proto"; '
        "extend google.protobuf.FieldOptions { optional string unit = 50001; }"
    )
    imports = [("lib/opt.proto", options)]
    source = (
        'syntax = "proto3"; import "lib/opt.proto"; message M { int32 a = 1 [(opt.unit) = "m"]; }'
    )
    schema = parsed(source, imports)
    encoded = parsed(schema.formatted("serialized"), imports)
    assert '(opt.unit) = "m"' in schema.text
    assert encoded.text == schema.text
    through_encoded = parsed(source, [("lib/opt.proto", parsed(options).formatted("serialized"))])
    assert through_encoded.text == schema.text


def test_extensions_can_be_left_out() -> None:
    """The form `ignore_extensions` has no option that someone defined, and no `extend`."""
    text = parsed(EXTENDED).formatted("ignore_extensions")
    assert "extend " not in text
    assert "(" not in text.replace("rpc R (.x.confluent.M) returns (.x.confluent.M)", "")
    assert "message M {" in text


def test_forms_that_nobody_knows_give_the_text() -> None:
    """A form without meaning for Protobuf is the canonical text."""
    schema = parsed(SOURCES["optional"])
    assert schema.formatted("") == schema.formatted("resolved") == schema.formatted("x")
    assert schema.formatted("") == schema.text
    serialized = base64.b64decode(schema.formatted("serialized"))
    assert descriptor_pb2.FileDescriptorProto.FromString(serialized).message_type[0].name == "M"


EXPLICIT_ENTRIES = """
syntax = "proto3";
package p;
// option map_entry = true; is a comment here
option java_package = "option map_entry = true;";
message A {
  repeated .p.A.MEntry m = 1;
  repeated ByNameEntry by_name = 2;

  message Before {}
  message MEntry {
    option map_entry = true;

    string key = 1;
    int32 value = 2;
  }
  message ByNameEntry { option   map_entry=true ; string key = 1; .p.A value = 2; }
  message After {}
}
"""


def test_entries_of_maps_may_be_spelled_out() -> None:
    """Confluent's Java client prints a map as its entries, which protoc itself would refuse."""
    schema = parsed(EXPLICIT_ENTRIES)
    assert "map<string, int32> m = 1;" in schema.text
    assert "map<string, .p.A> by_name = 2;" in schema.text
    assert 'java_package = "option map_entry = true;"' in schema.text
    assert schema.message_names() == {"p.A": (0,), "p.A.Before": (0, 0), "p.A.After": (0, 3)}
    assert schema.text == parsed(schema.text).text
    importing = 'syntax = "proto3"; import "a.proto"; message M { p.A a = 1; }'
    value = {"a": {"m": {"x": 1}, "by_name": {}}}
    through_import = parsed(importing, [("a.proto", EXPLICIT_ENTRIES)])
    assert through_import.decode(through_import.encode(value)) == value


@pytest.mark.parametrize(
    "fields", ["", "string key = 1;", "int32 a = 1; int32 b = 2; int32 c = 3;"]
)
def test_entries_of_maps_must_be_entries(fields: str) -> None:
    """A message that only says that it is an entry is refused."""
    with pytest.raises(InvalidSchema):
        parsed(
            'syntax = "proto3"; message M { repeated E e = 1; '
            f"message E {{ option map_entry = true; {fields} }} }}"
        )
