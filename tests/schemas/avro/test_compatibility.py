"""Schema resolution: the table of vectors, the messages, and what hostile schemas cost."""

from __future__ import annotations

import json

import pytest

from headrace.schemas import avro
from headrace.schemas.incompatible import message
from headrace.schemas.model import InvalidSchema
from tests.schemas.avro.vectors import CASES, EMPLOYEES, Case, enum, field, fixed, record


def _faults(reader: str, writer: str) -> str:
    found = avro.incompatibilities(avro.parse(reader), avro.parse(writer))
    return ", ".join(f"{each.kind} {each.path}" for each in found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_new_schema_reads_old_data(case: Case) -> None:
    """Backward: the faults are exactly those that the specification's rules give."""
    assert _faults(case.new_text, case.old_text) == case.backward


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_old_schema_reads_new_data(case: Case) -> None:
    """Forward: the faults are exactly those that the specification's rules give."""
    assert _faults(case.old_text, case.new_text) == case.forward


def test_the_table_is_large_enough() -> None:
    """The vector suite has at least 150 cases, each with a title of its own."""
    assert len({case.title for case in CASES}) == len(CASES) >= 150


@pytest.mark.spec("slides:G10", "slides:G11")
@pytest.mark.parametrize(
    ("title", "allowed"),
    [
        ("a field is added with a default", True),
        ("a field with a default is removed", True),
        ("fields change their order", True),
        ("a default changes", True),
        ("a field is renamed with an alias", True),
        ("a record is renamed with an alias", True),
        ("a type becomes optional", True),
        ("a field changes its type", False),
        ("a field is renamed", False),
        ("a field is added without a default", False),
    ],
)
def test_the_changes_that_the_course_allows_and_forbids(title: str, allowed: bool) -> None:
    """What the course lists as an allowed change is compatible, and what it forbids is not."""
    case = next(each for each in CASES if each.title == title)
    assert (_faults(case.new_text, case.old_text) == "") is allowed


@pytest.mark.spec("slides:G33")
def test_the_courses_incompatible_employee() -> None:
    """Renaming both names without alias or default breaks both fields."""
    renamed = EMPLOYEES[1]
    reader, writer = avro.parse(renamed.new_text), avro.parse(renamed.old_text)
    names = [each.additional_info for each in avro.incompatibilities(reader, writer)]
    assert names == ["fName", "lName"]


MESSAGES = [
    (
        record(("a", "int"), ("b", "int")),
        record(("a", "int")),
        "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:''/fields/1': the old "
        "schema does not write the field 'b', and the new one has no default for it', "
        "additionalInfo:'b'}",
    ),
    (
        record(("a", "int")),
        record(("a", "string")),
        "{errorType:'TYPE_MISMATCH', description:''/fields/0/type': the new schema cannot read as "
        "int what the old one writes as string', additionalInfo:'reader type: INT "
        "not compatible with writer type: STRING'}",
    ),
    (
        enum("X"),
        enum("X Z Y"),
        "{errorType:'MISSING_ENUM_SYMBOLS', description:''/symbols': the new schema knows no "
        "[Y, Z], which the old one may write, and its enum has no default', "
        "additionalInfo:'[Y, Z]'}",
    ),
    (
        fixed(2),
        fixed(1),
        "{errorType:'FIXED_SIZE_MISMATCH', description:''/size': values of 2 bytes in the new "
        "schema, of 1 in the old one', "
        "additionalInfo:'expected: 1, found: 2'}",
    ),
    (
        record(name="S"),
        record(namespace="x"),
        "{errorType:'NAME_MISMATCH', description:''/name': the two schemas have "
        "different names', additionalInfo:'expected: x.R'}",
    ),
    (
        ["null", "int"],
        ["null", "int", "string"],
        "{errorType:'MISSING_UNION_BRANCH', description:''/2': no branch of the union in the new "
        "schema takes the string that the old one may write', additionalInfo:'reader union lacking "
        "writer type: STRING'}",
    ),
]


@pytest.mark.parametrize(("new", "old", "text"), MESSAGES)
def test_the_messages_are_confluents(new: object, old: object, text: str) -> None:
    """The text of each kind of fault is the one that tools know from Confluent's registry."""
    reader, writer = avro.parse(json.dumps(new)), avro.parse(json.dumps(old))
    (found,) = avro.incompatibilities(reader, writer)
    assert message(found, reader="new", writer="old") == text


@pytest.mark.parametrize(
    ("new", "old", "before", "after"),
    [
        (record(("a", "int")), record(("a", "string")), '"string"', '"int"'),
        (enum("X"), enum("X Y"), "X, Y", "X"),
        (fixed(2), fixed(1), "1", "2"),
        (record(name="S"), record(namespace="x"), "x.R", "S"),
        (["null"], ["null", enum("X")], "enum E", "null"),
        ("int", {"type": "array", "items": "int"}, 'array of "int"', '"int"'),
    ],
)
def test_a_fault_shows_both_sides(new: object, old: object, before: str, after: str) -> None:
    """Besides the path there is what stood there before, and what stands there now."""
    reader, writer = avro.parse(json.dumps(new)), avro.parse(json.dumps(old))
    (found,) = avro.incompatibilities(reader, writer)
    assert (found.before, found.after) == (before, after)


def test_an_assumption_that_failed_is_forgotten() -> None:
    """A pair that was taken as fitting inside a pair that turned out not to fit is judged again."""
    # Inside the union, N is compared with N on the assumption that M fits M, which it does not;
    # afterwards N stands alone and must not profit from it.
    inner = record(("m", ["null", "M"]), name="N")
    writer = record(("u", ["null", record(("n", inner), name="M")]), ("n", "N"))
    strict = record(("n", inner), ("extra", "int"), name="M")
    reader = record(field("u", ["null", strict, "int"], None), ("n", "N"))
    assert _faults(json.dumps(reader), json.dumps(writer)) == (
        "MISSING_UNION_BRANCH /fields/0/type/1, MISSING_UNION_BRANCH /fields/1/type/fields/0/type/1"
    )


def test_large_unions_are_compared_quickly() -> None:
    """Thousands of records in a union cost their number, not its square."""
    names = [f"R{number}" for number in range(2_000)]
    union = json.dumps([record(("a", "int"), name=name) for name in names])
    backwards = json.dumps([record(("a", "long"), name=name) for name in reversed(names)])
    assert _faults(backwards, union) == ""


@pytest.mark.parametrize(("size", "fields"), [(250, 0), (100, 60)])
def test_schemas_that_cannot_be_compared_in_time_are_refused(size: int, fields: int) -> None:
    """Far too many pairs of records end in an error and not in a stuck worker."""
    # All have the same unqualified name, so each of the reader's may stand for each of the
    # writer's: the number of pairs is the square of the number of records.
    same = [(f"f{number}", "int") for number in range(fields)]
    reader = [record(*same, ("missing", "int"), name=f"n{number}.R") for number in range(size)]
    writer = [record(*same, name=f"n{number}.R") for number in range(size)]
    with pytest.raises(InvalidSchema, match="too large to be compared"):
        _faults(json.dumps(reader), json.dumps(writer))
