"""Protobuf messages to columns and back, with Google's own library as the witness."""

from __future__ import annotations

import decimal
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.serdes.protobuf.decoder import Decoder
from headrace.pipelines.serdes.protobuf.descriptors import find_message, read_descriptor_set
from headrace.pipelines.serdes.protobuf.encoder import encode
from headrace.pipelines.serdes.protobuf.messages import MessageOptions, build_tables
from headrace.pipelines.serdes.spans import BadValue, spans_of
from tests.generated import examples
from tests.pipelines.serdes.protobuf_messages import (
    compile_protos,
    expected,
    message_class,
    messages,
)

GENERATED = settings(
    max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="session")
def protos(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compile_protos(tmp_path_factory.mktemp("protos"))


def decode(
    values: Sequence[bytes | None], descriptor_set: bytes, name: str, **options: Any
) -> tuple[pa.Array, list[BadValue]]:
    tables = build_tables(find_message(descriptor_set, name), MessageOptions(**options))
    bad: list[BadValue] = []
    decoded = Decoder(tables).decode(spans_of(pa.array(values, pa.binary())), bad.append)
    decoded.validate(full=True)
    return decoded, bad


def comparable(row: Any) -> Any:
    """Maps in the order of their keys: they have none on the wire."""
    if isinstance(row, dict):
        return {key: comparable(value) for key, value in row.items()}
    if isinstance(row, list):
        if row and isinstance(row[0], tuple):
            return sorted((key, comparable(value)) for key, value in row)
        return [comparable(value) for value in row]
    return row


@pytest.mark.parametrize("name", ["shop.Everything", "old.Item"])
@pytest.mark.parametrize("emit_defaults", [False, True])
@GENERATED
@given(data=st.data())
def test_messages_as_google_wrote_them(
    protos: bytes, name: str, emit_defaults: bool, data: st.DataObject
) -> None:
    """Every type, presence, defaults, oneofs, maps, groups, nesting by spark-protobuf's rules."""
    cls = message_class(protos, name)
    rows = data.draw(st.lists(messages(cls), max_size=4))
    values = [row.SerializeToString() for row in rows]
    decoded, bad = decode([*values, None], protos, name, emit_defaults=emit_defaults)
    assert bad == []
    wanted = [expected(cls.FromString(value), emit_defaults=emit_defaults) for value in values]
    assert comparable(decoded.to_pylist()) == [*comparable(wanted), None]


@GENERATED
@given(data=st.data())
def test_messages_as_google_reads_them(protos: bytes, data: st.DataObject) -> None:
    """Encoded again, the columns are the same message to Google's library."""
    cls = message_class(protos, "shop.Everything")
    rows = data.draw(st.lists(messages(cls), max_size=4))
    for row in rows:
        # A name that stands for an unknown number cannot be written.
        row.ClearField("colour")
        row.ClearField("colours")
    decoded, bad = decode(
        [*(row.SerializeToString() for row in rows), None], protos, "shop.Everything"
    )
    assert bad == []
    *encoded, last = encode(decoded, find_message(protos, "shop.Everything")).to_pylist()
    assert last is None
    assert [expected(cls.FromString(raw)) for raw in encoded] == [expected(row) for row in rows]
    assert (
        encode(decoded[1:], find_message(protos, "shop.Everything")).to_pylist()
        == [*encoded, None][1:]
    )


@GENERATED
@given(data=st.data())
def test_damaged_messages_never_crash(protos: bytes, data: st.DataObject) -> None:
    """Any damage gives a value or an error; the rows around it stay what they are."""
    name = data.draw(st.sampled_from(["shop.Everything", "old.Item"]))
    good = data.draw(messages(message_class(protos, name))).SerializeToString()
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=12))
    decoded, bad = decode([good, bytes(damaged), good], protos, name)
    assert all(each.row == 1 for each in bad)
    assert decoded[0] == decoded[2]


