"""The compatibility vectors, in both directions and under both policies."""

from __future__ import annotations

import json

import pytest

from headrace.schemas.json_schema import incompatibilities, parse
from tests.schemas.json_schema import (
    vectors_of_arrays,
    vectors_of_combinations,
    vectors_of_objects,
    vectors_of_scalars,
)
from tests.schemas.json_schema.vectors import Row, Schema

ROWS: list[Row] = [
    row
    for module in (
        vectors_of_scalars,
        vectors_of_objects,
        vectors_of_arrays,
        vectors_of_combinations,
    )
    for table in vars(module).values()
    if isinstance(table, list)
    for row in table
]
CASES = [(row, way) for row in ROWS for way in ("backward", "forward")]


def broken(reader: Schema, writer: Schema, *, lenient: bool) -> tuple[str, ...]:
    found = incompatibilities(parse(json.dumps(reader)), parse(json.dumps(writer)), lenient=lenient)
    return tuple(f"{each.kind} {each.path}" for each in found)


def sides(row: Row, way: str) -> tuple[Schema, Schema]:
    return (row.new, row.old) if way == "backward" else (row.old, row.new)


@pytest.mark.parametrize(("row", "way"), CASES, ids=[f"{row.name}: {way}" for row, way in CASES])
def test_strict_policy_reports_what_breaks(row: Row, way: str) -> None:
    """Each change reports exactly the differences that stop the reader from reading old data."""
    reader, writer = sides(row, way)
    assert broken(reader, writer, lenient=False) == getattr(row, way)


@pytest.mark.parametrize(("row", "way"), CASES, ids=[f"{row.name}: {way}" for row, way in CASES])
def test_lenient_policy_tolerates_optional_properties(row: Row, way: str) -> None:
    """The lenient policy forgives undeclared properties, and nothing else."""
    reader, writer = sides(row, way)
    assert broken(reader, writer, lenient=True) == getattr(row, f"lenient_{way}")


def test_there_are_enough_vectors() -> None:
    """The tables hold at least 150 cases, so a table that is no longer found would be noticed."""
    assert len(CASES) >= 150
