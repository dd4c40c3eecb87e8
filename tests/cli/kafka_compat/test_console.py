"""Confluent's console producers and consumers: flags in, records out, lines as Java prints them."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.cli.kafka_compat import console_consumer, console_producer
from headrace.cli.kafka_compat.console.plain import deserializer_named, serializer_named
from headrace.cli.kafka_compat.flags import Takes, parse
from tests.cli.kafka_compat.conftest import Tool
from tests.client.listeners import unused_port

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"]},
            {"name": "raw", "type": "bytes"},
        ],
    }
)
PROTO = """syntax = "proto3"; package com.codingharbour.protobuf;
message SimpleMessage { string content = 1; string date_time = 2; message Line { int32 n = 1; } }
message Order { int64 order_id = 1; }"""
JSON_SCHEMA = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})
READ = ("--from-beginning", "--timeout-ms", "20000")


def prop(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--property", pair)]


def schema_id(services: dict[str, str], subject: str) -> int:
    url = f"{services['registry']}/subjects/{subject}/versions/latest"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return int(json.load(answer)["id"])


@pytest.mark.spec("book2:E-11", "slides:G29")
def test_avro_with_keys_unions_and_tombstones(
    tool: Tool, there: list[str], services: dict[str, str], topic: str
) -> None:
    """A union's value is tagged with its branch; keys, ids and nulls stand where Java has them."""
    schemas = prop('key.schema="string"', f"value.schema={ORDER}")
    keys = prop("parse.key=true", "key.separator=|", "null.marker=NIL")
    lines = [
        '"a"|{"id": 1, "note": {"string": "ü"}, "raw": "\\u00ff"}',
        '"b"|{"id": 2, "note": null, "raw": ""}',
        '"c"|NIL',
    ]
    done = tool(console_producer.avro, *there, *schemas, *keys, stdin="\n".join(lines) + "\n")
    assert done == (0, "", "")
    read = tool(console_consumer.avro, *there, *READ, "--max-messages", "3")
    assert read.code == 0
    assert read.out.splitlines() == [
        '{"id":1,"note":{"string":"ü"},"raw":"ÿ"}',
        '{"id":2,"note":null,"raw":""}',
        "null",
    ]
    assert read.err == "Processed a total of 3 messages\n"
    key_id, value_id = (schema_id(services, f"{topic}-{side}") for side in ("key", "value"))
    shown = prop("print.key=true", "print.schema.ids=true", "key.separator= ")
    shown += prop("print.partition=true", "print.offset=true", "schema.id.separator=:")
    one = tool(
        console_consumer.avro, *there, *shown, "--partition=0", "--offset", "1", "--max-messages=1"
    )
    assert one.out == (
        f'Partition:0 Offset:1 "b":{key_id} {{"id":2,"note":null,"raw":""}}:{value_id}\n'
    )


@pytest.mark.spec("book2:A10-01", "book2:A10-02", "book2:A10-04", "admin:SR-11")
def test_the_demo_of_the_console_tools(
    tool: Tool, there: list[str], services: dict[str, str], tmp_path: Path
) -> None:
    """A schema on the command line or in files for key and value; a record that does not fit."""
    text = '{"type":"record","name":"testrecord","fields":[{"name":"country","type":"string"}]}'
    demo = ["--broker-list", *there[1:], *prop(f"value.schema={text}")]
    assert tool(console_producer.avro, *demo, stdin='{"country": "India"}\n').code == 0
    invalid = tool(console_producer.avro, *demo, stdin='{"country": 7}\n{"country": "x"}\n')
    assert invalid.code == 1
    assert invalid.err.startswith("headrace: line 1: ")
    read = tool(console_consumer.avro, *there, *READ, "--max-messages", "1")
    assert read.out == '{"country":"India"}\n'
    other = '{"type":"record","name":"testrecord","fields":[{"name":"town","type":"string"}]}'
    incompatible = prop(f"value.schema={other}")
    refused = tool(console_producer.avro, *there, *incompatible, stdin='{"town": "x"}')
    assert refused.code == 1
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in refused.err

    files = []
    for side, name, fields in (
        ("key", "CardSuit", ["suit"]),
        ("value", "SimpleCard", ["suit", "card"]),
    ):
        file = tmp_path / f"my_{side}.avsc"
        members = [{"name": each, "type": "string"} for each in fields]
        file.write_text(json.dumps({"type": "record", "name": name, "fields": members}))
        files.append(f"{side}.schema.file={file}")
    cards = [word.replace("topic-", "my_avro_topic-") for word in there]
    line = '{"suit": "spades"}\t{"suit": "spades", "card": "ace"}\n'
    assert (
        tool(console_producer.avro, *cards, *prop(*files, "parse.key=true"), stdin=line).code == 0
    )
    read = tool(console_consumer.avro, *cards, *READ, *prop("print.key=true"), "--max-messages=1")
    assert read.out == '{"suit":"spades"}\t{"suit":"spades","card":"ace"}\n'


