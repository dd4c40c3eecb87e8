"""Avro, JSON Schema and Protobuf over HTTP, with the registry in the loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from headrace.testing import Broker
from tests.rest.reading import read_all
from tests.rest.service import Service, embedded, error_of

AVRO = embedded("avro")
USER = json.dumps(
    {
        "type": "record",
        "name": "User",
        "namespace": "shop",
        "fields": [
            {"name": "name", "type": "string"},
            {"name": "age", "type": ["null", "int"], "default": None},
        ],
    }
)
PROTO = 'syntax = "proto3"; message Order { string id = 1; int64 cents = 2; }'
OBJECT = json.dumps(
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
)
VALUES: dict[str, tuple[str, Any]] = {
    "avro": (USER, {"name": "Ada", "age": {"int": 36}}),
    "jsonschema": (OBJECT, {"a": 1}),
    "protobuf": (PROTO, {"id": "o-1", "cents": "250"}),
}


def consume(proxy: Service, group: str, topic: str, form: str) -> list[dict[str, Any]]:
    """The records of a topic, through an instance of this format."""
    options = {"name": "one", "format": form, "auto.offset.reset": "earliest"}
    assert proxy.post(f"/consumers/{group}", options).status == 200
    base = f"/consumers/{group}/instances/one"
    assert proxy.post(f"{base}/subscription", {"topics": [topic]}).status == 204
    for _ in range(20):
        reply = proxy.get(f"{base}/records", accept=embedded(form))
        assert reply.status == 200, reply
        if reply.json:
            break
    assert proxy.delete(base).status == 204
    records: list[dict[str, Any]] = reply.json
    return records


@pytest.mark.spec("slides:J03", "admin:RP-04")
@pytest.mark.parametrize("form", list(VALUES))
def test_values_go_in_and_come_out_by_schema(
    proxy: Service,
    registry: Service,
    rest_broker: Broker,
    topic: str,
    fresh_name: str,
    form: str,
) -> None:
    """Inline schema, then its id; framed with that id; the same JSON comes back."""
    text, value = VALUES[form]
    body = {"value_schema": text, "records": [{"value": value}]}
    first = proxy.post(f"/topics/{topic}", body, content_type=embedded(form)).json
    schema_id = first["value_schema_id"]
    assert first["key_schema_id"] is None
    assert [each["error_code"] for each in first["offsets"]] == [None]
    body = {"value_schema_id": schema_id, "records": [{"value": value}]}
    again = proxy.post(f"/topics/{topic}", body, content_type=embedded(form)).json
    assert again["value_schema_id"] == schema_id
    assert registry.get(f"/subjects/{topic}-value/versions/1").json["id"] == schema_id
    stored = [each.value() or b"" for each in read_all(rest_broker, topic, 2)]
    assert stored[0] == stored[1]
    assert stored[0][:5] == b"\x00" + schema_id.to_bytes(4, "big")
    records = consume(proxy, fresh_name, topic, form)
    assert [record["value"] for record in records] == [value, value]


def test_keys_have_schemas_too(proxy: Service, topic: str, fresh_name: str) -> None:
    """key_schema goes to the subject {topic}-key, and its id into the answer."""
    body = {
        "key_schema": '"string"',
        "value_schema": USER,
        "records": [{"key": "k", "value": {"name": "Ada", "age": None}}, {"key": "k"}],
    }
    reply = proxy.post(f"/topics/{topic}", body, content_type=AVRO).json
    assert reply["key_schema_id"] != reply["value_schema_id"]
    first, second = consume(proxy, fresh_name, topic, "avro")
    assert (first["key"], first["value"]) == ("k", {"name": "Ada", "age": None})
    assert (second["key"], second["value"]) == ("k", None)


def test_42201_and_42202_for_schemas_that_are_missing(proxy: Service, topic: str) -> None:
    """A request with keys or values needs their schema."""
    keys = {"value_schema": '"string"', "records": [{"key": "k", "value": "v"}]}
    assert error_of(proxy.post(f"/topics/{topic}", keys, content_type=AVRO)) == (
        422,
        42201,
        "Request includes keys but does not include key schema",
    )
    values = {"records": [{"value": "v"}]}
    assert error_of(proxy.post(f"/topics/{topic}", values, content_type=AVRO)) == (
        422,
        42202,
        "Request includes values but does not include value schema",
    )


@pytest.mark.parametrize(
    ("form", "bad"),
    [
        ("avro", {"name": 5, "age": None}),
        ("avro", {"name": "Ada", "age": 36}),
        ("avro", "x"),
        ("jsonschema", {"a": "x"}),
        ("jsonschema", {}),
        ("protobuf", {"id": {}}),
        ("protobuf", {"nobody": 1}),
    ],
)
def test_400_for_a_value_that_does_not_fit(
    proxy: Service, topic: str, form: str, bad: object
) -> None:
    """The record is named, and none of the request is sent."""
    text, good = VALUES[form]
    body = {"value_schema": text, "records": [{"value": good}, {"value": bad}]}
    status, code, message = error_of(
        proxy.post(f"/topics/{topic}", body, content_type=embedded(form))
    )
    assert (status, code) == (400, 400)
    assert message.startswith("Bad Request: records[1]")
    assert proxy.get(f"/topics/{topic}/partitions/0/offsets").json["end_offset"] == 0


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("avro", "{"),
        ("avro", '{"type":"record","name":"X"}'),
        ("jsonschema", "nonsense"),
        ("protobuf", "message {"),
    ],
)
def test_42205_for_a_schema_that_is_none(proxy: Service, topic: str, form: str, text: str) -> None:
    """What cannot be parsed is not sent to the registry."""
    body = {"value_schema": text, "records": [{"value": 1}]}
    reply = proxy.post(f"/topics/{topic}", body, content_type=embedded(form))
    assert error_of(reply)[:2] == (422, 42205)


def test_ids_that_are_unknown_or_of_another_format(proxy: Service, topic: str) -> None:
    """An id is taken only if the registry has it (42207), in the format of the request (42205)."""
    unknown = {"value_schema_id": 999_999, "records": [{"value": "x"}]}
    assert error_of(proxy.post(f"/topics/{topic}", unknown, content_type=AVRO))[:2] == (422, 42207)
    body = {"value_schema": '"string"', "records": [{"value": "x"}]}
    avro_id = proxy.post(f"/topics/{topic}", body, content_type=AVRO).json["value_schema_id"]
    other = {"value_schema_id": avro_id, "records": [{"value": {}}]}
    reply = proxy.post(f"/topics/{topic}", other, content_type=embedded("protobuf"))
    assert error_of(reply)[:2] == (422, 42205)


def test_42207_for_an_id_of_another_subject(
    proxy: Service, new_topic: Callable[..., str], topic: str
) -> None:
    """The schema of an id must be registered under the subject of this topic's key or value."""
    body = {"value_schema": USER, "records": [{"value": VALUES["avro"][1]}]}
    schema_id = proxy.post(f"/topics/{topic}", body, content_type=AVRO).json["value_schema_id"]
    by_id = {"value_schema_id": schema_id, "records": [{"value": VALUES["avro"][1]}]}
    assert proxy.post(f"/topics/{topic}", by_id, content_type=AVRO).status == 200
    other = new_topic()
    status, code, message = error_of(proxy.post(f"/topics/{other}", by_id, content_type=AVRO))
    assert (status, code) == (422, 42207)
    assert f"not registered under the subject {other}-value" in message
    as_key = {"key_schema_id": schema_id, "records": [{"key": VALUES["avro"][1]}]}
    reply = proxy.post(f"/topics/{topic}", as_key, content_type=AVRO)
    assert error_of(reply)[:2] == (422, 42207)
    assert proxy.get(f"/topics/{other}/partitions/0/offsets").json["end_offset"] == 0


