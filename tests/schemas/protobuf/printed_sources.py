"""Sources with everything that .proto files can hold, for the printer to bring back."""

from __future__ import annotations

from typing import Final

EXTENDED: Final = r"""
syntax = "proto2";
package x.confluent;
import "google/protobuf/descriptor.proto";

message Nested {
  optional int32 number = 1;
  repeated string texts = 2;
  optional Nested inner = 3;
  map<string, Nested> by_name = 4;
  optional bytes raw = 5;
  optional Choice choice = 6;
  repeated Choice choices = 7;
  optional group Held = 8 { optional bool yes = 1; }
  extensions 100 to max;
}
enum Choice { NONE = 0; SOME = 1; }
extend Nested { optional string more = 100; }

extend google.protobuf.FileOptions {
  optional Nested on_file = 50000;
  optional double ratio = 50001;
}
extend google.protobuf.MessageOptions { repeated Nested on_message = 50000; }
extend google.protobuf.FieldOptions { repeated string on_field = 50000; optional float f = 50001; }
extend google.protobuf.OneofOptions { optional Choice on_oneof = 50000; }
extend google.protobuf.EnumOptions { optional bytes on_enum = 50000; }
extend google.protobuf.EnumValueOptions { optional bool on_value = 50000; }
extend google.protobuf.ServiceOptions { optional sint64 on_service = 50000; }
extend google.protobuf.MethodOptions { optional fixed64 on_method = 50000; }
extend google.protobuf.ExtensionRangeOptions { optional string on_range = 50000; }

option (on_file) = {
  number: -7, texts: ["a", "b\"\\\n\001\377"], inner { inner { number: 1 } },
  by_name { key: "a" }, by_name { key: "z" value { number: 2 } },
  raw: "\000\377'", choice: SOME, choices: [NONE, SOME], Held { yes: true },
  [x.confluent.more]: "m"
};
option (ratio) = -1.5e-300;

message M {
  option (on_message) = { number: 1 };
  option (on_message) = {};
  optional int32 a = 1 [(on_field) = "one", (on_field) = "two", (f) = 0.1];
  oneof o { option (on_oneof) = SOME; string s = 2; }
  extensions 10 to 20 [(on_range) = "r"];
}
enum E { option (on_enum) = "\200"; Z = 0 [(on_value) = true]; }
service S {
  option (on_service) = -5;
  rpc R (M) returns (M) { option (on_method) = 18446744073709551615; }
}
"""

