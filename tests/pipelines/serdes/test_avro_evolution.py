"""Schema resolution by the rules of the Avro specification, with fastavro as the witness."""

from __future__ import annotations

import datetime
import decimal
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
        "byte 1: expected a branch that the reader knows, but TYPE_MISMATCH '/1': "
        "the reader's schema cannot read as long what the writer's one writes as string"
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
        ("string", "int", "TYPE_MISMATCH '/': .* as int what the writer's one writes as string"),
        ("long", "int", "as int what the writer's one writes as long"),
        (
            record(),
            record(field("x", "int")),
            "READER_FIELD_MISSING_DEFAULT_VALUE '/fields/0': .* does not write the field 'x'",
        ),
        (
            enum("A"),
            {"type": "enum", "name": "Other", "symbols": ["A"]},
            "NAME_MISMATCH '/name'",
        ),
        (
            {"type": "fixed", "name": "F", "size": 2},
            {"type": "fixed", "name": "F", "size": 3},
            "FIXED_SIZE_MISMATCH '/size': values of 3 bytes in the reader's schema, of 2",
        ),
        ("int", ["null", "string"], "MISSING_UNION_BRANCH '/': .* takes the int"),
        (["null", "int"], "string", "as string what the writer's one writes as null"),
        (
            {"type": "array", "items": "int"},
            {"type": "map", "values": "int"},
            "as map what the writer's one writes as array",
        ),
        (
            record(),
            record(field("x", {"type": "array", "items": "int"}, default=["text"])),
            "the default of x is not of its type",
        ),
    ],
)
def test_schemas_that_never_meet(writer: Any, reader: Any, message: str) -> None:
    """What no value could resolve is rejected on the driver, in the words of the registry."""
    with pytest.raises(ConfigError, match=message):
        decode([], writer, reader)


def test_many_reasons_are_not_all_given() -> None:
    """The first few say enough."""
    wanted = [field(f"f{number}", "int") for number in range(5)]
    with pytest.raises(ConfigError, match=r"'f2', .*; and 2 more"):
        decode([], record(), record(*wanted))


@pytest.mark.parametrize(
    ("written", "read", "number", "expected"),
    [
        ((4, 2), (6, 4), "12.34", "12.3400"),
        ((4, 2), (6, 4), "-12.34", "-12.3400"),
        ((38, 0), (38, 5), "-" + "9" * 33, "-" + "9" * 33 + ".00000"),
        ((38, 0), (38, 5), "1" + "0" * 33, "more digits than its precision"),
        ((4, 2), (4, 4), "0.12", "0.1200"),
        ((4, 2), (4, 4), "12.34", "more digits than its precision"),
        ((6, 4), (4, 2), "-12.3400", "-12.34"),
        ((38, 20), (38, 2), "9" * 18 + "." + "8" * 2 + "0" * 18, "9" * 18 + ".88"),
        ((6, 4), (4, 2), "12.3401", "digits beyond the reader's scale"),
        ((6, 4), (2, 2), "12.3400", "more digits than its precision"),
        ((9, 4), (4, 2), "0.0000", "0.00"),
    ],
)
@pytest.mark.parametrize("size", [None, 16])
def test_decimals_of_another_scale(
    written: tuple[int, int], read: tuple[int, int], number: str, expected: str, size: int | None
) -> None:
    """The same number in the reader's scale; one that is not exact there is a bad value."""

    def decimal_type(precision: int, scale: int) -> dict[str, Any]:
        digits = {"logicalType": "decimal", "precision": precision, "scale": scale}
        kind = {"type": "bytes"} if size is None else {"type": "fixed", "name": "F", "size": size}
        return {**kind, **digits}

    writer, reader = decimal_type(*written), decimal_type(*read)
    decoded, bad = decode(write(writer, [decimal.Decimal(number)]), writer, reader)
    if expected[-1].isdigit():
        assert bad == []
        assert str(decoded[0]) == expected
    else:
        assert expected in str(bad[0])


def test_a_field_that_two_fields_are_read_from() -> None:
    """A field and the alias of another name the same field of the writer: both have its value."""
    inner = record(field("a", {"type": "array", "items": "int"}), field("b", "string"), name="I")
    wanted = record(
        field("b", "bytes"),
        field("x", {"type": "array", "items": "long"}, aliases=["a"]),
        field("a", {"type": "array", "items": "double"}),
        field("y", ["null", {"type": "array", "items": "int"}], aliases=["a"], default=None),
        name="I",
    )
    values = [[{"a": [1, 2], "b": "p"}, {"a": [], "b": "q"}], []]
    schemas = [{"type": "array", "items": each} for each in (inner, wanted)]
    decoded, bad = decode([*write(schemas[0], values)], *schemas)
    assert bad == []
    assert decoded.to_pylist() == [
        [
            {"b": b"p", "x": [1, 2], "a": [1.0, 2.0], "y": [1, 2]},
            {"b": b"q", "x": [], "a": [], "y": []},
        ],
        [],
    ]