def test_42207_for_a_schema_that_breaks_the_subject(proxy: Service, topic: str) -> None:
    """Compatibility is the registry's decision, and its reason is told."""
    body = {"value_schema": '"string"', "records": [{"value": "x"}]}
    assert proxy.post(f"/topics/{topic}", body, content_type=AVRO).status == 200
    body = {"value_schema": '"int"', "records": [{"value": 1}]}
    status, code, message = error_of(proxy.post(f"/topics/{topic}", body, content_type=AVRO))
    assert (status, code) == (422, 42207)
    assert "incompatible with an earlier schema" in message


def test_42207_names_the_record_that_cannot_be_read(
    proxy: Service, topic: str, fresh_name: str
) -> None:
    """Records before it are given; then the error, until the client seeks past it."""
    good = {"value_schema": '"string"', "records": [{"value": "first"}]}
    proxy.post(f"/topics/{topic}", good, content_type=AVRO)
    raw = {"records": [{"value": "bm90IGF2cm8="}]}
    proxy.post(f"/topics/{topic}", raw, content_type=embedded("binary"))
    good = {"value_schema": '"string"', "records": [{"value": "third"}]}
    proxy.post(f"/topics/{topic}", good, content_type=AVRO)
    options = {"name": "one", "format": "avro", "auto.offset.reset": "earliest"}
    proxy.post(f"/consumers/{fresh_name}", options)
    base = f"/consumers/{fresh_name}/instances/one"
    proxy.post(f"{base}/assignments", {"partitions": [{"topic": topic, "partition": 0}]})
    first = proxy.get(f"{base}/records", accept=AVRO)
    assert [record["value"] for record in first.json] == ["first"]
    status, code, message = error_of(proxy.get(f"{base}/records", accept=AVRO))
    assert (status, code) == (422, 42207)
    assert f"{topic}-0 at offset 1" in message
    past = {"offsets": [{"topic": topic, "partition": 0, "offset": 2}]}
    assert proxy.post(f"{base}/positions", past).status == 204
    third = proxy.get(f"{base}/records", accept=AVRO)
    assert [record["value"] for record in third.json] == ["third"]
    proxy.delete(base)


def test_50302_while_no_registry_answers(start_proxy: Callable[..., Service], topic: str) -> None:
    """Formats without a schema go on; the others are told to come back."""
    with start_proxy({"schema.registry.url": "http://127.0.0.1:9"}) as proxy:
        body = {"value_schema": '"string"', "records": [{"value": "x"}]}
        reply = proxy.post(f"/topics/{topic}", body, content_type=AVRO)
        assert error_of(reply)[:2] == (503, 50302)
        assert reply.headers["retry-after"] == "1"
        body = {"records": [{"value": "x"}]}
        assert proxy.post(f"/topics/{topic}", body, content_type=embedded("json")).status == 200
