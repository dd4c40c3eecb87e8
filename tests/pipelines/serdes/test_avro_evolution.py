"""Schema resolution by the rules of the Avro specification, with fastavro as the witness."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from headrace.errors import ConfigError
from tests.pipelines.serdes.avro_schemas import read, write
from tests.pipelines.serdes.test_avro_decode import decode


def record(*fields: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


EVERYTHING = record(
    field("i", "int"),
    field("l", "long"),
    field("f", "float"),
    field("d", "double"),
    field("t", "boolean"),
    field("s", "string"),
    field("y", "bytes"),
    field("x", {"type": "fixed", "name": "F", "size": 2}),
    field("e", enum("A", "B")),
    field("a", {"type": "array", "items": ["null", {"type": "array", "items": "string"}]}),
    field("m", {"type": "map", "values": record(field("z", "long"), name="Z")}),
    field("u", ["null", "Z", "string"]),
    field("last", "int"),
)
EVERY_VALUE = {
    "i": -1,
    "l": 1 << 40,
    "f": 0.5,
    "d": 1.25,
    "t": True,
    "s": "text",
    "y": b"\0\xff",
    "x": b"ab",
    "e": "B",
    "a": [["p", "q"], None, []],
    "m": {"one": {"z": 1}, "two": {"z": -2}},
    "u": {"z": 9},
    "last": 7,
}


@pytest.mark.spec("book1:M-02")
@pytest.mark.parametrize(
    ("writer", "reader", "value"),
    [
        ("int", "long", -5),
        ("int", "float", 3),
        ("int", "double", 3),
        ("long", "float", 3),
        ("long", "double", 1 << 50),
        ("float", "double", 0.1),
        ("string", "bytes", "é"),
        ("bytes", "string", b"abc"),
        (["null", "int"], "long", 4),
        ("int", ["null", "long"], 4),
        ("int", ["null", "double"], 4),
        (["int", "null"], ["null", "long"], None),
        (["int", "null"], ["null", "long"], 4),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "double"}, [1, 2]),
        (enum("A", "B", "C"), enum("C", "A", default="A"), "C"),
        (enum("A", "B", "C"), enum("C", "A", default="A"), "B"),
        (EVERYTHING, record(field("last", "int")), EVERY_VALUE),
        (
            EVERYTHING,
            record(field("last", "long"), field("s", "bytes"), field("i", "double")),
            EVERY_VALUE,
        ),
        (
            record(field("a", "int"), field("b", "string")),
            record(
                field("b", "string"), field("c", ["null", "int"], default=None), field("a", "int")
            ),
            {"a": 1, "b": "x"},
        ),
        (
            record(field("old", "int")),
            record(field("new", "long", aliases=["old"])),
            {"old": 8},
        ),
        (
            record(field("a", "int")),
            record(
                field("a", "int"),
                field("s", "string", default="dé"),
                field("e", enum("P", "Q"), default="Q"),
                field("f", "double", default=1.5),
                field("t", "boolean", default=True),
                field("l", {"type": "array", "items": "int"}, default=[1, 2, 3]),
                field("r", record(field("z", "long"), name="Z"), default={"z": 77}),
                field("n", ["null", "string"], default=None),
            ),
            {"a": 1},
        ),
        (
            {"type": "array", "items": record(field("a", "int"), name="I")},
            {
                "type": "array",
                "items": record(field("k", "string", default="d"), field("a", "long"), name="I"),
            },
            [{"a": 1}, {"a": 2}],
        ),
    ],
)
def test_as_fastavro_resolves_it(writer: Any, reader: Any, value: Any) -> None:
    """Promotion, order, aliases, defaults, skipping and unions, as the other implementation."""
    raw = write(writer, [value, value])
    decoded, bad = decode([*raw], writer, reader)
    assert bad == []
    assert decoded.to_pylist() == [read(raw[0], writer, reader)] * 2


def test_defaults_that_fastavro_leaves_alone() -> None:
    """Bytes and fixed by their code points, decimals, maps, and a union's default of any branch."""
    reader = record(
        field("y", "bytes", default="\u00ff\u0000"),
        field("x", {"type": "fixed", "name": "F", "size": 2}, default="a\u00ff"),
        field(
            "d",
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            default="\u0001",
        ),
        field("m", {"type": "map", "values": "int"}, default={"k": 3}),
        field("u", ["null", "string"], default="text"),
        field("v", ["int", "null"], default=5),
        field("f", "float", default="NaN"),
    )
    decoded, bad = decode([b""], record(), reader)
    [row] = decoded.to_pylist()
    assert bad == []
    assert str(row.pop("d")) == "0.01"
    assert row.pop("f") != 0
    assert row == {"y": b"\xff\0", "x": b"a\xff", "m": [("k", 3)], "u": "text", "v": 5}


