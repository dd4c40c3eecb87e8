"""Avro by columns gives what Avro by records gives."""

from __future__ import annotations

import datetime
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.named import named
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.column import of_values
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from tests.cli.platform_process import headrace_up
from tests.pipelines.connect.converters import columns, generating
from tests.pipelines.connect.converters.oracle import shown_value
from tests.pipelines.connect.converters.test_avro import NAMES, names_in

pytestmark = pytest.mark.timeout(900)  # for `make thorough`, which draws far more

PLAIN = st.sampled_from(
    [
        Schema(kind, optional=optional)
        for kind in Type
        if kind.is_primitive
        for optional in (False, True)
    ]
)


@pytest.fixture(scope="module")
def avro() -> Iterator[Converter]:
    """A converter whose registry takes every schema."""
    with headrace_up("broker", "registry") as addresses:
        url = addresses["registry"]
        wish = urllib.request.Request(f"{url}/config", b'{"compatibility":"NONE"}', method="PUT")
        wish.add_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        urllib.request.urlopen(wish, timeout=60).close()
        made = named("io.confluent.connect.avro.AvroConverter").made(
            {"schema.registry.url": url}, "value"
        )
        yield made
        made.close()


@st.composite
def rows_of_a_schema(draw: st.DrawFn) -> tuple[Schema, list[Any]]:
    """Half of the schemas are of the kind that has columns."""
    fields = generating.some_schemas(names=NAMES) | PLAIN | PLAIN.map(schemas.array)
    inner = st.dictionaries(NAMES, fields, min_size=1, max_size=4)
    schema = schemas.struct(draw(inner), name="Row")
    assume(max(Counter(names_in(schema)).values(), default=0) < 2)
    return schema, draw(st.lists(generating.values(schema), max_size=12))


@generating.cases(20)
@given(rows_of_a_schema())
def test_columns_are_written_as_records_are(
    avro: Converter, case: tuple[Schema, list[Any]]
) -> None:
    columns.check_encoding(avro, *case)


@generating.cases(15)
@given(rows_of_a_schema(), rows_of_a_schema(), st.lists(st.integers(0, 3), max_size=20))
def test_columns_are_read_as_records_are(
    avro: Converter,
    one: tuple[Schema, list[Any]],
    other: tuple[Schema, list[Any]],
    order: list[int],
) -> None:
    """Rows of two schemas, tombstones, and bytes that are no Avro, in any order."""
    piles = [[avro.encode("t", schema, value) for value in rows] for schema, rows in (one, other)]
    rows = [*piles[0]]
    for kind in order:
        if kind < 2 and piles[kind]:
            rows.append(piles[kind].pop())
        elif kind == 2 and rows and rows[-1]:
            rows.append(rows[-1][:-1])
        else:
            rows.append(None)
    columns.check_decoding(avro, rows)


def test_plain_structs_do_not_go_by_records(
    avro: Converter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the tests above would compare the record form with itself."""
    schema = schemas.struct(
        {
            "id": schemas.INT64,
            "note": schemas.OPTIONAL_STRING,
            "lines": schemas.array(schemas.struct({"sku": schemas.STRING}, name="Line")),
        },
        name="Order",
    )
    line = Struct(schema.fields[2].schema.item, ["a"])
    values = [Struct(schema, [1, None, [line, line]]), Struct(schema, [2, "x", []])]
    written = [avro.encode("orders", schema, value) for value in values]

    def unasked(*told: object) -> None:
        raise AssertionError("a record of its own")

    monkeypatch.setattr(avro, "encode", unasked)
    monkeypatch.setattr(avro, "decode", unasked)
    assert avro.encode_column("orders", of_values(schema, values)).to_pylist() == written
    (column,) = avro.decode_column("orders", pa.array([*written, *written], pa.binary()))
    shown = [shown_value(schema, value) for value in [*values, *values]]
    assert [shown_value(column.schema, value) for value in column.to_values()] == shown


def test_what_only_records_can_say(avro: Converter) -> None:
    """A null that stands for a default, a short number, a null of the column, a null that may not
    be."""
    text = schemas.STRING.but(optional=True, default="x")
    short = schemas.struct({"a": Schema(Type.INT8), "b": schemas.date()}, name="Short")
    day = datetime.date(2024, 2, 29)
    whole = schemas.struct({"a": schemas.INT32}, name="Whole").but(optional=True)
    columns.check_encoding(
        avro,
        text_row := schemas.struct({"a": text}, name="Texts"),
        [Struct(text_row, [None]), Struct(text_row, ["y"])],
    )
    columns.check_encoding(avro, short, [Struct(short, [-128, day])])
    columns.check_encoding(avro, whole, [Struct(whole, [1]), None])
    columns.check_encoding(avro, schemas.INT32, [1, None])
