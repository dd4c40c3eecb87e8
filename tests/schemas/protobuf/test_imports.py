"""Imports: references by name, files that are always there, and what goes wrong."""

from __future__ import annotations

import base64
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2

from headrace.schemas.model import InvalidSchema
from headrace.schemas.protobuf import descriptor_set
from tests.schemas.protobuf.resolved import parsed

HEAD = 'syntax = "proto3"; '


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("google/protobuf/any.proto", "google.protobuf.Any"),
        ("google/protobuf/struct.proto", "google.protobuf.Value"),
        ("google/protobuf/wrappers.proto", "google.protobuf.StringValue"),
        ("google/protobuf/field_mask.proto", "google.protobuf.FieldMask"),
        ("google/protobuf/type.proto", "google.protobuf.Type"),
        ("google/protobuf/compiler/plugin.proto", "google.protobuf.compiler.CodeGeneratorRequest"),
        ("google/type/money.proto", "google.type.Money"),
        ("google/type/datetime.proto", "google.type.DateTime"),
        ("google/type/postal_address.proto", "google.type.PostalAddress"),
        ("google/type/dayofweek.proto", "google.type.DayOfWeek"),
        ("confluent/meta.proto", "confluent.Meta"),
        ("confluent/type/decimal.proto", "confluent.type.Decimal"),
        ("confluent/types/decimal.proto", "confluent.type.Decimal"),
        ("confluent/type/variant.proto", "confluent.type.Variant"),
    ],
)
def test_known_files_can_be_imported_without_a_reference(file: str, message: str) -> None:
    """Well-known types, Google's common types and Confluent's own are always there."""
    schema = parsed(f'{HEAD}import "{file}"; message M {{ {message} a = 1; }}')
    assert f".{message} a = 1;" in schema.text


def test_references_are_imported_by_name_through_each_other() -> None:
    """A file imports a reference that imports another; the descriptor set has all, in order."""
    schema = parsed(
        f'{HEAD}import "a/b.proto"; message M {{ b.B b = 1; }}',
        [
            ("c.proto", f"{HEAD}package c; message C {{ string s = 1; }}"),
            ("a/b.proto", f'{HEAD}package b; import "c.proto"; message B {{ c.C c = 1; }}'),
        ],
    )
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set(schema)).file
    assert [each.name for each in files] == ["c.proto", "a/b.proto", "default.proto"]
    assert schema.decode(schema.encode({"b": {"c": {"s": "x"}}})) == {"b": {"c": {"s": "x"}}}


def test_reference_may_have_any_name() -> None:
    """Even the name that a schema itself goes by, or one without an ending."""
    schema = parsed(
        f'{HEAD}import "default.proto"; import "plain"; message M {{ D d = 1; P p = 2; }}',
        [("default.proto", f"{HEAD}message D {{}}"), ("plain", f"{HEAD}message P {{}}")],
    )
    assert schema.name == "M"


def test_reference_that_comes_twice_keeps_its_first_meaning() -> None:
    """Two paths to one name are one file."""
    schema = parsed(
        f'{HEAD}import "a.proto"; message M {{ A a = 1; }}',
        [("a.proto", f"{HEAD}message A {{}}"), ("a.proto", f"{HEAD}message B {{}}")],
    )
    assert schema.name == "M"


def test_reference_does_not_replace_what_protoc_brings() -> None:
    """A reference under the name of a well-known type changes nothing."""
    schema = parsed(
        f'{HEAD}import "google/protobuf/any.proto"; message M {{ google.protobuf.Any a = 1; }}',
        [("google/protobuf/any.proto", f"{HEAD}message Other {{}}")],
    )
    assert schema.name == "M"


