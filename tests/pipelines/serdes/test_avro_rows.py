"""Avro decoded inside of Spark's JVM gives what Arrow gives, of good bytes and of bad ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pipelines.serdes.avro_schemas import Case, cases, write

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


@st.composite
def columns(draw: st.DrawFn) -> list[tuple[str, list[bytes]]]:
    """Several schemas, each with a column of values: one query is not spent on one schema."""
    drawn = draw(st.lists(cases(), min_size=6, max_size=6))
    return [(json.dumps(case.schema), draw(spoiled(case))) for case in drawn]


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


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=columns())
def test_both_machines_say_the_same(
    spark: SparkSession, drawn: list[tuple[str, list[bytes]]]
) -> None:
    """Whatever the schema: the same values of good bytes, the same words about bad ones."""
    from headrace.pipelines.serdes import from_avro

    longest = max(len(values) for _, values in drawn)
    padded = [[*values, *[None] * (longest - len(values))] for _, values in drawn]
    names = [f"c{n}" for n in range(len(drawn))]
    binary = ", ".join(f"{name} binary" for name in names)
    rows = spark.createDataFrame(list(zip(*padded, strict=True)), binary).coalesce(1)
    in_jvm, in_python = (
        rows.select(
            *(
                decode(name, schema, dead_letter=True).alias(name)
                for name, (schema, _) in zip(names, drawn, strict=True)
            )
        )
        for decode in (from_avro, over_arrow)
    )
    assert "Python" not in plan_of(in_jvm)
    assert in_jvm.schema == in_python.schema
    assert as_arrow(in_jvm) == as_arrow(in_python)


def test_no_python_worker_is_asked(spark: SparkSession) -> None:
    """The decoder is a part of the query that Spark compiles, and decodes each value once."""
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


def test_a_spark_that_is_not_known_decodes_over_arrow(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is used of Spark inside may be gone in another version: the column still works."""
    from headrace.pipelines.serdes import from_avro
    from headrace.pipelines.serdes.avro import rows as module

    monkeypatch.setattr(module, "_CLASS", f"{module._PACKAGE}.AvroRowsOfAnotherAge")
    values = spark.createDataFrame([(b"\x02\x02\x06abc",)], "value binary")
    decoded = values.select(from_avro("value", PAYMENT).alias("v"))
    assert "goes through Python workers" in caplog.text
    assert "Python" in plan_of(decoded)
    assert decoded.select("v.*").collect() == [(1, "abc")]