def test_unknown_fields_are_stepped_over(protos: bytes) -> None:
    """A reader who knows fewer fields, groups and wire types included, reads what he knows."""
    full = message_class(protos, "shop.Everything")(text="t", numbers=[1, 2], wide=1.5, f64=3)
    full.points.add(x=4)
    unknown_group = b"\x0b\x08\x01\x13\x14\x0c"
    raw = unknown_group + full.SerializeToString() + unknown_group
    decoded, bad = decode([raw], protos, "Subset")
    assert bad == []
    point: dict[str, Any] = {"x": 4, "y": None, "names": []}
    assert decoded.to_pylist() == [{"text": "t", "points": [point]}]


def test_what_comes_twice(protos: bytes) -> None:
    """The last value counts, messages merge, lists are joined, a oneof keeps its last member."""
    first = message_class(protos, "shop.Everything")
    pieces = [
        first(text="long text", numbers=[1], by_name="n", maybe=1),
        first(text="s", numbers=[2, 3], by_number=5),
        first(i32=7),
    ]
    pieces[0].point.x = 1
    pieces[0].point.names.append("a")
    pieces[1].point.y = 2
    pieces[1].point.names.append("b")
    pieces[2].by_point.x = 9
    pieces[1].counts["k"] = 4
    raw = b"".join(piece.SerializeToString() for piece in pieces)
    decoded, bad = decode([raw, raw], protos, "shop.Everything")
    assert bad == []
    assert comparable(decoded.to_pylist()) == [comparable(expected(first.FromString(raw)))] * 2


def test_packed_and_not(protos: bytes) -> None:
    """Repeated numbers are read in both forms, whatever the descriptor says, and both at once."""
    unpacked = b"\xa0\x01\x05" + b"\xa0\x01\x06" + b"\xa2\x01\x02\x07\x08"
    packed = b"\x82\x7d\x08\x01\x00\x00\x00\x02\x00\x00\x00" + b"\x85\x7d\x03\x00\x00\x00"
    decoded, bad = decode([unpacked + packed], protos, "shop.Everything")
    assert bad == []
    [row] = decoded.to_pylist()
    assert row["numbers"] == [5, 6, 7, 8]
    assert row["unpacked"] == [1, 2, 3]


def test_options_of_spark_protobuf(protos: bytes) -> None:
    """enums.as.ints, upcast.unsigned.ints, unwrap.primitive.wrapper.types, retain.empty…"""
    cls = message_class(protos, "shop.Everything")
    message = cls(u32=(1 << 32) - 1, u64=(1 << 64) - 1, colour=77, colours=[1, -3])
    message.boxed.value = 0
    options = {"enums_as_ints": True, "upcast_unsigned": True, "unwrap_wrappers": True}
    decoded, bad = decode([message.SerializeToString()], protos, "shop.Everything", **options)
    [row] = decoded.to_pylist()
    assert bad == []
    assert (row["u32"], row["u64"]) == ((1 << 32) - 1, decimal.Decimal((1 << 64) - 1))
    assert (row["colour"], row["colours"]) == (77, [1, -3])
    assert (row["boxed"], row["boxed_text"]) == (0, None)
    again = encode(decoded, find_message(protos, "shop.Everything")).to_pylist()
    assert cls.FromString(again[0]) == message
    assert decode([], protos, "WithEmpty")[0].type == pa.struct({"id": pa.int32()})
    kept = decode([b"\x12\x00"], protos, "WithEmpty", retain_empty=True)[0]
    assert kept.to_pylist() == [{"id": None, "nothing": {"__dummy_field_in_empty_struct": None}}]


