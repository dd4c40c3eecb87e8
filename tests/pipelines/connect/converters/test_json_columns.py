"""JSON by columns gives what JSON by records gives."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.connect.converters.json import decode_columns, encode_columns
from headrace.pipelines.connect.converters.json.converter import JsonConverter
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.column import of_values
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from tests.pipelines.connect.converters import columns, generating
from tests.pipelines.connect.converters.test_json_agreement import (
    CONFIGS,
    NUMBERS,
    PLAIN,
    converter,
)

pytestmark = pytest.mark.timeout(900)  # for `make thorough`, which draws far more


CENT = Decimal("0.01")


@st.composite
def many(draw: st.DrawFn) -> tuple[Schema, list[Any]]:
    """A schema and rows of it."""
    schema = draw(generating.some_schemas() | generating.structs(generating.some_schemas()))
    return schema, draw(st.lists(generating.values(schema), max_size=12))


@generating.cases(50)
@given(many(), CONFIGS)
def test_columns_are_written_as_records_are(
    case: tuple[Schema, list[Any]], config: dict[str, str]
) -> None:
    columns.check_encoding(converter(config), *case)


@generating.cases(40)
@given(many(), many(), CONFIGS, st.lists(st.integers(0, 2), max_size=20))
def test_columns_are_read_as_records_are(
    one: tuple[Schema, list[Any]],
    other: tuple[Schema, list[Any]],
    config: dict[str, str],
    order: list[int],
) -> None:
    """Rows of two schemas and tombstones, in any order."""
    made = converter(config | {"replace.null.with.default": "false"})
    piles = [[made.encode("t", schema, value) for value in rows] for schema, rows in (one, other)]
    rows = [*piles[0], *(piles[kind].pop() if kind < 2 and piles[kind] else None for kind in order)]
    columns.check_decoding(converter(config), rows)


LEAVES = [schemas.FLOAT64, schemas.INT32, schemas.STRING, schemas.FLOAT32, schemas.date()]
PAYLOADS = st.one_of(
    NUMBERS,
    st.sampled_from(
        ['"a"', '"\\u00e9"', '"\\ud800"', "NaN", "null", "true", "01", "[]", "{}", '"']
    ),
    st.sampled_from(['1,"b":2', '1}{"p":2', '1,"payload":3', " 5 ", "\n5", "", "1} x", "-1e-400"]),
)


@generating.cases(100)
@given(st.sampled_from(LEAVES), st.booleans(), st.lists(PAYLOADS, min_size=1, max_size=3))
def test_payloads_that_need_not_fit(leaf: Schema, wrapped: bool, payloads: list[str]) -> None:
    """Among rows that fit, so that whole runs are tried by columns first."""
    schema = schemas.struct({"a": leaf.but(optional=True)}) if wrapped else leaf
    head = JsonConverter({"converter.type": "value"}).encode("t", schema.but(optional=True), None)
    assert head is not None
    head = head.removesuffix(b"null}")
    texts = [f'{{"a":{text}}}' if wrapped else text for text in [*payloads, *["null"] * 10]]
    for text in payloads:
        columns.check_decoding(converter({}), [head + text.encode() + b"}"])
    columns.check_decoding(converter({}), [head + text.encode() + b"}" for text in texts])


@generating.cases(100)
@given(st.lists(generating.plain_values(), max_size=5), st.lists(PAYLOADS, max_size=3))
def test_rows_without_a_schema(values: list[Any], wild: list[str]) -> None:
    made = converter(PLAIN)
    columns.check_encoding(made, None, values)
    rows = [made.encode("t", None, value) for value in values]
    columns.check_decoding(made, rows)
    columns.check_decoding(made, [*rows, *(text.encode() for text in wild)])


def ordinary() -> tuple[Schema, list[object]]:
    """What most tables look like."""
    schema = schemas.struct(
        {
            "id": schemas.INT64,
            "name": schemas.OPTIONAL_STRING,
            "price": schemas.FLOAT64,
            "at": schemas.timestamp(),
            "tags": schemas.array(schemas.STRING),
            "raw": schemas.BYTES,
            "amount": schemas.decimal(2),
            "inner": schemas.struct({"ok": Schema(Type.BOOLEAN)}, optional=True),
        }
    )
    inner = schema.fields[-1].schema
    rows: list[object] = [
        Struct(
            schema,
            [
                number,
                f"n{number}",
                number + 0.5,
                schemas.EPOCH,
                ["x"],
                b"\x00\xff",
                Decimal(number).quantize(CENT),
                Struct(inner, [True]) if number % 2 else None,
            ],
        )
        for number in range(20)
    ]
    return schema, rows


@pytest.mark.parametrize("config", [{}, {"schemas.enable": "false"}])
def test_ordinary_tables_are_written_by_columns(config: dict[str, str]) -> None:
    schema, rows = ordinary()
    column = of_values(schema, rows)
    assert column.arrow is not None
    _, rough = encode_columns.encoded(schema, column.arrow, numeric=False, head="", tail="")
    assert not rough.any()
    columns.check_encoding(converter(config), schema, rows)


def test_ordinary_tables_are_read_by_columns() -> None:
    schema, rows = ordinary()
    made = converter({"schemas.enable": "false"})
    data = pa.array([made.encode("t", schema, row) for row in rows], pa.binary())
    read = decode_columns.decoded(schema, data, head=b"", tail="}", defaults=True)
    assert isinstance(read, pa.Array)
    columns.check_decoding(converter({}), [converter({}).encode("t", schema, row) for row in rows])
