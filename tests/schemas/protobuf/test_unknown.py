"""Imports that the registry does not have and options that no file defines."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool

from headrace.schemas.model import InvalidSchema
from headrace.schemas.protobuf import descriptor_set, incompatibilities
from tests.schemas.protobuf.resolved import parsed

ANNOTATED = """\
syntax = "proto3";
package acme.buf.v1;

import "google/api/annotations.proto";
import "buf/validate/validate.proto";
import "google/protobuf/timestamp.proto";

option (acme.owner) = "caf\\303\\251";
option java_package = "acme";

message Order {
  option (buf.validate.message).cel = { id: "total", expression: "this.total > 0" };

  string id = 1 [
    (buf.validate.field).string.min_len = 1,
    (validate.rules).string = { pattern: "^[A-Z], \\"x\\"$" max_len: 20 },
    deprecated = true
  ];
  map<string, double> prices = 2 [(validate.rules).map.min_pairs = 1];
  .google.protobuf.Timestamp at = 3 [(buf.validate.field).required = true];
  oneof total {
    option (buf.validate.oneof).required = true;

    int64 cents = 4 [(validate.rules).int64.gte = -5];
    double amount = 5 [(validate.rules).double.lt = 2.5];
  }

  message Line {
    sint32 count = 1 [(validate.rules).sint32.gt = 0];
  }
}
enum State {
  option (acme.state) = true;
  NEW = 0 [(acme.shown) = NEVER];
}

service Orders {
  option (google.api.default_host) = "acme.test";

  rpc Get (.acme.buf.v1.Order) returns (.acme.buf.v1.Order) {
    option (google.api.http) = { get: "/v1/{id}" additional_bindings { get: "/v2/{id}" } };
  };
}
"""


def test_annotations_for_validation_and_gateways_are_kept() -> None:
    """The printed text has every option and import, and is its own canonical text."""
    schema = parsed(ANNOTATED)
    assert schema.text == ANNOTATED
    assert parsed(schema.normalized()).normalized() == schema.normalized()
    for option in ("(buf.validate.field).string.min_len = 1", "(google.api.http) = { get:"):
        assert option in schema.normalized()


def test_layout_and_comments_around_options_do_not_matter() -> None:
    """Tabs, comments, several options on a line and letters of several bytes are all read over."""
    spelled = (
        'syntax="proto3";import "buf/validate/validate.proto";/* [(x)=1] */\n'
        'message M{\t/* é\tü */ option (a.b).c={x:1/* ; */y:"};"};string e = 1;}'
        "message N{string\ta=1[deprecated=true,(v.r)=1];string b=2[(v.r)=2,deprecated=true];"
        "string c=3[(v.r)=3,deprecated=true,(v.s)='x' \"y\"];"
        "optional string d=4[ (v.r) . t = -0x1F ];}"
    )
    assert parsed(spelled).text == (
        'syntax = "proto3";\n\nimport "buf/validate/validate.proto";\n\n'
        'message M {\n  option (a.b).c = { x: 1 y: "};" };\n\n  string e = 1;\n}\n'
        "message N {\n"
        "  string a = 1 [\n    (v.r) = 1,\n    deprecated = true\n  ];\n"
        "  string b = 2 [\n    (v.r) = 2,\n    deprecated = true\n  ];\n"
        '  string c = 3 [\n    (v.r) = 3,\n    (v.s) = "xy",\n    deprecated = true\n  ];\n'
        "  optional string d = 4 [(v.r).t = -31];\n}\n"
    )


def test_options_of_a_group_stay_with_the_field() -> None:
    """A group is a field and a message at one place: brackets are the field's, the rest its own."""
    text = (
        'syntax = "proto2";\n\nmessage M {\n'
        "  optional group G = 1 [(a.field) = 1] {\n"
        "    option (a.message) = 2;\n\n    optional int32 x = 1;\n  }\n}\n"
    )
    assert parsed(text).text == text


def test_annotated_messages_are_encoded_and_decoded() -> None:
    """Unknown options and missing imports do not get in the way of values."""
    schema = parsed(ANNOTATED)
    value = {"id": "A1", "prices": {"x": 1.5}, "at": "2026-01-01T00:00:00Z", "cents": "7"}
    assert schema.decode(schema.encode(value)) == value
    assert schema.message_names()["acme.buf.v1.Order.Line"] == (0, 1)