def test_recursive_messages_to_a_depth(protos: bytes) -> None:
    """A message that contains itself is refused, or kept to so many levels."""
    tree = message_class(protos, "shop.Tree")(id=1)
    tree.left.id = 2
    tree.left.left.id = 3
    tree.branches.add(id=4)
    with pytest.raises(ConfigError, match=r"branches\[\]: the message shop\.Tree contains itself"):
        decode([], protos, "shop.Tree")
    raw = tree.SerializeToString()
    assert decode([raw], protos, "shop.Tree", recursion=1)[0].to_pylist() == [{"id": 1}]
    assert decode([raw], protos, "shop.Tree", recursion=2)[0].to_pylist() == [
        {"id": 1, "branches": [{"id": 4}], "left": {"id": 2}}
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x08", "byte 0, field i32: expected a field of the type int32, but the message ends"),
        (b"\x00", "byte 0: expected a field, but there is no such field number or wire type"),
        (b"\x0f", "byte 0, field i32: .*but there is no such field number or wire type"),
        (b"\x08\x01\x72\x05ab", "byte 2, field text: .* string, but the message ends before it"),
        (b"\x72\x01\xff", "byte 0, field text: .*but the bytes are not UTF-8"),
        (b"\x8a\x01\x02\x08\x80", "byte 3, field point.x: .*but the message ends before it"),
        (b"\x08" + b"\xff" * 11, "byte 0, field i32: .*no end within 64 bits"),
        (b"\x0c", "byte 0: .*a group ends that did not begin"),
        (b"\x83\x7d" * 200, "nested more than 100 levels deep"),
    ],
)
def test_what_is_said_of_a_bad_message(protos: bytes, raw: bytes, message: str) -> None:
    """Position, field path, expectation and reason."""
    decoded, bad = decode([b"", raw, b""], protos, "shop.Everything")
    assert decoded.is_valid().to_pylist() == [True, False, True]
    assert [each.row for each in bad] == [1]
    assert re.search(message, str(bad[0]))


def test_required_fields(protos: bytes) -> None:
    """A message without a required field is bad, and cannot be written either."""
    decoded, bad = decode([b"\x12\x01n"], protos, "old.Item")
    assert decoded.to_pylist() == [None]
    assert "field id: expected a field of the type int32, but it is required" in str(bad[0])
    item = find_message(protos, "old.Item")
    with pytest.raises(ConfigError, match="no field id, which is required"):
        encode(pa.array([{"name": "n"}]), item)
    with pytest.raises(CorruptData, match=r"row 1 .*id is null"):
        encode(pa.array([{"id": 1}, {"id": None}]), item)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"text": 5}, "text is int64 and cannot be written as the field shop.Everything.text"),
        ({"i32": 1 << 40}, "i32 is int64"),
        ({"nothing": 1}, "has fields that shop.Everything has not: nothing"),
        ({"numbers": 1}, "numbers is int64 and cannot be written as a repeated field"),
        ({"point": 1}, "point is int64 and cannot be written as the message shop.Point"),
        ({"counts": [1]}, "cannot be written as a map"),
    ],
)
def test_columns_that_do_not_suit_the_message(protos: bytes, value: Any, message: str) -> None:
    """A wrong type or set of fields is named."""
    with pytest.raises(ConfigError, match=message):
        encode(pa.array([value]), find_message(protos, "shop.Everything"))


def test_values_that_do_not_suit_the_message(protos: bytes) -> None:
    """An enum's unknown name, and a null inside a list, stop the query."""
    item = find_message(protos, "shop.Everything")
    with pytest.raises(CorruptData, match=r"colour: PINK is not a value of the enum shop\.Colour"):
        encode(pa.array([{"colour": "RED"}, {"colour": "PINK"}]), item)
    with pytest.raises(CorruptData, match=r"row 0 .*numbers is null"):
        encode(pa.array([{"numbers": [1, None]}]), item)


def test_descriptor_sets_that_cannot_be_used(protos: bytes, tmp_path: Any) -> None:
    """What is missing or ambiguous is said in words."""
    with pytest.raises(
        ConfigError, match="not exactly one message of the descriptor set is named Nobody"
    ):
        find_message(protos, "Nobody")
    with pytest.raises(ConfigError, match="not a descriptor set"):
        find_message(b'syntax = "proto3";', "X")
    with pytest.raises(ConfigError, match="descriptor set is needed"):
        read_descriptor_set(None, None)
    with pytest.raises(ConfigError, match=r"absent\.desc cannot be read"):
        read_descriptor_set(str(tmp_path / "absent.desc"), None)