def test_a_schema_by_id_by_file_or_the_latest(
    tool: Tool, there: list[str], services: dict[str, str], topic: str, tmp_path: Path
) -> None:
    """Keys may be plain; what is not registered is refused where nothing may be registered."""
    file = tmp_path / "order.avsc"
    file.write_text(ORDER)
    line = '{"id": 7, "note": null, "raw": ""}'
    refused = tool(
        console_producer.avro,
        *there,
        *prop(f"value.schema.file={file}", "auto.register=false"),
        stdin=line,
    )
    assert refused.code == 1
    assert "40401" in refused.err or "40403" in refused.err
    assert tool(console_producer.avro, *there, *prop(f"value.schema.file={file}"), stdin=line) == (
        0,
        "",
        "",
    )
    number = schema_id(services, f"{topic}-value")
    plain = prop(
        f"value.schema.id={number}",
        "parse.key=true",
        "key.serializer=org.apache.kafka.common.serialization.LongSerializer",
    )
    broker = ["--broker-list", *there[1:]]
    assert tool(console_producer.avro, *broker, *plain, stdin=f"-5\t{line}\n").code == 0
    latest = prop("use.latest.version=true")
    assert tool(console_producer.avro, *there, *latest, "--sync", stdin=line).code == 0
    key = prop(
        "print.key=true", "key.deserializer=org.apache.kafka.common.serialization.LongDeserializer"
    )
    read = tool(console_consumer.avro, *there, *READ, *key, "--max-messages", "3", "--group", topic)
    value = '{"id":7,"note":null,"raw":""}'
    assert read.out.splitlines() == [f"null\t{value}", f"-5\t{value}", f"null\t{value}"]
    member = Consumer({"bootstrap.servers": services["broker"], "group.id": topic})
    [committed] = member.committed([TopicPartition(topic, 0)], timeout=30)
    member.close()
    assert committed.offset == 3
    silent = tool(console_consumer.avro, *there, "--timeout-ms", "300")
    assert (silent.code, silent.out) == (0, "")


@pytest.mark.spec("slides:G34", "slides:G38")
def test_protobuf_and_json_schema(tool: Tool, there: list[str], services: dict[str, str]) -> None:
    """Protobuf prints default values and takes any message of the file; JSON stays JSON."""
    proto = prop(f"value.schema={PROTO}")
    assert tool(console_producer.protobuf, *there, *proto, stdin='{"dateTime": "now"}').code == 0
    nested = prop(
        f"value.schema={PROTO}",
        "value.schema.full.name=com.codingharbour.protobuf.SimpleMessage.Line",
    )
    assert tool(console_producer.protobuf, *there, *nested, stdin='{"n": 3}').code == 0
    read = tool(console_consumer.protobuf, *there, *READ, "--max-messages", "2")
    assert [json.loads(line) for line in read.out.splitlines()] == [
        {"content": "", "date_time": "now"},
        {"n": 3},
    ]
    where = [word.replace("topic-", "json-") for word in there]
    json_schema = prop(f"value.schema={JSON_SCHEMA}")
    written = tool(
        console_producer.json_schema,
        *where,
        *json_schema,
        *prop("ignore.error=true"),
        stdin='{"id": "x"}\n{"id": 4, "more": [1.5]}\n',
    )
    assert written.code == 0
    assert written.err.startswith("headrace: line 1: ")
    read = tool(console_consumer.json_schema, *where, *READ, "--max-messages", "1")
    assert read.out == '{"id":4,"more":[1.5]}\n'
    mixed = tool(console_consumer.avro, *where, *READ, "--max-messages", "1")
    assert mixed.code == 1
    assert "of type JSON, not AVRO; skip such records with --skip-message-on-error" in mixed.err