def test_annotated_schemas_are_compared() -> None:
    """Options change nothing, types do."""
    schema = parsed(ANNOTATED)
    other = parsed(ANNOTATED.replace("min_len = 1", "min_len = 2").replace("(acme.owner)", "(o)"))
    assert incompatibilities(schema, other) == []
    changed = parsed(ANNOTATED.replace("string id = 1", "bool id = 1"))
    assert [each.kind for each in incompatibilities(changed, schema)] == [
        "FIELD_SCALAR_KIND_CHANGED"
    ]


def test_other_forms_leave_out_what_is_unknown() -> None:
    """A client can load the serialized form without the files that the registry does not have."""
    schema = parsed(ANNOTATED)
    serialized = schema.formatted("serialized")
    file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(serialized))
    assert list(file.dependency) == ["google/protobuf/timestamp.proto"]
    pool = DescriptorPool()
    for each in (*schema.files[:-1], file):
        if each.name in {file.name, *file.dependency}:
            pool.Add(each)
    assert pool.FindMessageTypeByName("acme.buf.v1.Order").fields_by_name["id"].number == 1
    assert "(" not in schema.formatted("ignore_extensions").partition("service")[0]
    again = parsed(serialized)
    assert again.message_names() == schema.message_names()
    assert b"uninterpreted" not in descriptor_set(schema)


def test_a_reference_that_is_there_is_still_used() -> None:
    """With the file that defines it, an option is checked and printed as its type demands."""
    define = (
        'syntax = "proto3"; package v; import "google/protobuf/descriptor.proto"; '
        "extend google.protobuf.FieldOptions { int32 most = 50001; }"
    )
    use = (
        'syntax = "proto3"; import "v.proto"; import "lost.proto"; '
        "message M {{ string a = 1 [(v.most) = {}]; }}"
    )
    assert "(v.most) = 7" in parsed(use.format("0x7"), [("v.proto", define)]).text
    with pytest.raises(InvalidSchema, match=r'Value must be integer.*option "v\.most"'):
        parsed(use.format('"x"'), [("v.proto", define)])


def test_unknown_options_of_a_reference_do_not_matter() -> None:
    """A reference may import and use what is missing, too."""
    schema = parsed(
        'syntax = "proto3"; import "a.proto"; message M { A a = 1; }',
        [
            (
                "a.proto",
                'syntax = "proto3"; import "b/c.proto"; message A { int32 x = 1 [(y.z) = 1]; }',
            )
        ],
    )
    assert schema.decode(schema.encode({"a": {"x": 1}})) == {"a": {"x": 1}}


def test_a_name_that_looks_like_an_error_of_the_compiler_reaches_no_file(tmp_path: Path) -> None:
    """What protoc prints may hold what a schema says; files elsewhere are not read or written."""
    victim = tmp_path / "victim.proto"
    victim.write_text("option (a) = 1;")
    steps = "../" * 12
    forged = f'x\\n{steps}{victim}:1:1: Option \\"(a)\\" unknown. '
    with pytest.raises(InvalidSchema):
        parsed(f'syntax = "proto3"; import "{forged}"; message M {{ int32 a = 1 [(a) = 1]; }}')
    assert victim.read_text() == "option (a) = 1;"
    other = 'syntax = "proto3"; message A { int32 x = 1; }'
    with pytest.raises(InvalidSchema):
        parsed(
            'syntax = "proto3"; import "x\\na.proto"; message M { A a = 1; }', [("a.proto", other)]
        )


def test_many_annotations_take_linear_time() -> None:
    """Ten thousand annotated fields in one line are parsed within the compiler's time."""
    fields = "".join(f"string f{n} = {n + 1} [(v.r).min = {n}];" for n in range(10_000))
    began = time.monotonic()
    schema = parsed(f'syntax = "proto3"; import "v.proto"; message M {{ {fields} }}')
    assert schema.text.count("(v.r).min") == 10_000
    assert time.monotonic() - began < 60


