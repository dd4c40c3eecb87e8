"""Avro's JSON encoding to its binary encoding and back, with the specification's examples."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest

from headrace.schemas import avro
from headrace.schemas.model import MAX_DEPTH, InvalidValue
from tests.schemas.avro.vectors import array, enum, fixed, mapping, record

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
TREE = record(("v", "int"), ("next", ["null", "Node"]), name="Node")

# The first lines are examples of the specification.
ENCODED: list[tuple[Any, Any, str]] = [
    ("long", 0, "00"),
    ("long", -1, "01"),
    ("long", 1, "02"),
    ("long", -2, "03"),
    ("long", 2, "04"),
    ("long", -64, "7f"),
    ("long", 64, "8001"),
    ("string", "foo", "06666f6f"),
    (record(("a", "long"), ("b", "string"), name="test"), {"a": 27, "b": "foo"}, "3606666f6f"),
    (enum("A B C D", name="Foo"), "D", "06"),
    (array("long"), [3, 27], "04063600"),
    (["null", "string"], None, "00"),
    (["null", "string"], {"string": "a"}, "020261"),
    # The rest follows from its rules.
    ("null", None, ""),
    ("boolean", True, "01"),
    ("boolean", False, "00"),
    ("int", 2**31 - 1, "feffffff0f"),
    ("int", -(2**31), "ffffffff0f"),
    ("long", 2**63 - 1, "feffffffffffffffff01"),
    ("long", -(2**63), "ffffffffffffffffff01"),
    ("float", 1.5, "0000c03f"),
    ("float", 0.1, "cdcccc3d"),
    ("float", "NaN", "0000c07f"),
    ("double", 1.5, "000000000000f83f"),
    ("double", "Infinity", "000000000000f07f"),
    ("double", "-Infinity", "000000000000f0ff"),
    ("bytes", "\x00\xffa", "0600ff61"),
    ("string", "é", "04c3a9"),
    (fixed(2), "\xff\x00", "ff00"),
    (fixed(0), "", ""),
    (array("null"), [None, None], "0400"),
    (array("int"), [], "00"),
    (mapping("int"), {"a": 1}, "0202610200"),
    (mapping("int"), {}, "00"),
    (record(), {}, ""),
    (["int"], {"int": 1}, "0002"),
    (["int", "long"], {"long": 1}, "0202"),
    (["null", array("int")], {"array": [1]}, "02020200"),
    (["null", mapping("int")], {"map": {}}, "0200"),
    (["null", enum("X", namespace="a.b")], {"a.b.E": "X"}, "0200"),
    (["null", record(("a", "int"), namespace="n")], {"n.R": {"a": 1}}, "0202"),
    (TREE, {"v": 1, "next": {"Node": {"v": 2, "next": None}}}, "02020400"),
    ({"type": "int", "logicalType": "date"}, 19_000, "f0a802"),
    (DECIMAL, "\x04\xd2", "0404d2"),
    ({"type": "string", "logicalType": "uuid"}, "x", "0278"),
]


@pytest.mark.parametrize(("schema", "value", "encoded"), ENCODED)
def test_values_have_the_specifications_bytes(schema: Any, value: Any, encoded: str) -> None:
    """A value in the JSON encoding becomes the bytes of the specification, and comes back."""
    parsed = avro.parse(json.dumps(schema))
    assert parsed.encode(value).hex() == encoded
    assert parsed.decode(bytes.fromhex(encoded)) == value


def test_whole_floats_are_numbers_too() -> None:
    """JSON does not tell 1 from 1.0, and so neither spelling is refused."""
    assert avro.parse('"int"').encode(1.0) == b"\x02"
    assert avro.parse('"double"').encode(1) == struct.pack("<d", 1.0)


def test_blocks_with_a_size_are_read() -> None:
    """A writer may split arrays and maps into blocks and say how long each is."""
    assert avro.parse(json.dumps(array("int"))).decode(bytes.fromhex("0304 0204 02 06 00")) == [
        1,
        2,
        3,
    ]
    assert avro.parse(json.dumps(mapping("int"))).decode(bytes.fromhex("0106026102 00")) == {"a": 1}


MISFITS: list[tuple[Any, Any, str]] = [
    ("null", 1, r"Expected null, got 1 \(at /\)"),
    ("boolean", 1, "Expected true or false"),
    ("int", 2**31, "an int of 32 bits"),
    ("int", "1", "Expected an int"),
    ("int", 1.5, "Expected an int"),
    ("int", True, "Expected an int"),
    ("int", None, "Expected an int"),
    ("int", math.inf, "Expected an int"),
    ("long", 2**63, "a long of 64 bits"),
    ("float", 1e39, "a float of 32 bits"),
    ("float", "nan", "Expected a float"),
    ("double", 10**400, "Expected a double"),
    ("double", False, "Expected a double"),
    ("string", 1, "Expected a string"),
    ("string", "\ud800", "surrogates"),
    ("bytes", "Ā", "U\\+00FF"),
    ("bytes", [1], "U\\+00FF"),
    (fixed(2), "abc", "has 2 bytes, the value has 3"),
    (enum("X"), "Y", "symbol of the enum E"),
    (enum("X"), ["X"], "symbol of the enum E"),
    (array("int"), {}, "Expected an array"),
    (mapping("int"), [], "Expected an object"),
    (record(), [], "Expected an object for the record R"),
    (record(("a", "int")), {}, "The field 'a' of the record R is missing"),
    (record(("a", "int")), {"a": 1, "b": 2}, "The record R has no field 'b'"),
    (["null", "int"], 1, r"one of the union \[null, int\]"),
    (["null", "int"], {"string": "x"}, "has no type 'string'"),
    (["null", "int"], {"int": 1, "null": None}, "one of the union"),
    (["null", "int"], {"null": None}, "has no type 'null'"),
    (["int"], None, "one of the union"),
    # Where the value stands is part of the message.
    (record(("a", array("int"))), {"a": [1, "x"]}, r"\(at /a/1\)"),
    (record(("a", mapping("int"))), {"a": {"k": None}}, r"\(at /a/k\)"),
    (record(("a", ["null", "int"])), {"a": {"int": "x"}}, r"\(at /a/int\)"),
    (TREE, {"v": 1, "next": {"Node": {"v": "x", "next": None}}}, r"\(at /next/Node/v\)"),
]


@pytest.mark.parametrize(("schema", "value", "words"), MISFITS)
def test_values_that_do_not_fit_are_refused(schema: Any, value: Any, words: str) -> None:
    """A wrong value gives InvalidValue with the path and what was expected."""
    with pytest.raises(InvalidValue, match=words):
        avro.parse(json.dumps(schema)).encode(value)


BROKEN: list[tuple[Any, str, str]] = [
    ("int", "", "ends early"),
    ("int", "80", "ends early"),
    ("int", "feffffff1f", "not an int of 32 bits"),
    ("long", "ffffffffffffffffff02", "64 bits"),
    ("long", "ff" * 11, "longer than 10 bytes"),
    ("string", "06666f", "3 bytes are announced, 2 are left"),
    ("string", "01", "length is -1"),
    ("string", "02ff", "not UTF-8"),
    ("boolean", "02", "byte 0 or 1"),
    ("double", "00", "ends early"),
    ("int", "0200", "1 bytes are left over"),
    (enum("X"), "02", "symbol 1 of E"),
    (["null"], "02", "type 1 of a union that has 1"),
    (["null"], "01", "type -1 of a union"),
    (fixed(4), "00", "ends early"),
    (array("int"), "0402", r"ends early.*\(at /1\)"),
    (record(("a", mapping("string"))), "02026102", r"\(at /a/a\)"),
]


@pytest.mark.parametrize(("schema", "data", "words"), BROKEN)
def test_bytes_that_do_not_fit_are_refused(schema: Any, data: str, words: str) -> None:
    """Bytes of another schema, cut or broken, give InvalidValue with a reason."""
    with pytest.raises(InvalidValue, match=words):
        avro.parse(json.dumps(schema)).decode(bytes.fromhex(data))


def test_a_billion_items_of_no_bytes_are_not_made() -> None:
    """An array of nulls can announce any number of items in ten bytes; it is refused at once."""
    nulls = avro.parse(json.dumps(array("null")))
    with pytest.raises(InvalidValue, match="far more values than it has bytes"):
        nulls.decode(nulls.encode([None]).replace(b"\x02", bytes.fromhex("feffffffffffffffff01")))
    assert len(nulls.decode(nulls.encode([None] * 50_000))) == 50_000  # type: ignore[arg-type]


def test_records_of_no_bytes_are_counted() -> None:
    """Records that hold the next one twice stand for more values than could ever be made."""
    inner: Any = record(name="R0")
    for number in range(1, 60):
        inner = record(("a", inner), ("b", f"R{number - 1}"), name=f"R{number}")
    with pytest.raises(InvalidValue, match="far more values"):
        avro.parse(json.dumps(inner)).decode(b"")


def test_recursion_is_bounded_both_ways() -> None:
    """A list of nodes may be as deep as the limit; a longer one is refused by both directions."""
    tree = avro.parse(json.dumps(TREE))

    def nodes(count: int) -> Any:
        value: Any = None
        for _ in range(count):
            value = {"Node": {"v": 0, "next": value}}
        return value["Node"] if value else None

    fits = nodes(MAX_DEPTH)
    assert tree.decode(tree.encode(fits)) == fits
    with pytest.raises(InvalidValue, match="nested"):
        tree.encode(nodes(MAX_DEPTH + 1))
    with pytest.raises(InvalidValue, match="nested"):
        tree.decode(b"\x00\x02" * 100_000 + b"\x00\x00")
