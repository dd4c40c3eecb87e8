"""What may change in a Protobuf schema, as tables; expectations are the documentation's.

"Updating A Message Type" in Protobuf's language guide says what a parser of one schema makes of
the data of another. A row holds the older and the newer schema, then what stops the newer from
reading data of the older (`backward`), and the older from reading data of the newer (`forward`).
An empty string means that nothing does. Several kinds are separated by blanks, each with the path
of the place behind an `@`.
"""

from __future__ import annotations

from dataclasses import dataclass

SCALAR_GROUPS: tuple[tuple[str, ...], ...] = (
    ("int32", "uint32", "int64", "uint64", "bool", "E"),
    ("sint32", "sint64"),
    ("fixed32", "sfixed32"),
    ("fixed64", "sfixed64"),
    ("string", "bytes"),
    ("float",),
    ("double",),
)


@dataclass(frozen=True, slots=True)
class Vector:
    """One change, seen from both sides."""

    title: str
    older: str
    newer: str
    backward: str = ""
    forward: str = ""
    older_imports: tuple[tuple[str, str], ...] = ()
    newer_imports: tuple[tuple[str, str], ...] = ()


def fields(title: str, older: str, newer: str, backward: str = "", forward: str = "") -> Vector:
    """A change inside the message M of proto3."""
    return Vector(title, _proto3(older), _proto3(newer), backward, forward)


def proto2(title: str, older: str, newer: str, backward: str = "", forward: str = "") -> Vector:
    """A change inside the message M of proto2."""
    return Vector(
        title,
        f'syntax = "proto2"; message M {{ {older} }} message I {{ optional int32 a = 1; }}',
        f'syntax = "proto2"; message M {{ {newer} }} message I {{ optional int32 a = 1; }}',
        backward,
        forward,
    )


def files(title: str, older: str, newer: str, backward: str = "", forward: str = "") -> Vector:
    """A change of whole files of proto3."""
    return Vector(
        title, f'syntax = "proto3"; {older}', f'syntax = "proto3"; {newer}', backward, forward
    )


def imported(
    title: str, older: str, newer: str, backward: str = "", forward: str = "", *, main: str = ""
) -> Vector:
    """A change in the file c.proto that a file imports which does not change."""
    text = main or 'syntax = "proto3"; import "c.proto"; message M { c.T t = 1; }'
    return Vector(
        title,
        text,
        text,
        backward,
        forward,
        (("c.proto", f'syntax = "proto3"; package c; {older}'),),
        (("c.proto", f'syntax = "proto3"; package c; {newer}'),),
    )


def _proto3(body: str) -> str:
    return (
        f'syntax = "proto3"; message M {{ {body} }} '
        "message I { int32 a = 1; } message J { int32 a = 1; } enum E { Z = 0; ONE = 1; }"
    )