def test_a_union_with_more_types() -> None:
    """A type that became a union of several is the member that it was; the exact type wins."""
    decoded, bad = decode(write("int", [3]), "int", ["null", "long", "int", "string"])
    assert bad == []
    assert decoded.to_pylist() == [{"member0": None, "member1": 3, "member2": None}]


def test_a_branch_without_a_place_fails_only_when_taken() -> None:
    """The writer's union may have branches that the reader cannot read, while no value has them."""
    decoded, bad = decode(write(["int", "string"], [4, "x", 5]), ["int", "string"], "long")
    assert decoded.to_pylist() == [4, None, 5]
    assert [str(each) for each in bad] == [
        "byte 1: expected a branch that the reader knows, "
        "but the value is written as string, read as long"
    ]


def test_symbols_without_a_place() -> None:
    """An enum's symbol that the reader lacks, without a default, is an error of that value."""
    decoded, bad = decode(write(enum("A", "B"), ["A", "B"]), enum("A", "B"), enum("A"))
    assert decoded.to_pylist() == ["A", None]
    assert "unknown to the reader's enum" in str(bad[0])


def test_milliseconds_read_as_microseconds() -> None:
    """The same instant, whatever the units that the two schemas count in."""
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    moment = datetime.datetime(2026, 5, 4, 3, 2, 1, 123000, tzinfo=datetime.UTC)
    for writer, reader in ((millis, micros), (micros, millis)):
        assert decode(write(writer, [moment]), writer, reader)[0].to_pylist() == [moment]
    assert decode(write(millis, [moment]), millis, "long")[0].to_pylist() == [1777863721123]
    assert decode(write("long", [1777863721123]), "long", millis)[0].to_pylist() == [moment]


def test_named_types_by_alias_and_by_short_name() -> None:
    """A fixed or enum that was renamed or moved is found by its alias or its last name."""
    old = {"type": "fixed", "name": "space.Old", "size": 2}
    moved = {"type": "fixed", "name": "other.Old", "size": 2}
    renamed = {"type": "fixed", "name": "space.New", "size": 2, "aliases": ["Old"]}
    for reader in (moved, renamed):
        assert decode([b"ab"], old, reader)[0].to_pylist() == [b"ab"]


@pytest.mark.parametrize(
    ("writer", "reader", "message"),
    [
        ("string", "int", "the value is written as string, read as int"),
        ("long", "int", "written as long, read as int"),
        (record(), record(field("x", "int")), "x is not in the writer's schema and has no default"),
        (
            enum("A"),
            {"type": "enum", "name": "Other", "symbols": ["A"]},
            "enum E, read as enum Other",
        ),
        (
            {"type": "fixed", "name": "F", "size": 2},
            {"type": "fixed", "name": "F", "size": 3},
            "of 2 bytes",
        ),
        ("int", ["null", "string"], "not a branch of the reader's union"),
        ({"type": "array", "items": "int"}, {"type": "map", "values": "int"}, "array of int"),
        (
            record(),
            record(field("x", {"type": "array", "items": "int"}, default=["text"])),
            "the default of x is not of its type",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1},
            "decimal",
        ),
    ],
)
def test_schemas_that_never_meet(writer: Any, reader: Any, message: str) -> None:
    """What no value could resolve is refused on the driver, naming the field."""
    with pytest.raises(ConfigError, match=message):
        decode([], writer, reader)
