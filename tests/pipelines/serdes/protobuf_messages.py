"""Messages to test with, and what they are as Arrow's Python objects by spark-protobuf's rules."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc
from hypothesis import strategies as st

from headrace.pipelines.serdes.protobuf.descriptors import find_message

F = FieldDescriptor
UTC = datetime.UTC

PROTO3 = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
enum Colour { NONE = 0; RED = 1; DARK_RED = 5; MINUS = -3; }
message Point { sint32 x = 1; sint64 y = 2; repeated string names = 3; }
message Empty {}
message Everything {
  int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6;
  fixed32 f32 = 7; fixed64 f64 = 8; sfixed32 sf32 = 9; sfixed64 sf64 = 10;
  float real = 11; double wide = 12; bool flag = 13; string text = 14; bytes raw = 15;
  Colour colour = 16; Point point = 17;
  optional int32 maybe = 18; optional string maybe_text = 19;
  repeated int64 numbers = 20; repeated string words = 21; repeated Point points = 22;
  repeated Colour colours = 23; repeated double reals = 24; repeated bool flags = 25;
  map<string, int32> counts = 26; map<int64, Point> places = 27; map<bool, bytes> blobs = 28;
  oneof choice { string by_name = 29; int64 by_number = 30; Point by_point = 31; }
  google.protobuf.Timestamp moment = 32; google.protobuf.Duration span = 33;
  repeated google.protobuf.Timestamp moments = 34;
  google.protobuf.Int32Value boxed = 35; google.protobuf.StringValue boxed_text = 36;
  repeated sfixed32 unpacked = 2000 [packed = false];
  repeated sint32 far = 536870911;
}
message Tree { int32 id = 1; repeated Tree branches = 2; Tree left = 3; }
message WithEmpty { int32 id = 1; Empty nothing = 2; }
message Subset { string text = 14; repeated Point points = 22; }
"""
PROTO2 = """
syntax = "proto2";
package old;
enum Size { SMALL = 1; LARGE = 2; }
message Item {
  required int32 id = 1; optional string name = 2 [default = "none"];
  optional Size size = 3 [default = LARGE]; optional double price = 4; repeated Size sizes = 5;
  optional group Part = 6 { optional int32 number = 1; repeated string marks = 2; }
  repeated group More = 7 { optional int64 z = 1; }
  optional sint32 offset = 8 [default = -7]; optional float ratio = 9 [default = 0.5];
}
"""


