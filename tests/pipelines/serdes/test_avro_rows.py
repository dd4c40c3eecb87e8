"""Avro decoded inside of Spark's JVM gives what Arrow gives, of good bytes and of bad ones."""

from __future__ import annotations

import decimal
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headrace.schemas import avro
from tests.generated import examples
from tests.pipelines.serdes.avro_schemas import Case, cases, write
from tests.schemas.avro import generated

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PAYMENT = json.dumps(
    {
        "type": "record",
        "name": "Payment",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": ["null", "string"]},
        ],
    }
)


@st.composite
def spoiled(draw: st.DrawFn, case: Case) -> list[bytes]:
    """Values as they were written, then some with a byte changed, cut off or added."""
    values = write(case.schema, draw(st.lists(case.values, min_size=1, max_size=3)))
    bad = []
    for value in values:
        place = draw(st.integers(0, len(value)))
        instead = draw(st.binary(max_size=2))
        bad.append(value[:place] + instead + value[place + draw(st.integers(0, 2)) :])
    return values + bad


class Values(NamedTuple):
    """A column of values, the schema that they were written with, and the reader's, if another."""

    values: list[bytes]
    writer: str
    reader: str | None = None


@st.composite
def columns(draw: st.DrawFn) -> list[Values]:
    """Several schemas, each with a column of values: one query is not spent on one schema.

    Some are read by a schema that skips what was generated, widens a number, and adds a field.
    """
    drawn = []
    for case in draw(st.lists(cases(), min_size=6, max_size=6)):
        if draw(st.booleans()):
            drawn.append(Values(draw(spoiled(case)), json.dumps(case.schema)))
            continue
        pair = Case(
            record("x", case.schema, "n", "int"),
            st.fixed_dictionaries({"x": case.values, "n": st.integers(-9, 9)}),
            case.expected,
        )
        added = {"type": "array", "items": "string"}
        reader = record("n", "double", "added", added)
        reader["fields"][1]["default"] = ["a", "b"]
        drawn.append(Values(draw(spoiled(pair)), json.dumps(pair.schema), json.dumps(reader)))
    return drawn


def record(*names_and_types: Any) -> dict[str, Any]:
    pairs = zip(names_and_types[::2], names_and_types[1::2], strict=True)
    fields = [{"name": name, "type": kind} for name, kind in pairs]
    return {"type": "record", "name": "Outer", "fields": fields}


def plan_of(rows: DataFrame) -> str:
    return str(rows._jdf.queryExecution().executedPlan().toString())


def as_arrow(rows: DataFrame) -> bytes:
    """Rows as they can be compared whatever they hold: no time is too far, and NaN is NaN."""
    table = rows.toArrow()
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return bytes(out.getvalue())


def over_arrow(data: str, schema: str, **options: Any) -> Column:
    from headrace.pipelines.serdes import functions
    from headrace.pipelines.serdes.values import avro_values

    return functions._decoding("from_avro", avro_values(schema, **options), data)


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=columns())
def test_both_machines_say_the_same(spark: SparkSession, drawn: list[Values]) -> None:
    """Whatever the schema: the same values of good bytes, the same words about bad ones."""
    assert_same(spark, drawn)


def test_both_machines_resolve_alike(spark: SparkSession) -> None:
    """Every number into every wider one, text and bytes, symbols and branches that are gone."""
    widths = ["int", "long", "float", "double"]
    pairs: list[tuple[Any, Any, list[Any]]] = [
        (writer, reader, [0, 1, -3, 1 << 30])
        for index, writer in enumerate(widths)
        for reader in widths[index:]
    ]
    for units in ("millis", "micros"):
        stamp = {"type": "long", "logicalType": f"timestamp-{units}"}
        pairs.append(("long", stamp, [0, -1, (1 << 62) - 1]))
        pairs.append(("int", stamp, [0, -1, (1 << 31) - 1]))
    pairs += [
        ("string", "bytes", ["a", "\u00fc"]),
        ("bytes", "string", [b"a", b"\xff"]),
        (enum("A", "B"), {**enum("A"), "default": "A"}, ["A", "B"]),
        (enum("A", "B"), enum("A"), ["A", "B"]),
        (["null", "string", "int"], ["null", "int"], [None, "a", 7]),
        ("int", ["string", "double"], [7]),
        (money(4, 2), money(6, 4), [decimal.Decimal(each) for each in ("12.34", "-0.01")]),
        (money(7, 4), money(4, 2), [decimal.Decimal(each) for each in ("-1.5", "0.001", "321")]),
        (
            record("a", {"type": "array", "items": "int"}),
            {
                "type": "record",
                "name": "Outer",
                "fields": [
                    {"name": "x", "type": {"type": "array", "items": "long"}, "aliases": ["a"]},
                    {"name": "a", "type": {"type": "array", "items": "double"}},
                    {"name": "y", "type": {"type": "array", "items": "int"}, "aliases": ["a"]},
                ],
            },
            [{"a": [1, 2]}, {"a": []}],
        ),
    ]
    resolved = [
        Values(write(writer, values), json.dumps(writer), json.dumps(reader))
        for writer, reader, values in pairs
    ]
    errors = assert_same(spark, resolved)
    assert sum("but" in each for each in errors) == 6, errors


