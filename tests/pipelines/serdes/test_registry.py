"""`from_registry` and `to_registry` inside of Spark, against a registry that runs."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headrace.client.registry import RegisteredSchema, RegistryClient, RegistrySettings
from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.serdes.modes import Mode
from headrace.pipelines.serdes.registry import _plan
from headrace.pipelines.serdes.registry_decoding import RegistryDecoder
from headrace.pipelines.serdes.registry_encoding import RegistryEncoder
from headrace.pipelines.serdes.registry_formats import AvroPlan
from headrace.schemas.formats import parse
from headrace.schemas.framing import frame, frame_guid_header
from headrace.schemas.model import Reference, SchemaType
from tests.cli.platform_process import headrace_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with headrace_up("broker", "registry") as addresses:
        yield addresses["registry"]


@pytest.fixture
def client(url: str) -> Iterator[RegistryClient]:
    client = RegistryClient(RegistrySettings.at(url))
    yield client
    client.close()


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex[:8]}"


def record(*fields: dict[str, Any], name: str = "Order") -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": "-"}
WHO = {"name": "who", "type": ["null", "Customer"], "default": None}


def test_avro_evolves_in_a_query(
    spark: SparkSession, url: str, client: RegistryClient, topic: str
) -> None:
    """Values of several versions are read by the latest, whichever form their frame has."""
    from pyspark.sql import functions as f

    from headrace.pipelines.serdes import from_registry, to_registry

    subject = f"{topic}-value"
    client.register(f"{topic}-customer", SchemaType.AVRO, record(ID, name="Customer"))
    refers = (Reference("Customer", f"{topic}-customer", 1),)
    texts = [(record(ID), ()), (record(NOTE, ID), ()), (record(ID, NOTE, WHO), refers)]
    values: list[dict[str, Any]] = [
        {"id": 1},
        {"note": "n", "id": 2},
        {"id": 3, "note": "m", "who": {"Customer": {"id": 9}}},
    ]
    rows: list[tuple[bytes | None, bytes | None]] = []
    for (text, references), value in zip(texts, values, strict=True):
        number = client.register(subject, SchemaType.AVRO, text, references)
        schema = parse(SchemaType.AVRO, text, client.resolve(references))
        rows.append((frame(number, schema.encode(value)), None))
    guid = client.lookup(subject, SchemaType.AVRO, texts[0][0]).guid
    assert guid is not None
    first = parse(SchemaType.AVRO, texts[0][0])
    rows.append((first.encode({"id": 4}), frame_guid_header(guid)))
    rows.append((b"\x01" + guid.bytes + first.encode({"id": 5}), None))
    rows.append((None, None))
    frame_ = spark.createDataFrame(rows, "value binary, header binary").coalesce(1)
    read = frame_.select(from_registry("value", url, topic=topic, header="header").alias("v"))
    assert read.schema["v"].dataType.simpleString() == (
        "struct<id:bigint,note:string,who:struct<id:bigint>>"
    )
    assert [
        row.v and (row.v.id, row.v.note, row.v.who and row.v.who.id) for row in read.collect()
    ] == [
        (1, "-", None),
        (2, "n", None),
        (3, "m", 9),
        (4, "-", None),
        (5, "-", None),
        None,
    ]
    by_first = frame_.limit(3).select(from_registry("value", url, subject, version=1).alias("v"))
    assert [row.v.asDict() for row in by_first.collect()] == [{"id": 1}, {"id": 2}, {"id": 3}]

    written = read.where("v.id = 2").select(
        to_registry("v", url, topic=topic).alias("latest"),
        to_registry(f.struct("v.id"), url, subject, version=1, framing="header").alias("h"),
        to_registry(
            f.struct("v.id"), url, topic=topic, strategy="RecordNameStrategy", schema=record(ID)
        ).alias("named"),
    )
    [row] = written.collect()
    latest = client.latest(subject)
    assert bytes(row.latest) == frame(
        latest.id, client.parse(latest).encode(values[1] | {"who": None})
    )
    assert (bytes(row.h.value), bytes(row.h.header)) == (b"\x04", frame_guid_header(guid))
    assert bytes(row.named) == frame(client.latest("Order").id, b"\x04")


@pytest.mark.spec("slides:G06", "slides:G07", "slides:G31", "slides:G32")
def test_the_age_of_an_employee(url: str, client: RegistryClient, topic: str) -> None:
    """A field is dropped by an older reader, is lost by its writing back, and is defaulted then."""
    first = record(
        {"name": "firstName", "type": "string"},
        {"name": "nickName", "type": ["string", "null"]},
        {"name": "lastName", "type": "string"},
        {"name": "phoneNumber", "type": "string"},
        name="com.cloudurable.phonebook.Employee",
    )
    fields = json.loads(first)["fields"]
    age = {"name": "age", "type": "int", "default": -1}
    second = record(*fields[:3], age, fields[3], name="com.cloudurable.phonebook.Employee")
    strange = record({"name": "salary", "type": "int"}, name="com.cloudurable.phonebook.Employee")

    def plan(text: str) -> AvroPlan:
        return AvroPlan.of(client, RegisteredSchema(0, SchemaType.AVRO, text), {})

    def read(values: pa.Array, text: str) -> pa.Array:
        return RegistryDecoder(client.settings, plan(text), Mode.FAILFAST).decode(values)

    def write(values: pa.Array, text: str) -> pa.Array:
        client.register(topic, SchemaType.AVRO, text)
        schema = client.lookup(topic, SchemaType.AVRO, text)
        return RegistryEncoder(plan(text), schema, in_header=False).encode(values)

    old = {"firstName": "Bob", "nickName": None, "lastName": "Jones", "phoneNumber": "1"}
    new = {**old, "age": 42}
    stored = write(pa.array([new]), second)
    assert read(stored, second).to_pylist() == [new]
    dropped = read(stored, first)
    assert dropped.to_pylist() == [old]
    rewritten = write(dropped, first)
    assert read(rewritten, second).to_pylist() == [{**old, "age": -1}]
    assert stored[0].as_py()[5:] != rewritten[0].as_py()[5:]
    with pytest.raises(CorruptData, match="salary"):
        read(stored, strange)


def test_poison_values_are_treated_as_the_mode_says(
    spark: SparkSession, url: str, client: RegistryClient, topic: str
) -> None:
    """No frame, an id nobody knows, another format, a short payload: null, a reason, or the end."""
    from pyspark.errors import PythonException

    from headrace.pipelines.serdes import from_registry

    subject = f"{topic}-value"
    number = client.register(subject, SchemaType.AVRO, record(ID))
    other = client.register(f"{topic}-j", SchemaType.JSON, '{"type":"object"}')
    reasons = [
        (b"", "The record is empty"),
        (b"\x07abcdef", "Unknown magic byte 7"),
        (b"\x00\x00", "ends inside its schema id"),
        (frame(2**31 - 1, b"\x02"), "the registry has no schema 2147483647"),
        (b"\x01" + bytes(16) + b"\x02", "the registry has no schema 00000000-"),
        (frame(other, b"{}"), "written with a schema of type JSON, not AVRO"),
        (frame(number, b"\x80"), "byte 5, field id: expected long"),
    ]
    values = [frame(number, b"\x02"), *(value for value, _ in reasons), None]
    frames = spark.createDataFrame([(each,) for each in values], "value binary").coalesce(1)
    with pytest.raises(PythonException, match=r"row 1 of the batch .*The record is empty"):
        frames.select(from_registry("value", url, subject)).collect()
    permissive = frames.select(from_registry("value", url, subject, mode="PERMISSIVE").alias("v"))
    assert [row.v and row.v.id for row in permissive.collect()] == [1, *[None] * 8]
    letters = frames.select(from_registry("value", url, subject, dead_letter=True).alias("v"))
    errors = [row.v.error for row in letters.collect()]
    assert (errors[0], errors[-1]) == (None, None)
    for error, (_, reason) in zip(errors[1:-1], reasons, strict=True):
        assert reason in error


@pytest.mark.parametrize("schema_type", list(SchemaType))
def test_any_bytes_are_a_value_or_a_reason(
    client: RegistryClient, topic: str, schema_type: SchemaType
) -> None:
    """Noise, damaged frames and damaged headers never end a query that may go on."""
    texts = {
        SchemaType.AVRO: record(ID, NOTE),
        SchemaType.JSON: '{"type":"object"}',
        SchemaType.PROTOBUF: (
            'syntax = "proto3"; import "validate/validate.proto"; '
            "message A { string s = 1 [(validate.rules).string.min_len = 1]; A a = 2; }"
        ),
    }
    number = client.register(topic, schema_type, texts[schema_type])
    schema = client.lookup(topic, schema_type, texts[schema_type])
    assert schema.guid is not None
    options = {"recursive.fields.max.depth": "2"} if schema_type is SchemaType.PROTOBUF else {}
    plan = _plan(client, schema, options, None, validate=True)
    draw = random.Random(6)
    whole = [frame(number, b""), b"\x01" + schema.guid.bytes, b"\x00\xff\xff\xff\xff", b""]
    good = {
        SchemaType.AVRO: b"\x02\x02n",
        SchemaType.JSON: b"{}",
        SchemaType.PROTOBUF: b"\x00\x0a\x01n",
    }[schema_type]
    values: list[bytes | None] = [None, frame(number, good)]
    headers: list[bytes | None] = [None, None]
    for _ in range(600):
        head = draw.choice(whole)
        tail = draw.randbytes(draw.randrange(12))
        cut = draw.choice([len(head), draw.randrange(len(head) + 1)])
        values.append(head[:cut] + tail)
        guid_header = b"\x01" + schema.guid.bytes
        headers.append(draw.choice([None, None, b"", guid_header, draw.randbytes(18)]))
    decoder = RegistryDecoder(client.settings, plan, Mode.DEAD_LETTER)
    # A slice has offsets that do not begin with zero.
    padded = pa.array([b"x", *values], pa.binary())[1:]
    decoded = decoder.decode(padded, pa.array([b"x", *headers], pa.binary())[1:]).to_pylist()
    assert decoded[0] == {"value": None, "error": None}
    assert decoded[1]["value"] is not None
    for each in decoded[1:]:
        assert (each["value"] is None) == (each["error"] is not None)


def test_protobuf_and_json_in_a_query(
    spark: SparkSession, url: str, client: RegistryClient, topic: str
) -> None:
    """Messages are told apart by their indexes; JSON is parsed by Spark, in every mode."""
    from pyspark.sql import functions as f

    from headrace.pipelines.serdes import from_registry, to_registry

    old = 'syntax = "proto3"; package p; message A { int32 n = 1; message B { string s = 1; } }'
    new = old.replace("int32 n = 1;", "int32 number = 1; string more = 2;")
    first = client.register(topic, SchemaType.PROTOBUF, old)
    second = client.register(topic, SchemaType.PROTOBUF, new)
    values = [
        frame(first, b"\x08\x05", (0,)),
        frame(second, b"\x08\x06\x12\x01x", (0,)),
        frame(second, b"\x0a\x01y", (0, 0)),
        frame(first, b"", (3,)),
    ]
    rows = spark.createDataFrame([(each,) for each in values], "value binary").coalesce(1)
    read = rows.select(
        from_registry("value", url, topic, dead_letter=True).alias("a"),
        from_registry("value", url, topic, message_name="p.A.B", mode="PERMISSIVE").alias("b"),
    ).collect()
    assert [row.a.value and (row.a.value.number, row.a.value.more) for row in read[:2]] == [
        (5, None),
        (6, "x"),
    ]
    assert "it is a message p.A.B, not p.A" in read[2].a.error
    assert "no message with the indexes [3]" in read[3].a.error
    assert [row.b and row.b.s for row in read] == [None, None, "y", None]
    out = spark.range(1).select(
        to_registry(f.struct(f.lit("z").alias("s")), url, topic, message_name="p.A.B").alias("v")
    )
    assert bytes(out.collect()[0].v) == frame(second, b"\x0a\x01z", (0, 0))

    schema = json.dumps(
        {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {}}},
        }
    )
    written = spark.range(2).select(
        to_registry(f.struct("id"), url, topic=topic, schema=schema, format="JSON").alias("v")
    )
    number = client.latest(f"{topic}-value").id
    assert [bytes(row.v) for row in written.collect()] == [
        frame(number, b'{"id":0}'),
        frame(number, b'{"id":1}'),
    ]
    bad = [frame(number, b'{"id": "x"}'), frame(number, b"{"), frame(number, b"\xff"), b"\x09"]
    mixed = written.union(spark.createDataFrame([(each,) for each in bad], "v binary"))
    letters = mixed.select(
        from_registry("v", url, topic=topic, validate=True, dead_letter=True).alias("j")
    )
    assert letters.schema["j"].dataType.simpleString() == (
        "struct<value:struct<id:bigint,tags:array<string>>,error:string>"
    )
    collected = letters.collect()
    assert [row.j.value and row.j.value.id for row in collected] == [0, 1, None, None, None, None]
    assert [row.j.error is None for row in collected] == [True, True, *[False] * 4]
    permissive = mixed.select(from_registry("v", url, topic=topic, mode="PERMISSIVE").alias("j"))
    assert [row.j and row.j.id for row in permissive.collect()][:2] == [0, 1]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "give subject or topic"),
        ({"topic": "t", "strategy": "Mine"}, "Unknown subject name strategy"),
        ({"reader_schema": "{}", "format": "xml"}, "allowed are AVRO, JSON, PROTOBUF"),
        ({"reader_schema": '"int"', "options": {"x": "y"}}, "unknown option x"),
        ({"reader_schema": "{}", "format": "json", "options": {"x": "y"}}, "JSON has none"),
    ],
)
def test_mistakes_are_told_before_the_query_starts(
    url: str, options: dict[str, Any], complaint: str
) -> None:
    """On the driver, by name."""
    from headrace.pipelines.serdes import from_registry

    with pytest.raises(ConfigError, match=complaint):
        from_registry("value", url, **options)