def test_one_declaration_may_have_hundreds_of_unknown_options() -> None:
    """protoc names one at a time; those that no file can define are taken out together."""
    define = (
        'syntax = "proto3"; package v; import "google/protobuf/descriptor.proto"; '
        "extend google.protobuf.FieldOptions { int32 most = 50001; }"
    )
    options = ", ".join(f"(a.o{n}) = {n}" for n in range(300))
    text = (
        'syntax = "proto3"; import "v.proto"; '
        f"message M {{ string a = 1 [{options}, (v.most) = 0x7]; }}"
    )
    printed = parsed(text, [("v.proto", define)]).text
    assert [f"(a.o{n}) = {n}" in printed for n in range(300)] == [True] * 300
    assert "(v.most) = 7" in printed, "what a file defines is still read by its definition"
    with pytest.raises(InvalidSchema, match=r'Value must be integer.*option "v\.most"'):
        parsed(text.replace("0x7", '"x"'), [("v.proto", define)])


def test_an_unknown_option_with_the_name_of_a_known_one() -> None:
    """The last part of its name is defined elsewhere, by a group at that: protoc decides."""
    define = (
        'syntax = "proto2"; package v; import "google/protobuf/descriptor.proto"; '
        "extend google.protobuf.FieldOptions { optional group Most = 50001 "
        "{ optional int32 x = 1; } }"
    )
    text = (
        'syntax = "proto2"; import "v.proto"; message M { '
        "optional string a = 1 [(w.most) = 1, (lost) = 2, (v.most).x = 0x3]; }"
    )
    printed = parsed(text, [("v.proto", define)]).text
    for option in ("(w.most) = 1", "(lost) = 2", "(v.most) = {\n"):
        assert option in printed


def test_unknown_options_beside_a_serialized_reference() -> None:
    """What compiling the reference leaves behind is not taken for a source."""
    other = parsed(
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; '
        "message A { google.protobuf.Timestamp at = 1; }"
    ).formatted("serialized")
    text = 'syntax = "proto3"; import "a.proto"; message M { A a = 1 [(x) = 1]; }'
    assert "(x) = 1" in parsed(text, [("a.proto", other)]).text


def test_options_of_ranges_of_extensions_are_kept() -> None:
    """They stand behind all ranges of a statement, and each of these has them."""
    schema = parsed(
        'syntax = "proto2"; message M { extensions 100 to 200, 300 [(x) = 1, (y.z).a = "b"]; '
        "extensions 400 [(x) = 2, verification = UNVERIFIED]; extensions 500; "
        "message N { optional int32 i = 1 [(x) = 3]; extensions 9 [(x) = 4]; } }"
    )
    assert schema.text == (
        'syntax = "proto2";\n\nmessage M {\n'
        '  extensions 100 to 200 [\n    (x) = 1,\n    (y.z).a = "b"\n  ];\n'
        '  extensions 300 [\n    (x) = 1,\n    (y.z).a = "b"\n  ];\n'
        "  extensions 400 [\n    (x) = 2,\n    verification = UNVERIFIED\n  ];\n"
        "  extensions 500;\n\n"
        "  message N {\n    optional int32 i = 1 [(x) = 3];\n\n"
        "    extensions 9 [(x) = 4];\n  }\n}\n"
    )
    assert parsed(schema.text).text == schema.text


@pytest.mark.parametrize(
    ("kind", "literal"),
    [
        ("double", "9" * 400),
        ("double", "-" + "9" * 400),
        ("double", "9" * 5_000),
        ("double", "18446744073709551616"),
        ("bytes", r'"a\?b\x41\X4g\101\7\777\n\\n\"" ' + r"'\'é'"),
        ("bytes", r'"\u00e9\U0001F600\ud83d\ude00\U0000d83d\ude00 \ud83d\ud83d\ude00"'),
        ("bytes", r'"\ud83d \udE00 \U00110000\xff12"'),
    ],
    ids=["400 digits", "minus", "5000 digits", "2 ** 64", "escapes", "characters", "surrogates"],
)
def test_a_value_is_read_as_protoc_reads_it(kind: str, literal: str) -> None:
    """The text of an option that no file defines is that of one that some file defines."""
    define = (
        'syntax = "proto2"; package v; import "google/protobuf/descriptor.proto"; '
        f"extend google.protobuf.FieldOptions {{ optional {kind} known = 50001; }}"
    )
    use = 'syntax = "proto2"; import "v.proto"; message M {{ optional string a = 1 [({}) = {}]; }}'
    known, unknown = (
        parsed(use.format(name, literal), [("v.proto", define)]).text
        for name in ("v.known", "v.strange")
    )
    assert unknown == known.replace("v.known", "v.strange")
    assert parsed(unknown).text == unknown
