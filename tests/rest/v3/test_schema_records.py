"""Records by schemas of the registry: every way to name one, in the three formats."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from tests.rest.service import Service
from tests.rest.v3.running_proxy import RunningProxy

USER = '{"type":"record","name":"User","namespace":"n","fields":[{"name":"age","type":"int"}]}'
JSON_USER = '{"type":"object","title":"User","properties":{"age":{"type":"integer"}}}'
PROTO_USER = 'syntax = "proto3"; package n; message User { int32 age = 1; }'
FORMATS = [
    ("AVRO", "AVRO", USER),
    ("JSONSCHEMA", "JSON", JSON_USER),
    ("PROTOBUF", "PROTOBUF", PROTO_USER),
]


def register(registry: Service, subject: str, kind: str, schema: str) -> int:
    body = {"schema": schema, "schemaType": kind}
    reply = registry.post(f"/subjects/{subject}/versions", body, content_type="application/json")
    assert reply.status == 200, reply
    found: int = reply.json["id"]
    return found


def produce(proxy: RunningProxy, cluster: str, topic: str, value: dict[str, Any]) -> Any:
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", {"value": value})
    assert answer.status == 200
    return answer.body


def first_value(proxy: RunningProxy, cluster: str, topic: str, query: str = "") -> Any:
    path = f"{cluster}/topics/{topic}/partitions/0/records?timeout_ms=0{query}"
    return proxy.get(path)["data"][0]["value"]


@pytest.mark.parametrize(("name", "kind", "schema"), FORMATS)
@pytest.mark.spec("slides:J03")
def test_inline_schema(
    proxy: RunningProxy, cluster: str, topic: str, name: str, kind: str, schema: str
) -> None:
    """A schema in the record is registered; the report names subject, id and version."""
    asked = {"type": name, "schema": schema, "data": {"age": 7}}
    report = produce(proxy, cluster, topic, asked)
    told = report["value"]
    raw = base64.b64decode(first_value(proxy, cluster, topic, "&format=BINARY")["data"])
    assert told == {
        "type": name,
        "subject": f"{topic}-value",
        "schema_id": struct.unpack(">xi", raw[:5])[0],
        "schema_version": 1,
        "size": len(raw),
    }
    expected = {"type": name, "schema_id": told["schema_id"], "data": {"age": 7}}
    assert first_value(proxy, cluster, topic) == expected
    assert first_value(proxy, cluster, topic, f"&format={name}") == expected


@pytest.mark.parametrize(("name", "kind", "schema"), FORMATS)
def test_registered_schema(
    proxy: RunningProxy,
    cluster: str,
    topic: str,
    registry: Service,
    name: str,
    kind: str,
    schema: str,
) -> None:
    """By id, by subject and version, by the latest of a subject, with and without the type."""
    schema_id = register(registry, f"{topic}-value", kind, schema)
    register(registry, f"s-{topic}", kind, schema)
    told = {"type": name, "subject": f"{topic}-value", "schema_id": schema_id}
    for choice in (
        {"schema_id": schema_id, "type": name},
        {"schema_version": 1},
        {"schema_version": 1, "subject_name_strategy": "TOPIC_NAME"},
        {},
        {"subject": f"s-{topic}", "schema_version": 1},
        {"subject": f"s-{topic}"},
    ):
        report = produce(proxy, cluster, topic, {**choice, "data": {"age": 1}})
        expected = {**told, "subject": choice.get("subject", told["subject"])}
        assert {key: report["value"][key] for key in told} == expected, report


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("RECORD_NAME", "n.User"), ("TOPIC_RECORD_NAME", "{topic}-n.User")],
)
def test_strategies(
    proxy: RunningProxy, cluster: str, topic: str, strategy: str, subject: str
) -> None:
    """The strategy names the subject under which an inline schema is registered."""
    asked = {
        "type": "AVRO",
        "schema": USER,
        "subject_name_strategy": strategy,
        "data": {"age": 1},
    }
    assert produce(proxy, cluster, topic, asked)["value"]["subject"] == subject.format(topic=topic)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"type": "AVRO", "schema": USER, "data": {"age": "old"}}, 400),
        ({"type": "JSONSCHEMA", "schema": JSON_USER, "data": {"age": "old"}}, 400),
        ({"type": "PROTOBUF", "schema": PROTO_USER, "data": {"age": "old"}}, 400),
        ({"type": "AVRO", "schema": "{", "data": 1}, 42205),
        ({"type": "AVRO", "schema": '"int"', "subject_name_strategy": "RECORD_NAME"}, 42205),
        ({"schema_id": 999_999, "data": 1}, 42207),
        ({"subject": "nobody-has-it", "data": 1}, 42207),
        ({"subject": "nobody-has-it", "schema_version": 3, "data": 1}, 42207),
    ],
)
def test_what_does_not_fit(
    proxy: RunningProxy, cluster: str, topic: str, value: dict[str, Any], code: int
) -> None:
    """A value that its schema refuses, a broken schema and one that nobody has: inline errors."""
    report = produce(proxy, cluster, topic, value)
    assert report["error_code"] == code, report


def test_null_is_a_tombstone(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Null data has no bytes, whatever the schema."""
    asked = {"type": "AVRO", "schema": USER, "data": None}
    assert produce(proxy, cluster, topic, asked)["value"]["size"] == 0
    assert first_value(proxy, cluster, topic) is None


def test_poison_among_records(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Bytes that are not of the wanted format are shown as they are, with the reason."""
    produce(proxy, cluster, topic, {"type": "STRING", "data": "words"})
    produce(proxy, cluster, topic, {"type": "AVRO", "schema": USER, "data": {"age": 2}})
    path = f"{cluster}/topics/{topic}/partitions/0/records"
    words, user = proxy.get(f"{path}?format=AVRO")["data"]
    assert (words["value"]["type"], user["value"]["data"]) == ("BINARY", {"age": 2})
    assert words["value"]["error"].startswith("not AVRO")
    strange = base64.b64encode(b"\x00\x7f\xff\xff\xffx").decode()
    produce(proxy, cluster, topic, {"type": "BINARY", "data": strange})
    assert proxy.get(f"{path}?offset=2")["data"][0]["value"] == {"type": "BINARY", "data": strange}


def test_batch_by_schema(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Entries of a batch may each have a schema of their own."""
    entries = [
        {"id": "user", "value": {"type": "AVRO", "schema": USER, "data": {"age": 1}}},
        {"id": "bad", "value": {"type": "AVRO", "schema": USER, "data": {}}},
        {"id": "key", "key": {"type": "AVRO", "schema": '"int"', "data": 5}},
    ]
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records:batch", {"entries": entries})
    assert [each["id"] for each in answer.body["successes"]] == ["user", "key"]
    assert answer.body["successes"][1]["key"]["subject"] == f"{topic}-key"
    assert [each["error_code"] for each in answer.body["failures"]] == [400]
