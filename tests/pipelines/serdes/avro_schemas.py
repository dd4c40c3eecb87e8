"""Generated Avro schemas with values for them, and what those are as Arrow's Python objects.

A union's branches are told apart by the Python type of a value, so that fastavro, which has to
guess the branch, cannot guess wrong.
"""

from __future__ import annotations

import datetime
import decimal
import io
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import fastavro
from hypothesis import strategies as st

UTC = datetime.UTC
CONTEXT = decimal.Context(prec=40)


class Case(NamedTuple):
    """A schema, values that fastavro writes by it, and what they become."""

    schema: Any
    values: st.SearchStrategy[Any]
    expected: Callable[[Any], Any]


def same(value: Any) -> Any:
    return value


def instant(units: str) -> st.SearchStrategy[datetime.datetime]:
    moments = st.datetimes(
        datetime.datetime(1900, 1, 1),  # noqa: DTZ001
        datetime.datetime(2200, 1, 1),  # noqa: DTZ001
        timezones=st.just(UTC),
    )
    if units == "millis":
        return moments.map(lambda each: each.replace(microsecond=each.microsecond // 1000 * 1000))
    return moments


def local(units: str) -> st.SearchStrategy[datetime.datetime]:
    return instant(units).map(lambda each: each.replace(tzinfo=None))


INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
PRIMITIVES = [
    Case("boolean", st.booleans(), same),
    Case("int", INTS, same),
    Case("long", LONGS, same),
    Case("float", st.floats(width=32, allow_nan=False), same),
    Case("double", st.floats(allow_nan=False), same),
    Case("bytes", st.binary(max_size=20), same),
    Case("string", st.text(max_size=20), same),
    Case({"type": "int", "logicalType": "date"}, st.dates(), same),
    Case({"type": "long", "logicalType": "time-micros"}, st.times(), same),
    Case({"type": "string", "logicalType": "uuid"}, st.uuids(), str),
    *(
        Case({"type": "long", "logicalType": f"timestamp-{units}"}, instant(units), same)
        for units in ("millis", "micros")
    ),
    *(
        Case({"type": "long", "logicalType": f"local-timestamp-{units}"}, local(units), same)
        for units in ("millis", "micros")
    ),
    Case(
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 3},
        st.integers(-(10**38) + 1, 10**38 - 1).map(
            lambda n: decimal.Decimal(n).scaleb(-3, CONTEXT)
        ),
        same,
    ),
]


def named(names: Iterator[int]) -> list[Case]:
    """Types that need a name, each a new one."""
    size = 9
    return [
        Case(
            {"type": "enum", "name": f"E{next(names)}", "symbols": ["A", "Bb", "Ccc"]},
            st.sampled_from(["A", "Bb", "Ccc"]),
            same,
        ),
        Case(
            {"type": "fixed", "name": f"F{next(names)}", "size": 3},
            st.binary(min_size=3, max_size=3),
            same,
        ),
        Case(
            {
                "type": "fixed",
                "name": f"D{next(names)}",
                "size": size,
                "logicalType": "decimal",
                "precision": 20,
                "scale": 4,
            },
            st.integers(-(10**20) + 1, 10**20 - 1).map(
                lambda n: decimal.Decimal(n).scaleb(-4, CONTEXT)
            ),
            same,
        ),
    ]


UNION_BRANCHES = [
    Case("boolean", st.booleans(), same),
    Case("long", LONGS, same),
    Case("string", st.text(max_size=8), same),
    Case("bytes", st.binary(max_size=8), same),
    Case({"type": "map", "values": "int"}, st.dictionaries(st.text(max_size=3), INTS), same),
]


PYTHON_TYPES: dict[type, str] = {
    bool: "boolean",
    int: "long",
    str: "string",
    bytes: "bytes",
    dict: "map",
}


@st.composite
def cases(draw: st.DrawFn, depth: int = 3, names: Iterator[int] | None = None) -> Case:
    names = names if names is not None else itertools.count()
    kinds = ["primitive", "named"] + ["record", "array", "map", "optional", "union"] * (depth > 0)
    match draw(st.sampled_from(kinds)):
        case "primitive":
            return PRIMITIVES[draw(st.integers(0, len(PRIMITIVES) - 1))]
        case "named":
            kinds_with_names = named(names)
            return kinds_with_names[draw(st.integers(0, len(kinds_with_names) - 1))]
        case "record":
            return record(draw(st.lists(cases(depth - 1, names), min_size=1, max_size=4)), names)
        case "array":
            return array(draw(cases(depth - 1, names)))
        case "map":
            return mapping(draw(cases(depth - 1, names)))
        case "optional":
            return optional(draw(cases(0, names)), draw(st.booleans()))
        case _:
            count = draw(st.integers(2, 4))
            branches = draw(st.permutations(UNION_BRANCHES))[:count]
            return union(branches, draw(st.integers(-1, count)))


def record(fields: list[Case], names: Iterator[int]) -> Case:
    schema = {
        "type": "record",
        "name": f"space.R{next(names)}",
        "fields": [{"name": f"f{i}", "type": each.schema} for i, each in enumerate(fields)],
    }
    values = st.fixed_dictionaries({f"f{i}": each.values for i, each in enumerate(fields)})
    return Case(
        schema,
        values,
        lambda value: {f"f{i}": each.expected(value[f"f{i}"]) for i, each in enumerate(fields)},
    )


def array(items: Case) -> Case:
    return Case(
        {"type": "array", "items": items.schema},
        st.lists(items.values, max_size=4),
        lambda value: [items.expected(each) for each in value],
    )


def mapping(values: Case) -> Case:
    return Case(
        {"type": "map", "values": values.schema},
        st.dictionaries(st.text(max_size=6), values.values, max_size=4),
        lambda value: [(key, values.expected(each)) for key, each in value.items()],
    )


def optional(value: Case, null_first: bool) -> Case:
    return Case(
        ["null", value.schema] if null_first else [value.schema, "null"],
        st.none() | value.values,
        lambda each: None if each is None else value.expected(each),
    )


def union(branches: list[Case], null_at: int) -> Case:
    """Several types, with a null at one place or, if it is negative, without one."""
    schema = [each.schema for each in branches]
    values = st.one_of([each.values for each in branches])
    if null_at >= 0:
        schema.insert(null_at, "null")
        values |= st.none()

    def expected(value: Any) -> Any:
        if value is None:
            return None
        kind = PYTHON_TYPES[type(value)]
        plain = list(value.items()) if isinstance(value, dict) else value
        names = [each.schema if isinstance(each.schema, str) else "map" for each in branches]
        return {f"member{i}": plain if name == kind else None for i, name in enumerate(names)}

    return Case(schema, values, expected)


def write(schema: Any, values: list[Any]) -> list[bytes]:
    """The values as fastavro writes them."""
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    written = []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        written.append(out.getvalue())
    return written


def read(raw: bytes, writer: Any, reader: Any = None) -> Any:
    """The value as fastavro reads it."""
    parsed = fastavro.parse_schema(json.loads(json.dumps(writer)))
    other = fastavro.parse_schema(json.loads(json.dumps(reader))) if reader is not None else None
    return fastavro.schemaless_reader(io.BytesIO(raw), parsed, other)