@pytest.mark.parametrize(
    ("text", "imports", "reason"),
    [
        (
            f'{HEAD}\nimport "lost/x.proto";\nmessage M {{ X x = 1; }}',
            [],
            'line 2, column 1: the import "lost/x.proto" was not found: a reference with this name',
        ),
        (
            f'{HEAD}import "a.proto"; message M {{ A a = 1; }}',
            [("a.proto", f'{HEAD}import "lost.proto"; message A {{ Lost l = 1; }}')],
            'a.proto, line 1, column 20: the import "lost.proto" was not found',
        ),
        (
            f'{HEAD}import "lost.proto"; message M {{ Lost l = 1; }}',
            [],
            'line 1, column 53: "Lost" is not defined',
        ),
        (
            f'{HEAD}import "a.proto"; message M {{ A a = 1; }}',
            [
                ("a.proto", f'{HEAD}import "b.proto"; message A {{}}'),
                ("b.proto", f'{HEAD}import "a.proto"; message B {{}}'),
            ],
            "recursively imports itself: a.proto -> b.proto -> a.proto",
        ),
        (f'{HEAD}import "default.proto";', [], "recursively imports itself: default.proto"),
        (
            f'{HEAD}import "a.proto"; message M {{ A a = 1; }}',
            [("a.proto", f"{HEAD}\nmessage A {{ int32 b }}")],
            "a.proto, line 2, column 21: Missing field number",
        ),
        (
            f'{HEAD}import "a.proto"; message M {{ A a = 1; }}',
            [("a.proto", "AAAA")],
            'the reference "a.proto": the text is neither .proto source nor base64',
        ),
        (f'{HEAD}import "../secret";', [], "../secret"),
        (f'{HEAD}import "/etc/passwd";', [], 'the import "/etc/passwd" was not found'),
        (HEAD, [("../x.proto", HEAD)], '"../x.proto" cannot be the name of an import'),
        (HEAD, [("/x.proto", HEAD)], '"/x.proto" cannot be the name of an import'),
        (HEAD, [("a\\b.proto", HEAD)], "cannot be the name of an import"),
        (HEAD, [("a\0.proto", HEAD)], "cannot be the name of an import"),
        (HEAD, [("", HEAD)], '"" cannot be the name of an import'),
        (HEAD, [("x" * 300, HEAD)], "cannot be the name of an import"),
        (HEAD, [("a/b.proto", HEAD), ("a", HEAD)], '"a" cannot be the name of an import'),
        (HEAD, [("a", HEAD), ("a/b.proto", HEAD)], '"a/b.proto" cannot be the name of an import'),
        (HEAD, [(f"{n}.proto", HEAD) for n in range(1001)], "1001 references are too many"),
        ("", [], "the schema is empty"),
        (" \n\t", [], "the schema is empty"),
        ("Zm9v", [], "neither .proto source nor base64 of a serialized FileDescriptorProto"),
        ("not-base64", [], "Expected|Unexpected|syntax"),
    ],
)
def test_wrong_imports_are_named(text: str, imports: list[tuple[str, str]], reason: str) -> None:
    """A schema that cannot be compiled is refused with the import that is to blame."""
    with pytest.raises(InvalidSchema) as refused:
        parsed(text, imports)
    if "|" in reason:
        assert any(each in str(refused.value) for each in reason.split("|"))
    else:
        assert reason in str(refused.value)
    assert "/tmp" not in str(refused.value)


def test_many_errors_are_cut() -> None:
    """A source full of errors does not fill the answer."""
    with pytest.raises(InvalidSchema, match="and 90 more") as refused:
        parsed(HEAD + "message M {" + "".join(f"X{n} a{n} = {n + 1}; " for n in range(100)) + "}")
    assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize(
    "file",
    [
        {"syntax": "proto3", "message_type": [{"name": "not a name"}]},
        {"syntax": "proto4"},
        {"syntax": "proto3", "dependency": ["../lost.proto"]},
        {
            "syntax": "proto3",
            "message_type": [{"name": "M", "field": [{"name": "a", "type_name": ".Lost"}]}],
        },
        {"syntax": "proto3", "dependency": ['x"; message Injected {} import "y']},
        {"syntax": "editions", "edition": 1},
        {"syntax": "proto3", "package": "a; message Injected {}"},
    ],
)
def test_descriptors_that_are_wrong_are_refused(file: dict[str, object]) -> None:
    """A serialized descriptor that protoc would never make is an invalid schema."""
    serialized = descriptor_pb2.FileDescriptorProto(**file).SerializeToString()
    with pytest.raises(InvalidSchema):
        parsed(base64.b64encode(serialized).decode())


def test_spark_finds_messages_in_the_descriptor_set() -> None:
    """The descriptor set is what the functions for Spark take as `binaryDescriptorSet`."""
    schema = parsed(
        f'{HEAD}package p; import "google/type/money.proto"; import "buf/validate/validate.proto"; '
        "message M { google.type.Money m = 1 [(buf.validate.field).required = true]; }"
    )
    script = (
        "import sys; from headrace.pipelines.serdes.protobuf.descriptors import find_message; "
        "print(find_message(sys.stdin.buffer.read(), 'p.M').full_name)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        input=descriptor_set(schema),
        capture_output=True,
        check=True,
    )
    assert found.stdout == b"p.M\n"