SOURCES: Final = {
    "empty message": """syntax = "proto3"; message M {}""",
    "only a package": """syntax = "proto3"; package a.b.c;""",
    "no syntax": """message M { optional int32 a = 1; }""",
    "optional": """syntax = "proto3"; message M { optional int32 a = 1; int32 b = 2; }""",
    "oneof between fields": """
        syntax = "proto3";
        message M {
          int32 a = 1;
          oneof o { int32 b = 3; int32 c = 2; }
          optional int32 d = 4;
          oneof p { string e = 5; }
        }
    """,
    "maps among nested messages": """
        syntax = "proto3";
        message M {
          map<int32, N> a = 1;
          message N {}
          map<string, P> b = 2;
          message P {}
          message Q { map<string, bytes> c = 1; }
          enum E { Z = 0; }
          map<bool, E> d = 3;
        }
    """,
    "groups": """
        syntax = "proto2";
        message M {
          message N {}
          optional group A = 1 { required int32 a = 1; repeated group B = 2 {} }
          oneof o { group C = 3 { optional N n = 1; } }
          message P {}
        }
    """,
    "extensions that are groups": """
        syntax = "proto2";
        message A { extensions 1 to max; }
        extend A {
          optional int32 a = 1;
          optional group G = 2 { optional int32 b = 1; }
          repeated string c = 3;
        }
        message Z {}
        message M {
          extend A { optional group H = 4 {} }
          map<string, int32> m = 1;
          message N {}
        }
    """,
    "fields that only look like maps": """
        syntax = "proto3";
        message Other { map<string, int32> m = 1; message AEntry {} }
        message M { map<string, int32> a = 1; Other.AEntry b = 2; repeated Other.AEntry c = 3; }
    """,
    "defaults": r"""
        syntax = "proto2";
        message M {
          optional string a = 1 [default = "\"\\\n\001é\'?"];
          optional bytes b = 2 [default = "\000\377\"\\x"];
          optional float c = 3 [default = inf];
          optional double d = 4 [default = -inf];
          optional double e = 5 [default = nan];
          optional float f = 6 [default = 1.17549435e-38];
          optional int64 g = 7 [default = -9223372036854775808];
          optional uint64 h = 8 [default = 0xFFFFFFFFFFFFFFFF];
          optional bool i = 9 [default = true];
          optional E j = 10 [default = B];
          optional double k = 11 [default = 1e300];
          optional double l = 12 [default = -0.0];
        }
        enum E { A = 0; B = 5; }
    """,
    "json names": """
        syntax = "proto3";
        message M {
          int32 foo_bar = 1; int32 baz_ = 2; int32 _qux = 3; int32 FooBar = 4; int32 a_1b = 5;
          int32 other = 6 [json_name = "@type"]; int32 x__y = 7;
        }
    """,
    "reserved": """
        syntax = "proto3";
        message M { reserved 2, 15, 9 to 11, 100 to max; reserved "b", "a"; }
        enum E { Z = 0; reserved 2, 9 to 11, -5 to -3, 40 to max; reserved "Q"; }
    """,
    "extension ranges": """
        syntax = "proto2";
        message M {
          extensions 1, 5 to 9;
          extensions 100 to max [
            verification = DECLARATION,
            declaration = { number: 100, full_name: ".x", type: ".M" }
          ];
        }
    """,
    "message set": """
        syntax = "proto2";
        message M { option message_set_wire_format = true; extensions 4 to max; }
    """,
    "names like keywords": """
        syntax = "proto3";
        package message.enum;
        message message {
          string string = 1;
          optional .message.enum.message.repeated optional = 2;
          message repeated {}
          oneof oneof { int32 map = 3; }
        }
    """,
    "names that hide others": """
        syntax = "proto3";
        package a.b;
        message a {
          message b { .a.b.a.c x = 1; message c {} }
          message c {}
          c y = 1;
        }
    """,
    "services": """
        syntax = "proto3";
        message M {}
        service S {
          rpc A (M) returns (M);
          rpc B (stream M) returns (stream M) {
            option deprecated = true;
            option idempotency_level = IDEMPOTENT;
          }
        }
        service T {}
    """,
    "file options": r"""
        syntax = "proto3";
        option java_package = "a\tb";
        option optimize_for = LITE_RUNTIME;
        option java_multiple_files = true;
        option cc_enable_arenas = false;
    """,
    "field options": """
        syntax = "proto3";
        message M {
          repeated int32 a = 1 [packed = false, deprecated = true];
          int64 b = 2 [jstype = JS_STRING];
          string c = 3 [ctype = CORD, debug_redact = true];
          string d = 4 [retention = RETENTION_SOURCE, targets = TARGET_TYPE_FIELD,
                        targets = TARGET_TYPE_FILE];
        }
    """,
    "imports": """
        syntax = "proto3";
        import "google/type/money.proto";
        import public "google/type/date.proto";
        import weak "confluent/type/decimal.proto";
        message M {
          google.type.Money m = 1;
          google.type.Date d = 2;
          confluent.type.Decimal e = 3;
        }
    """,
    "confluent's tags": """
        syntax = "proto3";
        import "confluent/meta.proto";
        option (confluent.file_meta).doc = "d";
        message M {
          option (confluent.message_meta) = {
            params: [{ key: "a", value: "1" }, { key: "b", value: "2" }]
          };
          string ssn = 1 [(confluent.field_meta).tags = "PII", (confluent.field_meta).tags = "X"];
        }
    """,
    "options whose names others hide": """
        syntax = "proto2";
        package a.b.a;
        import "google/protobuf/descriptor.proto";
        extend google.protobuf.FieldOptions { optional string note = 50000; }
        message M { optional int32 x = 1 [(note) = "n"]; }
    """,
    "edition 2023": """
        edition = "2023";
        package e;
        option features.field_presence = IMPLICIT;
        message M {
          reserved foo, bar;
          int32 a = 1 [features.field_presence = LEGACY_REQUIRED];
          repeated int32 b = 2 [features.repeated_field_encoding = EXPANDED];
          M c = 3 [features.message_encoding = DELIMITED];
          map<string, M> d = 4;
        }
        enum E { option features.enum_type = CLOSED; ONE = 1; }
    """,
    "edition 2024": """
        edition = "2024";
        import option "google/protobuf/descriptor.proto";
        export message M { string a = 1; local enum E { Z = 0; } local message N {} }
    """,
    "features of a language": """
        edition = "2023";
        import "google/protobuf/cpp_features.proto";
        message M { string a = 1 [features.(pb.cpp).string_type = VIEW]; }
    """,
    "options of every kind": EXTENDED,
}
