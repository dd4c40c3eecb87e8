"""Which changes a reader survives, by the tables of `compatibility_vectors`."""

from __future__ import annotations

import itertools

import pytest

from headrace.schemas import formats
from headrace.schemas.incompatible import message
from headrace.schemas.model import SchemaType
from headrace.schemas.protobuf import ProtobufSchema, differences, incompatibilities
from headrace.schemas.protobuf.differences import HARMLESS, Kind
from tests.schemas.protobuf.compatibility_vectors import SCALAR_GROUPS, VECTORS, Vector
from tests.schemas.protobuf.resolved import parsed

SCALARS = [kind for group in SCALAR_GROUPS for kind in group]


def found(reader: ProtobufSchema, writer: ProtobufSchema) -> set[str]:
    return {f"{each.kind}@{each.path}" for each in incompatibilities(reader, writer)}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.title)
def test_change_of_a_schema_is_judged_in_both_directions(vector: Vector) -> None:
    """Each change of the tables is compatible, or not, as Protobuf's documentation says."""
    older = parsed(vector.older, vector.older_imports)
    newer = parsed(vector.newer, vector.newer_imports)
    assert found(newer, older) == set(vector.backward.split())
    assert found(older, newer) == set(vector.forward.split())


@pytest.mark.parametrize(
    ("older", "newer"), list(itertools.combinations_with_replacement(SCALARS, 2))
)
def test_scalars_are_read_as_each_other_within_their_group(older: str, newer: str) -> None:
    """Two scalar types are compatible if they are in one group of the wire format."""
    group_of = {kind: group for group in SCALAR_GROUPS for kind in group}
    first, second = (
        parsed(f'syntax = "proto3"; message M {{ {kind} a = 1; }} enum E {{ Z = 0; }}')
        for kind in (older, newer)
    )
    same = group_of[older] == group_of[newer]
    expected = set() if same else {"FIELD_SCALAR_KIND_CHANGED@#/M/1"}
    assert found(second, first) == found(first, second) == expected


def test_tables_are_large_and_show_every_kind_of_difference() -> None:
    """Besides the scalars there are over 100 changes, and each of the 26 kinds comes up in one."""
    assert len(VECTORS) > 100
    assert len(Kind) == 26
    seen: set[str] = set()
    for vector in VECTORS:
        older = parsed(vector.older, vector.older_imports)
        newer = parsed(vector.newer, vector.newer_imports)
        for reader, writer in ((newer, older), (older, newer)):
            seen |= {each.kind for each in differences(reader, writer)}
    assert seen == set(Kind)


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("message M {}", "message M { int32 a = 3; }", "FIELD_ADDED@#/M/3"),
        ("message M { int32 a = 3; }", "message M {}", "FIELD_REMOVED@#/M/3"),
        ("message M { int32 a = 3; }", "message M { int32 b = 3; }", "FIELD_NAME_CHANGED@#/M/3"),
        ("message M {}", "message M { message N {} }", "MESSAGE_ADDED@#/M/N"),
        (
            "message M {} message N {}",
            "message N {} message M {}",
            "MESSAGE_MOVED@#/M MESSAGE_MOVED@#/N",
        ),
        ("", "enum X { Z = 0; }", "ENUM_ADDED@#/X"),
        ("message M { enum X { Z = 0; } }", "message M {}", "ENUM_REMOVED@#/M/X"),
        ("enum X { Z = 0; }", "enum X { Z = 0; A = 2; }", "ENUM_CONST_ADDED@#/X/2"),
        ("enum X { Z = 0; A = 2; }", "enum X { Z = 0; B = 2; }", "ENUM_CONST_CHANGED@#/X/2"),
        ("enum X { Z = 0; A = 2; }", "enum X { Z = 0; }", "ENUM_CONST_REMOVED@#/X/2"),
        (
            "message M { int32 a = 1; }",
            "message M { oneof o { int32 a = 1; string b = 2; } }",
            "ONEOF_ADDED@#/M/o ONEOF_FIELD_ADDED@#/M/o/2",
        ),
        (
            "message M { oneof o { int32 a = 1; } }",
            "message M { int32 a = 1; }",
            "ONEOF_REMOVED@#/M/o ONEOF_FIELD_MOVED_TO_TOP_LEVEL@#/M/1",
        ),
        (
            "message M { string a = 1; }",
            "message M { repeated string a = 1; }",
            "FIELD_STRING_OR_BYTES_LABEL_CHANGED@#/M/1",
        ),
    ],
)
def test_harmless_differences_are_known_but_stop_nobody(
    older: str, newer: str, expected: str
) -> None:
    """Differences that are no obstacle are listed with their places, and are no incompatibility."""
    writer, reader = (parsed(f'syntax = "proto3"; {text}') for text in (older, newer))
    listed = differences(reader, writer)
    assert {f"{each.kind}@{each.path}" for each in listed} == set(expected.split())
    assert {Kind(each.kind) for each in listed} <= HARMLESS
    assert incompatibilities(reader, writer) == []


def test_incompatibility_says_what_was_there_before_and_after() -> None:
    """An incompatibility carries both types, and its text names the schemas by direction."""
    writer = parsed('syntax = "proto3"; message M { map<string, int32> a = 1; }')
    reader = parsed('syntax = "proto3"; message M { repeated string a = 1; }')
    (one,) = formats.incompatibilities(reader, writer)
    assert (one.before, one.after) == ("map<string, int32>", "repeated string")
    assert message(one, reader="new", writer="old") == (
        '{errorType:"FIELD_KIND_CHANGED", description:"\'#/M/1\': what the old schema '
        'writes there is of another kind than what the new one reads"}'
    )


def test_long_chains_of_messages_are_compared() -> None:
    """Thousands of messages that hold each other are no problem for the stack."""
    links = 3_000

    def chain(last: str) -> ProtobufSchema:
        held = "".join(f"message M{at} {{ M{at + 1} m = 1; }}" for at in range(links))
        return parsed(f'syntax = "proto3"; {held} message M{links} {{ {last} a = 1; }}')

    assert found(chain("string"), chain("int32")) == {f"FIELD_SCALAR_KIND_CHANGED@#/M{links}/1"}


def test_other_formats_are_no_match() -> None:
    """A Protobuf schema reads nothing that another format wrote."""
    protobuf = formats.parse(SchemaType.PROTOBUF, 'syntax = "proto3"; message M {}')
    avro = formats.parse(SchemaType.AVRO, '"string"')
    assert len(formats.incompatibilities(protobuf, avro)) == 1