@settings(
    max_examples=examples(3),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],  # to shrink queries takes minutes
)
@given(data=st.data())
def test_both_machines_read_what_is_compatible(spark: SparkSession, data: st.DataObject) -> None:
    """Pairs that the registry accepts have no value that either machine rejects."""
    drawn: list[Values] = []
    while len(drawn) < 8:
        writer = data.draw(generated.schemas())
        reader = generated.edited(data.draw, writer)
        trees = avro.parse(json.dumps(reader)), avro.parse(json.dumps(writer))
        if not avro.incompatibilities(*trees):
            written = [trees[1].encode(generated.value(data.draw, writer)) for _ in range(2)]
            drawn.append(Values(written, json.dumps(writer), json.dumps(reader)))
    assert assert_same(spark, drawn) == []


def readable_by_spark(schema: Any) -> bool:
    """Whether Spark can hand it over in Arrow: not a map of nulls, and no column without a type."""
    return "null" not in json.dumps(schema) and '"fields": []' not in json.dumps(schema)


def money(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def enum(*symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols)}


def assert_same(spark: SparkSession, drawn: list[Values]) -> list[str]:
    """Both machines read the columns alike; what they said of bad values."""
    from headrace.pipelines.serdes import from_avro

    longest = max(len(each.values) for each in drawn)
    padded = [[*each.values, *[None] * (longest - len(each.values))] for each in drawn]
    names = [f"c{n}" for n in range(len(drawn))]
    binary = ", ".join(f"{name} binary" for name in names)
    rows = spark.createDataFrame(list(zip(*padded, strict=True)), binary).coalesce(1)
    in_jvm, in_python = (
        rows.select(
            *(
                decode(name, each.writer, reader_schema=each.reader, dead_letter=True).alias(name)
                for name, each in zip(names, drawn, strict=True)
            )
        )
        for decode in (from_avro, over_arrow)
    )
    assert "Python" not in plan_of(in_jvm)
    assert in_jvm.schema == in_python.schema
    assert as_arrow(in_jvm) == as_arrow(in_python)
    table = in_jvm.select(*(f"{name}.error" for name in names)).toArrow()
    return [error for column in table.columns for error in column.to_pylist() if error]


def test_no_python_worker_is_asked(spark: SparkSession) -> None:
    """The decoder is a part of the query that Spark compiles; to it, two of a schema are one."""
    from headrace.pipelines.serdes import from_avro

    rows = spark.createDataFrame([(b"\x02\x02\x06abc",)], "value binary")
    first, second = from_avro("value", PAYMENT), from_avro("value", PAYMENT)
    decoded = rows.select(first.id.alias("id"), second.getField("name").alias("name"))
    plan = plan_of(decoded)
    assert "from_avro.decode" in plan
    assert "Python" not in plan
    assert decoded.collect() == [(1, "abc")]
    assert rows.select(from_avro("value", PAYMENT)).columns == ["from_avro(value)"]
    assert rows.select(first).sameSemantics(rows.select(second))


def test_a_column_that_cannot_hold_avro_is_refused_early(spark: SparkSession) -> None:
    """Text is taken as its bytes, as Arrow takes it; a number is a mistake in the query."""
    from pyspark.errors import AnalysisException

    from headrace.pipelines.serdes import from_avro

    rows = spark.createDataFrame([("\x06abc", 5)], "text string, number int")
    assert rows.select(from_avro("text", '"string"')).collect() == [("abc",)]
    with pytest.raises(AnalysisException, match=r'"BINARY" type, however "number" has the type'):
        rows.select(from_avro("number", '"string"'))


@pytest.mark.parametrize(
    "neighbour",
    [
        "org.apache.spark.sql.catalyst.expressions.GenericInternalRow",  # has the class already
        "org.apache.spark.sql.execution.SparkPlan",  # PySpark's own exception: another package
    ],
)
def test_a_spark_that_is_not_known_decodes_over_arrow(
    spark: SparkSession,
    neighbour: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What is used of Spark inside may be gone in another version: the column still works."""
    from headrace.pipelines.serdes import from_avro
    from headrace.pipelines.serdes.avro import rows as module

    monkeypatch.setattr(module, "_CLASS", f"{module._PACKAGE}.AvroRowsOfAnotherAge")
    monkeypatch.setattr(module, "_NEIGHBOUR", neighbour)
    values = spark.createDataFrame([(b"\x02\x02\x06abc",)], "value binary")
    decoded = values.select(from_avro("value", PAYMENT).alias("v"))
    assert "goes through Python workers" in caplog.text
    assert "Python" in plan_of(decoded)
    assert decoded.select("v.*").collect() == [(1, "abc")]