@pytest.mark.spec("book2:E-08")
def test_a_bad_line_ends_the_producer_and_a_bad_record_the_consumer(
    tool: Tool, there: list[str], services: dict[str, str], topic: str
) -> None:
    """What came before a bad line is written; the place of a bad record is told.

    Without its registry no record can be decoded, and that is no fault of a record.
    """
    schema = prop('value.schema="int"')
    bad = tool(console_producer.avro, *there, *schema, stdin="1\n\ntwo\n3\n")
    assert bad.code == 1
    assert bad.err.startswith("headrace: line 3: the value is not JSON")
    producer = Producer({"bootstrap.servers": services["broker"]})
    producer.produce(topic, b"no frame")
    producer.produce(topic, b"\x00\x7f\x00\x00\x00\x02")
    producer.produce(
        topic, b"\x00" + schema_id(services, f"{topic}-value").to_bytes(4, "big") + b"\x04"
    )
    assert producer.flush(30) == 0
    stopped = tool(console_consumer.avro, *there, *READ)
    assert (stopped.code, stopped.out) == (1, "1\n")
    assert "partition 0 offset 1: Unknown magic byte" in stopped.err
    skipped = tool(
        console_consumer.avro, *there, *READ, "--skip-message-on-error", "--max-messages", "4"
    )
    assert (skipped.code, skipped.out) == (0, "1\n2\n")
    assert skipped.err.count("partition 0 offset") == 2
    nobody = prop(f"schema.registry.url=http://127.0.0.1:{unused_port()}")
    lost = tool(console_consumer.avro, *there, *nobody, *READ, "--skip-message-on-error")
    assert (lost.code, lost.out) == (1, "")
    assert "check schema.registry.url" in lost.err


@pytest.mark.parametrize(
    ("command", "words", "complaint"),
    [
        (console_consumer.avro, ["--topc", "x"], 'did you mean "--topic"'),
        (console_consumer.avro, ["--topic", "x"], 'Missing required argument "[bootstrap-server]"'),
        (console_consumer.avro, ["--topic"], "--topic needs a value"),
        (console_producer.avro, ["--property", "x"], '--property "x" has no value'),
        (console_producer.avro, ["--sync"], 'Missing required argument "[topic]"'),
        (
            console_consumer.avro,
            ["--bootstrap-server", "x", "--topic", "x", "--consumer.config", "/no"],
            "/no cannot be read",
        ),
    ],
)
def test_wrong_flags_are_told_in_one_line(
    tool: Tool, command: object, words: list[str], complaint: str
) -> None:
    """Exit code 1, as Kafka's; no stack trace, and nothing is asked."""
    assert callable(command)
    outcome = tool(command, *words)
    assert outcome.code == 1
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1


def test_more_wrong_usage(tool: Tool, there: list[str], topic: str) -> None:
    """No schema, no such message, an offset without a partition."""
    none = tool(console_producer.avro, *there, stdin="1")
    assert none.code == 1
    assert "give --property value.schema=" in none.err
    message = prop(f"value.schema={PROTO}", "value.schema.full.name=No")
    unknown = tool(console_producer.protobuf, *there, *message, stdin="{}")
    package = "com.codingharbour.protobuf"
    known = [f"{package}.{name}" for name in ("Order", "SimpleMessage", "SimpleMessage.Line")]
    assert f"it has {', '.join(known)}" in unknown.err
    alone = tool(console_consumer.avro, *there, "--offset", "3")
    assert "The partition is required when offset is specified." in alone.err
    assert "Example: kafka-avro-console-consumer" in tool(console_consumer.avro, "--help").out


def test_flags_may_take_a_value_or_none() -> None:
    """`--compression-codec` alone is gzip in Java's tools as well."""
    known = {"--codec": Takes.MAYBE, "--sync": Takes.NOTHING, "--p": Takes.PAIRS}
    given = parse(["--codec", "--sync", "--p", "a=b=c", "--p=d="], known)
    assert (given.text("--codec"), given.has("--sync")) == ("", True)
    assert given.properties("--p") == {"a": "b=c", "d": ""}
    assert parse(["--codec", "lz4"], known).text("--codec") == "lz4"


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("String", "ü", "ü".encode()),
        ("Integer", "-2", b"\xff\xff\xff\xfe"),
        ("Double", "0.5", b"\x3f\xe0" + bytes(6)),
    ],
)
def test_plain_keys(name: str, text: str, data: bytes) -> None:
    """The classes of Kafka's own, both ways."""
    package = "org.apache.kafka.common.serialization"
    assert serializer_named(f"{package}.{name}Serializer")(text) == data
    assert deserializer_named(f"{package}.{name}Deserializer")(data) == text
