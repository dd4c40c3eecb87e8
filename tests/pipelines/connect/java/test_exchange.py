"""What goes to the JVM and comes back: values and columns."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.java import rows, values
from headrace.pipelines.connect.model.record import Header
from headrace.pipelines.connect.model.schema import OPTIONAL_BYTES
from tests.generated import examples

PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text()
) | st.binary()
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
COLUMN = st.lists(st.none() | st.binary(max_size=20))


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other if not isinstance(one, bytes) else one == other


@settings(deadline=None, max_examples=examples(50))
@given(VALUES)
def test_values_come_back(value: object) -> None:
    assert same(value, values.decode(memoryview(values.encode(value))))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, {1, 2}])
def test_what_java_has_no_kind_for(value: object) -> None:
    with pytest.raises(TypeError):
        values.encode(value)


@settings(deadline=None, max_examples=examples(50))
@given(COLUMN, st.integers(0, 5), st.integers(0, 5))
def test_columns_come_back(items: list[bytes | None], before: int, after: int) -> None:
    """Slices of longer columns too."""
    whole = pa.array([b"x"] * before + items + [None] * after, pa.binary())
    lengths, data = rows.framed(whole.slice(before, len(items)))
    assert rows.column(memoryview(lengths), memoryview(data)).to_pylist() == items


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.none() | st.integers(-(2**63) + 1, 2**63 - 1), min_size=1))
def test_timestamps_come_back(times: list[int | None]) -> None:
    framed = rows.framed_times(pa.array(times, pa.int64()), len(times))
    found = rows.timestamps(memoryview(framed))
    assert ([None] * len(times) if found is None else found.to_pylist()) == times


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.lists(st.tuples(st.text(), st.none() | st.binary()))))
def test_headers_come_back(pairs: list[list[tuple[str, bytes | None]]]) -> None:
    found = [
        tuple(Header(name, value, OPTIONAL_BYTES) for name, value in headers) for headers in pairs
    ]
    counts, *columns = rows.framed_headers(found)
    assert counts is not None
    views = [memoryview(each) for each in columns if each is not None]
    assert rows.headers(memoryview(counts), views) == found
