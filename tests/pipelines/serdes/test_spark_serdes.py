"""The column functions inside of Spark: types, values, modes and messages."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.pipelines.serdes.avro_schemas import write
from tests.pipelines.serdes.protobuf_messages import compile_protos, message_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENT: dict[str, Any] = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "time", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
        {
            "name": "sum",
            "type": [
                "null",
                {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            ],
        },
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
        {"name": "either", "type": ["null", "string", "double"]},
        {
            "name": "who",
            "type": [
                "null",
                {"type": "record", "name": "Who", "fields": [{"name": "ip", "type": "bytes"}]},
            ],
        },
    ],
}
MOMENT = datetime.datetime(2026, 3, 4, 5, 6, 7, 89000, tzinfo=datetime.UTC)
VALUES = [
    {
        "id": n,
        "at": MOMENT + datetime.timedelta(milliseconds=n),
        "day": datetime.date(2026, 3, 4 + n),
        "time": datetime.time(5, 6, 7, n),
        "local": datetime.datetime(2026, 3, 4, 5, 6, 7, n),  # noqa: DTZ001
        "kind": ("NEW", "OLD")[n % 2],
        "sum": None if n else decimal.Decimal("-12.34"),
        "tags": {"k": ["a"] * n},
        "either": (None, "text", 0.5)[n % 3],
        "who": {"ip": bytes([n])} if n % 2 else None,
    }
    for n in range(4)
]
TYPE = (
    "struct<id:bigint,at:timestamp,day:date,time:time(6),local:timestamp_ntz,kind:string,sum:decimal(9,2),"
    "tags:map<string,array<string>>,either:struct<member0:string,member1:double>,who:struct<ip:binary>>"
)


def test_avro_in_a_query(spark: SparkSession) -> None:
    """Values have spark-avro's types, survive the way out and back, and evolve."""
    from pyspark.sql import functions as f

    from headrace.pipelines.serdes import from_avro, to_avro

    schema = json.dumps(EVENT)
    raw = write(EVENT, VALUES)
    rows = spark.createDataFrame([(each,) for each in [*raw, None]], "value binary")
    decoded = rows.select("value", from_avro("value", schema).alias("v"))
    assert decoded.schema["v"].dataType.simpleString() == TYPE
    again = decoded.select("value", "v", to_avro("v", schema).alias("again")).collect()
    assert [bytes(row.again) for row in again[:-1]] == raw
    assert again[-1].v is None
    assert again[-1].again is None
    row = decoded.where("v.id = 1").select(
        "v.kind", "v.tags", "v.either.member0", "v.who.ip", f.unix_micros("v.at").alias("us")
    )
    micros = int(MOMENT.timestamp() * 1000 + 1) * 1000
    assert [*row.first()] == ["OLD", {"k": ["a"]}, "text", bytes([1]), micros]  # type: ignore[misc]

    fields = [{"name": "source", "type": "string", "default": "web"}, EVENT["fields"][0]]
    reader = json.dumps({**EVENT, "fields": fields})
    evolved = rows.select(from_avro("value", schema, {"avroSchema": reader}).alias("v")).select(
        "v.*"
    )
    assert evolved.columns == ["source", "id"]
    assert [tuple(row) for row in evolved.collect()][:2] == [("web", 0), ("web", 1)]

    derived = spark.range(2).select(to_avro(f.struct("id")).alias("value"))
    assert [bytes(row.value) for row in derived.collect()] == [b"\x00", b"\x02"]


def test_poison_values_in_a_query(spark: SparkSession) -> None:
    """FAILFAST stops the query with a message that helps; the other modes route the value away."""
    from pyspark.errors import SparkRuntimeException
    from pyspark.sql import functions as f

    from headrace.pipelines.serdes import from_avro, from_json

    good = write("string", ["fine"])[0]
    texts = ['{"a": 1}', '{"a": ', None, '{"a": "x"}']
    values = [good, b"\x7f", None, good]
    pairs = list(zip(values, texts, strict=True))
    rows = spark.createDataFrame(pairs, "value binary, text string").coalesce(1)
    with pytest.raises(SparkRuntimeException, match=r"byte 0: .*length is negative.*dead_letter"):
        rows.select(from_avro("value", '"string"')).collect()
    with pytest.raises(Exception, match="MALFORMED_RECORD"):
        rows.select(from_json("text", "a int", mode="FAILFAST")).collect()
    permissive = rows.select(
        from_avro("value", '"string"', mode="PERMISSIVE").alias("avro"),
        from_json("text", "a int").alias("json"),
    )
    assert [(row.avro, row.json and row.json.a) for row in permissive.collect()] == [
        ("fine", 1),
        (None, None),
        (None, None),
        ("fine", None),
    ]
    assert permissive.where("json is null").count() == 3
    letters = rows.select(
        "value",
        from_avro("value", '"string"', dead_letter=True).alias("avro"),
        from_json(f.encode("text", "UTF-8"), "a int", dead_letter=True).alias("json"),
    )
    assert letters.where("avro.error is null and json.error is null").count() == 2
    [dead] = (
        letters.where("avro.error is not null")
        .select("value", "avro.error", "json.error")
        .collect()
    )
    assert bytes(dead[0]) == b"\x7f"
    assert "length is negative" in dead[1]
    assert dead[2] == "expected JSON of the type struct<a:int>"


def test_protobuf_in_a_query(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Messages have spark-protobuf's types and survive the way out and back."""
    from headrace.pipelines.serdes import from_protobuf, to_protobuf

    folder = tmp_path_factory.mktemp("protos")
    protos = compile_protos(folder)
    message = message_class(protos, "shop.Everything")(text="t", numbers=[1, -2], colour=5, u32=7)
    message.point.x = -3
    message.counts["k"] = 9
    message.moment.FromDatetime(MOMENT)
    message.span.FromMicroseconds(1_500_000)
    raw = message.SerializeToString()
    rows = spark.createDataFrame([(raw,), (None,)], "value binary")
    path = str(folder / "all.desc")
    decoded = rows.select(from_protobuf("value", "shop.Everything", path).alias("v"))
    fields = dict(decoded.select("v.*").dtypes)
    assert fields["point"] == "struct<x:int,y:bigint,names:array<string>>"
    assert fields["counts"] == "map<string,int>"
    assert (fields["moment"], fields["span"]) == ("timestamp", "interval day to second")
    value, nothing = (row.v for row in decoded.collect())
    assert nothing is None
    assert (value.text, value.numbers, value.colour, value.point.x) == (
        "t",
        [1, -2],
        "DARK_RED",
        -3,
    )
    assert (value.counts, value.span) == ({"k": 9}, datetime.timedelta(seconds=1.5))
    again = decoded.select(to_protobuf("v", "Everything", binaryDescriptorSet=protos).alias("a"))
    written = again.collect()[0].a
    assert type(message).FromString(bytes(written)) == message