def compile_protos(folder: Path) -> bytes:
    """The descriptor set of both files, as protoc makes it."""
    (folder / "shop.proto").write_text(PROTO3)
    (folder / "old.proto").write_text(PROTO2)
    well_known = Path(protoc.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{folder}", f"-I{well_known}", "--include_imports"]
    arguments += [f"--descriptor_set_out={folder / 'all.desc'}", "shop.proto", "old.proto"]
    assert protoc.main(arguments) == 0
    return (folder / "all.desc").read_bytes()


def message_class(descriptor_set: bytes, name: str) -> Any:
    return GetMessageClass(find_message(descriptor_set, name))


def expected(message: Message, *, emit_defaults: bool = False) -> dict[str, Any]:
    """The struct that spark-protobuf makes of a message."""
    return {
        each.name: expected_field(message, each, emit_defaults)
        for each in message.DESCRIPTOR.fields
    }


def expected_field(message: Message, each: FieldDescriptor, emit_defaults: bool) -> Any:
    value = getattr(message, each.name)
    if each.is_repeated:
        if each.message_type is not None and each.message_type.GetOptions().map_entry:
            item = each.message_type.fields_by_name["value"]
            return sorted((key, expected_value(value[key], item, emit_defaults)) for key in value)
        return [expected_value(item, each, emit_defaults) for item in value]
    present = any(listed == each for listed, _ in message.ListFields())
    if present or each.has_default_value or (emit_defaults and not each.has_presence):
        return expected_value(value, each, emit_defaults)
    return None


def expected_value(value: Any, each: FieldDescriptor, emit_defaults: bool) -> Any:
    if each.type in (F.TYPE_UINT32, F.TYPE_FIXED32):
        return value - (1 << 32) if value >= 1 << 31 else value
    if each.type in (F.TYPE_UINT64, F.TYPE_FIXED64):
        return value - (1 << 64) if value >= 1 << 63 else value
    if each.type == F.TYPE_ENUM:
        known = each.enum_type.values_by_number.get(value)
        return known.name if known else f"UNKNOWN_ENUM_VALUE_{each.enum_type.name}_{value}"
    if each.type in (F.TYPE_MESSAGE, F.TYPE_GROUP):
        if each.message_type.name == "Timestamp":
            return datetime.datetime.fromtimestamp(value.seconds, UTC) + datetime.timedelta(
                microseconds=value.nanos // 1000
            )
        if each.message_type.name == "Duration":
            return datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        return expected(value, emit_defaults=emit_defaults)
    return value


def integers(bits: int, signed: bool) -> st.SearchStrategy[int]:
    if signed:
        return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    return st.integers(0, (1 << bits) - 1)


SCALARS: dict[int, st.SearchStrategy[Any]] = {
    **dict.fromkeys((F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32), integers(32, True)),
    **dict.fromkeys((F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64), integers(64, True)),
    **dict.fromkeys((F.TYPE_UINT32, F.TYPE_FIXED32), integers(32, False)),
    **dict.fromkeys((F.TYPE_UINT64, F.TYPE_FIXED64), integers(64, False)),
    F.TYPE_FLOAT: st.floats(width=32, allow_nan=False),
    F.TYPE_DOUBLE: st.floats(allow_nan=False),
    F.TYPE_BOOL: st.booleans(),
    F.TYPE_STRING: st.text(max_size=12),
    F.TYPE_BYTES: st.binary(max_size=12),
}


@st.composite
def messages(draw: st.DrawFn, cls: Any) -> Message:
    """A message with some of its fields set."""
    message: Message = cls()
    for each in cls.DESCRIPTOR.fields:
        if each.is_required or draw(st.booleans()):
            fill(draw, message, each)
    return message


def fill(draw: st.DrawFn, message: Message, each: FieldDescriptor) -> None:
    if each.is_repeated:
        for _ in range(draw(st.integers(0, 3))):
            add(draw, getattr(message, each.name), each)
    elif each.message_type is not None:
        getattr(message, each.name).CopyFrom(draw(submessages(each)))
    else:
        setattr(message, each.name, draw(scalars(each)))


def add(draw: st.DrawFn, target: Any, each: FieldDescriptor) -> None:
    if each.message_type is None:
        target.append(draw(scalars(each)))
    elif each.message_type.GetOptions().map_entry:
        key, value = each.message_type.fields
        chosen = draw(scalars(key))
        if value.message_type is not None:
            target[chosen].CopyFrom(draw(submessages(value)))
        else:
            target[chosen] = draw(scalars(value))
    else:
        target.add().CopyFrom(draw(submessages(each)))


def scalars(each: FieldDescriptor) -> st.SearchStrategy[Any]:
    if each.type == F.TYPE_ENUM:
        known = st.sampled_from([value.number for value in each.enum_type.values])
        return known if each.enum_type.is_closed else known | st.integers(-99, 99)
    return SCALARS[each.type]


def submessages(each: FieldDescriptor) -> st.SearchStrategy[Message]:
    cls = GetMessageClass(each.message_type)
    if each.message_type.name in ("Timestamp", "Duration"):
        seconds, nanos = st.integers(-2_000_000_000, 7_000_000_000), st.integers(0, 999_999_999)
        return st.builds(lambda s, n: cls(seconds=s, nanos=n), seconds, nanos)
    return messages(cls)