FIELDS = (
    fields("nothing changes", "int32 a = 1;", "int32 a = 1;"),
    fields("a field is added", "int32 a = 1;", "int32 a = 1; string b = 2;"),
    fields("a repeated field is added", "int32 a = 1;", "int32 a = 1; repeated int32 b = 2;"),
    fields("a message field is added", "int32 a = 1;", "int32 a = 1; I b = 2;"),
    fields("a map is added", "int32 a = 1;", "int32 a = 1; map<string, I> b = 2;"),
    fields("all fields go", "int32 a = 1; string b = 2;", ""),
    fields("a field is renamed", "int32 a = 1;", "int32 renamed = 1;"),
    fields("two names change places", "int32 a = 1; int32 b = 2;", "int32 b = 1; int32 a = 2;"),
    fields(
        "fields stand in another order", "int32 a = 1; int32 b = 2;", "int32 b = 2; int32 a = 1;"
    ),
    fields("a field gets another number", "int32 a = 1;", "int32 a = 2;"),
    fields("a removed field is reserved", "int32 a = 1;", 'reserved 1; reserved "a";'),
    fields("a field becomes optional", "int32 a = 1;", "optional int32 a = 1;"),
    fields("an optional message", "I a = 1;", "optional I a = 1;"),
    fields("the JSON name changes", "int32 a = 1;", 'int32 a = 1 [json_name = "b"];'),
    fields("a field is deprecated", "int32 a = 1;", "int32 a = 1 [deprecated = true];"),
    fields(
        "numbers change places and kinds",
        "int32 a = 1; string b = 2;",
        "string b = 1; int32 a = 2;",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1 FIELD_SCALAR_KIND_CHANGED@#/M/2",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1 FIELD_SCALAR_KIND_CHANGED@#/M/2",
    ),
    fields(
        "a scalar becomes a message",
        "int32 a = 1;",
        "I a = 1;",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
    fields(
        "bytes become a message",
        "bytes a = 1;",
        "I a = 1;",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
    fields(
        "an enum becomes a message",
        "E a = 1;",
        "I a = 1;",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
    fields(
        "a message becomes another of the same shape",
        "I a = 1;",
        "J a = 1;",
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
    ),
    fields(
        "repeated messages become others",
        "repeated I a = 1;",
        "repeated J a = 1;",
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
    ),
)

LABELS = (
    fields("string to repeated", "string a = 1;", "repeated string a = 1;"),
    fields("optional string to repeated", "optional string a = 1;", "repeated string a = 1;"),
    fields("bytes to repeated", "bytes a = 1;", "repeated bytes a = 1;"),
    fields("string to repeated bytes", "string a = 1;", "repeated bytes a = 1;"),
    fields("message to repeated", "I a = 1;", "repeated I a = 1;"),
    *(
        fields(
            f"{kind} to repeated",
            f"{kind} a = 1;",
            f"repeated {kind} a = 1;",
            "FIELD_NUMERIC_LABEL_CHANGED@#/M/1",
            "FIELD_NUMERIC_LABEL_CHANGED@#/M/1",
        )
        for kind in ("int32", "sint64", "fixed32", "sfixed64", "float", "double", "bool", "E")
    ),
    fields(
        "optional int32 to repeated",
        "optional int32 a = 1;",
        "repeated int32 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED@#/M/1",
        "FIELD_NUMERIC_LABEL_CHANGED@#/M/1",
    ),
    fields(
        "int32 to repeated int64",
        "int32 a = 1;",
        "repeated int64 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED@#/M/1",
        "FIELD_NUMERIC_LABEL_CHANGED@#/M/1",
    ),
    fields(
        "int32 to repeated string",
        "int32 a = 1;",
        "repeated string a = 1;",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1",
    ),
    fields("packed to unpacked", "repeated int32 a = 1;", "repeated int32 a = 1 [packed = false];"),
    proto2(
        "an optional field becomes required",
        "optional int32 a = 1;",
        "required int32 a = 1;",
        "REQUIRED_FIELD_ADDED@#/M/1",
        "",
    ),
    proto2(
        "an optional message becomes required",
        "optional I a = 1;",
        "required I a = 1;",
        "REQUIRED_FIELD_ADDED@#/M/1",
        "",
    ),
    proto2(
        "a required field is added",
        "optional int32 a = 1;",
        "optional int32 a = 1; required int32 b = 2;",
        "REQUIRED_FIELD_ADDED@#/M/2",
        "REQUIRED_FIELD_REMOVED@#/M/2",
    ),
    proto2(
        "a required string becomes repeated",
        "required string a = 1;",
        "repeated string a = 1;",
        "",
        "REQUIRED_FIELD_ADDED@#/M/1",
    ),
    proto2("required stays required", "required int32 a = 1;", "required int64 a = 1;"),
    proto2("a default changes", "optional int32 a = 1 [default = 1];", "optional int32 a = 1;"),
    proto2("unpacked to packed", "repeated int32 a = 1;", "repeated int32 a = 1 [packed = true];"),
    proto2(
        "a group becomes a message",
        "optional group G = 1 { optional int32 a = 1; }",
        "message G { optional int32 a = 1; } optional G g = 1;",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
    proto2(
        "a field inside a group changes its kind",
        "optional group G = 1 { optional int32 a = 1; }",
        "optional group G = 1 { optional string a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED@#/M/G/1",
        "FIELD_SCALAR_KIND_CHANGED@#/M/G/1",
    ),
    Vector(
        "proto2 becomes proto3",
        'syntax = "proto2"; message M { optional int32 a = 1; repeated int32 b = 2; }',
        'syntax = "proto3"; message M { optional int32 a = 1; repeated int32 b = 2; }',
    ),
    Vector(
        "a required field of proto2 in proto3",
        'syntax = "proto2"; message M { required int32 a = 1; }',
        'syntax = "proto3"; message M { int32 a = 1; }',
        "",
        "REQUIRED_FIELD_ADDED@#/M/1",
    ),
    Vector(
        "proto3 becomes edition 2023",
        'syntax = "proto3"; message M { int32 a = 1; }',
        'edition = "2023"; message M { int32 a = 1; }',
    ),
    Vector(
        "edition 2023 requires a field",
        'edition = "2023"; message M { int32 a = 1; }',
        'edition = "2023"; message M { int32 a = 1 [features.field_presence = LEGACY_REQUIRED]; }',
        "REQUIRED_FIELD_ADDED@#/M/1",
        "",
    ),
    Vector(
        "edition 2023 delimits a message",
        'edition = "2023"; message M { I i = 1; } message I {}',
        'edition = "2023"; message I {} '
        "message M { I i = 1 [features.message_encoding = DELIMITED]; }",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
)

MAPS = (
    fields("a map's value widens", "map<string, int32> a = 1;", "map<string, int64> a = 1;"),
    fields("a map's key widens", "map<int32, int32> a = 1;", "map<int64, int32> a = 1;"),
    fields(
        "a map's value: string to bytes", "map<int32, string> a = 1;", "map<int32, bytes> a = 1;"
    ),
    fields("a map is renamed", "map<string, int32> a = 1;", "map<string, int32> b = 1;"),
    fields("a map's value: enum to int32", "map<string, E> a = 1;", "map<string, int32> a = 1;"),
    fields(
        "a map's value changes its kind",
        "map<string, int32> a = 1;",
        "map<string, string> a = 1;",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1",
    ),
    fields(
        "a map's key changes its kind",
        "map<string, int32> a = 1;",
        "map<int32, int32> a = 1;",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1",
    ),
    fields(
        "a map's value becomes a message",
        "map<string, int32> a = 1;",
        "map<string, I> a = 1;",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
    fields(
        "a map's value becomes another message",
        "map<string, I> a = 1;",
        "map<string, J> a = 1;",
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
    ),
    fields(
        "a map becomes repeated messages",
        "map<string, I> a = 1;",
        "repeated I a = 1;",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
    fields(
        "a map becomes a scalar",
        "map<string, I> a = 1;",
        "string a = 1;",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
    files(
        "the message in a map changes for the worse",
        "message M { map<string, T> a = 1; } message T { int32 a = 1; }",
        "message M { map<string, T> a = 1; } message T { string a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED@#/T/1",
        "FIELD_SCALAR_KIND_CHANGED@#/T/1",
    ),
)

ONEOFS = (
    fields("one field moves into a new oneof", "int32 a = 1;", "oneof o { int32 a = 1; }"),
    fields(
        "one field moves into a new oneof with others",
        "int32 a = 1;",
        "oneof o { int32 a = 1; string b = 2; }",
        "",
        "ONEOF_FIELD_REMOVED@#/M/o/2",
    ),
    fields(
        "two fields move into a new oneof",
        "int32 a = 1; int32 b = 2;",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF@#/M/o",
        "",
    ),
    fields(
        "two optional fields move into a new oneof",
        "optional int32 a = 1; optional int32 b = 2;",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF@#/M/o",
        "",
    ),
    fields(
        "a field moves into an existing oneof",
        "int32 a = 1; oneof o { int32 b = 2; }",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "FIELD_MOVED_TO_EXISTING_ONEOF@#/M/o",
        "",
    ),
    fields(
        "two oneofs become one",
        "oneof o { int32 a = 1; } oneof p { int32 b = 2; }",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "FIELD_MOVED_TO_EXISTING_ONEOF@#/M/o",
        "",
    ),
    fields(
        "one oneof becomes two",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; } oneof p { int32 b = 2; }",
        "",
        "FIELD_MOVED_TO_EXISTING_ONEOF@#/M/o",
    ),
    fields(
        "a field leaves its oneof",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; } int32 b = 2;",
        "",
        "FIELD_MOVED_TO_EXISTING_ONEOF@#/M/o",
    ),
    fields(
        "a oneof is dissolved",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "int32 a = 1; int32 b = 2;",
        "",
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF@#/M/o",
    ),
    fields("a oneof is renamed", "oneof o { int32 a = 1; }", "oneof p { int32 a = 1; }"),
    fields(
        "a oneof of two is renamed",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "oneof p { int32 a = 1; int32 b = 2; }",
    ),
    fields(
        "a oneof gets another field",
        "oneof o { int32 a = 1; }",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "",
        "ONEOF_FIELD_REMOVED@#/M/o/2",
    ),
    fields(
        "a oneof goes with all of its fields",
        "int32 x = 9; oneof o { int32 a = 1; int32 b = 2; }",
        "int32 x = 9;",
    ),
    fields(
        "a oneof goes and one field stays",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "int32 a = 1;",
        "ONEOF_FIELD_REMOVED@#/M/o/2",
        "",
    ),
    fields(
        "a field in a oneof changes its kind",
        "oneof o { int32 a = 1; }",
        "oneof o { string a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED@#/M/o/1",
        "FIELD_SCALAR_KIND_CHANGED@#/M/o/1",
    ),
    fields(
        "a field changes its kind on the way into a oneof",
        "int32 a = 1;",
        "oneof o { string a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED@#/M/o/1",
        "FIELD_SCALAR_KIND_CHANGED@#/M/1",
    ),
    fields(
        "a field changes its kind while its oneof is renamed",
        "oneof o { int32 a = 1; }",
        "oneof p { I a = 1; }",
        "FIELD_KIND_CHANGED@#/M/p/1",
        "FIELD_KIND_CHANGED@#/M/o/1",
    ),
    fields("a oneof's field widens", "oneof o { int32 a = 1; }", "oneof o { int64 a = 1; }"),
    fields(
        "a oneof is added with new fields",
        "int32 a = 1;",
        "int32 a = 1; oneof o { int32 b = 2; string c = 3; }",
    ),
    fields("optional becomes a oneof", "optional int32 a = 1;", "oneof _a { int32 a = 1; }"),
    fields(
        "a oneof's field becomes repeated",
        "oneof o { int32 a = 1; }",
        "repeated int32 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED@#/M/1",
        "FIELD_NUMERIC_LABEL_CHANGED@#/M/o/1",
    ),
)

ENUMS = (
    files("an enum is added", "message M {}", "message M {} enum X { Z = 0; }"),
    files("a value is added", "enum X { Z = 0; }", "enum X { Z = 0; ONE = 1; }"),
    files("a value is renamed", "enum X { Z = 0; A = 1; }", "enum X { Z = 0; B = 1; }"),
    files("a value gets another number", "enum X { Z = 0; A = 1; }", "enum X { Z = 0; A = 2; }"),
    files("a value is reserved", "enum X { Z = 0; A = 1; }", "enum X { Z = 0; reserved 1; }"),
    files(
        "a value gets an alias",
        "enum X { Z = 0; A = 1; }",
        "enum X { option allow_alias = true; Z = 0; A = 1; B = 1; }",
    ),
    files("a nested enum is added", "message M { }", "message M { enum X { Z = 0; } X x = 1; }"),
    files(
        "an enum moves out of its message",
        "message M { enum X { Z = 0; } X x = 1; }",
        "message M { X x = 1; } enum X { Z = 0; }",
    ),
    files(
        "an enum becomes another",
        "message M { X x = 1; } enum X { Z = 0; }",
        "message M { Y x = 1; } enum Y { O = 0; }",
    ),
    files(
        "an enum becomes a message of its name",
        "message M { X x = 1; } enum X { Z = 0; }",
        "message M { X x = 1; } message X {}",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1 MESSAGE_REMOVED@#/X",
    ),
)

MESSAGES = (
    files(
        "a message is added", "message M {}", "message M {} message N {}", "", "MESSAGE_REMOVED@#/N"
    ),
    files("messages change places", "message M {} message N {}", "message N {} message M {}"),
    files(
        "a message is renamed",
        "message M { int32 a = 1; }",
        "message N { int32 a = 1; }",
        "MESSAGE_REMOVED@#/M",
        "MESSAGE_REMOVED@#/N",
    ),
    files(
        "a nested message is removed",
        "message M { message N {} }",
        "message M { }",
        "MESSAGE_REMOVED@#/M/N",
        "",
    ),
    files(
        "a nested message of a nested message is removed",
        "message M { message N { message P {} } }",
        "message M { message N { } }",
        "MESSAGE_REMOVED@#/M/N/P",
        "",
    ),
    files(
        "a nested message moves out",
        "message M { message N {} N n = 1; }",
        "message M { N n = 1; } message N {}",
        "MESSAGE_REMOVED@#/M/N FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "MESSAGE_REMOVED@#/N FIELD_NAMED_TYPE_CHANGED@#/M/1",
    ),
    files(
        "a message that is held gets a field",
        "message M { T t = 1; } message T { }",
        "message M { T t = 1; } message T { int32 a = 1; }",
    ),
    files(
        "a message that is held changes for the worse",
        "message M { T t = 1; } message T { int32 a = 1; }",
        "message M { T t = 1; } message T { bytes a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED@#/T/1",
        "FIELD_SCALAR_KIND_CHANGED@#/T/1",
    ),
    files(
        "a change three messages deep",
        "message M { N n = 1; } message N { P p = 1; } message P { int32 a = 1; }",
        "message M { N n = 1; } message N { P p = 1; } message P { float a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED@#/P/1",
        "FIELD_SCALAR_KIND_CHANGED@#/P/1",
    ),
    files(
        "a message that holds itself gets a field",
        "message M { M m = 1; }",
        "message M { M m = 1; int32 a = 2; }",
    ),
    files(
        "a message that holds itself changes for the worse",
        "message M { M m = 1; int32 a = 2; }",
        "message M { M m = 1; string a = 2; }",
        "FIELD_SCALAR_KIND_CHANGED@#/M/2",
        "FIELD_SCALAR_KIND_CHANGED@#/M/2",
    ),
    files(
        "messages that hold each other",
        "message M { N n = 1; } message N { repeated M m = 1; int32 a = 2; }",
        "message M { N n = 1; } message N { repeated M m = 1; double a = 2; }",
        "FIELD_SCALAR_KIND_CHANGED@#/N/2",
        "FIELD_SCALAR_KIND_CHANGED@#/N/2",
    ),
    files(
        "the package changes",
        "package a; message M { N n = 1; } message N {}",
        "package b; message M { N n = 1; } message N {}",
        "PACKAGE_CHANGED@#/",
        "PACKAGE_CHANGED@#/",
    ),
    files(
        "a package appears",
        "message M {}",
        "package a; message M {}",
        "PACKAGE_CHANGED@#/",
        "PACKAGE_CHANGED@#/",
    ),
    files(
        "names are qualified otherwise",
        "package a; message M { message N {} N n = 1; }",
        "package a; message M { message N {} .a.M.N n = 1; }",
    ),
    files(
        "services and options change",
        "message M {} service S { rpc R (M) returns (M); }",
        'option java_package = "x"; message M { option deprecated = true; }',
    ),
)

IMPORTS = (
    imported("an imported message gets a field", "message T {}", "message T { int32 a = 1; }"),
    imported(
        "an imported message changes for the worse",
        "message T { int32 a = 1; }",
        "message T { string a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED@#/T/1 FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "FIELD_SCALAR_KIND_CHANGED@#/T/1 FIELD_NAMED_TYPE_CHANGED@#/M/1",
    ),
    imported(
        "a message that an imported one holds",
        "message T { U u = 1; } message U { int32 a = 1; }",
        "message T { U u = 1; } message U { fixed32 a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED@#/U/1 FIELD_NAMED_TYPE_CHANGED@#/T/1 "
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "FIELD_SCALAR_KIND_CHANGED@#/U/1 FIELD_NAMED_TYPE_CHANGED@#/T/1 "
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
    ),
    imported(
        "an imported nested message",
        "message O { message T { int32 a = 1; } }",
        "message O { message T { string a = 1; } }",
        "FIELD_SCALAR_KIND_CHANGED@#/O/T/1 FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "FIELD_SCALAR_KIND_CHANGED@#/O/T/1 FIELD_NAMED_TYPE_CHANGED@#/M/1",
        main='syntax = "proto3"; import "c.proto"; message M { c.O.T t = 1; }',
    ),
    imported(
        "a message that nobody holds may change",
        "message T {} message U { int32 a = 1; }",
        "message T {} message U { string a = 1; }",
    ),
    imported("an imported enum changes", "enum T { Z = 0; }", "enum T { Z = 0; ONE = 1; }"),
    Vector(
        "a message moves into another package's file",
        'syntax = "proto3"; import "c.proto"; message M { c.T t = 1; }',
        'syntax = "proto3"; import "d.proto"; message M { d.T t = 1; }',
        "",
        "",
        (("c.proto", 'syntax = "proto3"; package c; message T { int32 a = 1; }'),),
        (("d.proto", 'syntax = "proto3"; package d; message T { int32 a = 1; }'),),
    ),
    Vector(
        "a message moves into an import",
        'syntax = "proto3"; message M { T t = 1; } message T { int32 a = 1; }',
        'syntax = "proto3"; import "c.proto"; message M { c.T t = 1; }',
        "MESSAGE_REMOVED@#/T",
        "",
        (),
        (("c.proto", 'syntax = "proto3"; package c; message T { int32 a = 1; }'),),
    ),
    Vector(
        "a message moves into an import and changes for the worse",
        'syntax = "proto3"; message M { T t = 1; } message T { int32 a = 1; }',
        'syntax = "proto3"; import "c.proto"; message M { c.T t = 1; }',
        "MESSAGE_REMOVED@#/T FIELD_SCALAR_KIND_CHANGED@#/T/1 FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "FIELD_SCALAR_KIND_CHANGED@#/T/1 FIELD_NAMED_TYPE_CHANGED@#/M/1",
        (),
        (("c.proto", 'syntax = "proto3"; package c; message T { string a = 1; }'),),
    ),
    Vector(
        "a well-known type becomes another",
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; '
        "message M { google.protobuf.Timestamp t = 1; }",
        'syntax = "proto3"; import "google/protobuf/duration.proto"; '
        "message M { google.protobuf.Duration t = 1; }",
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
        "FIELD_NAMED_TYPE_CHANGED@#/M/1",
    ),
    Vector(
        "a scalar becomes its wrapper",
        'syntax = "proto3"; message M { int32 t = 1; }',
        'syntax = "proto3"; import "google/protobuf/wrappers.proto"; '
        "message M { google.protobuf.Int32Value t = 1; }",
        "FIELD_KIND_CHANGED@#/M/1",
        "FIELD_KIND_CHANGED@#/M/1",
    ),
    Vector(
        "an import is used no longer",
        'syntax = "proto3"; import "google/type/money.proto"; '
        "message M { google.type.Money m = 1; }",
        'syntax = "proto3"; message M { }',
    ),
)

VECTORS = (*FIELDS, *LABELS, *MAPS, *ONEOFS, *ENUMS, *MESSAGES, *IMPORTS)
