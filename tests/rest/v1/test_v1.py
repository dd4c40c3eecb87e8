"""Version 1, as the administration course uses it: media types, base_uri, reads by topic."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from headrace.testing import Broker
from tests.rest.reading import read_all
from tests.rest.service import V1, Service, embedded, error_of

BINARY = embedded("binary", 1)
AVRO = embedded("avro", 1)
SUIT = json.dumps(
    {
        "type": "record",
        "name": "Suit",
        "fields": [{"name": "suit", "type": "string"}],
    }
)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def create(proxy: Service, group: str, **options: object) -> str:
    """The path of a new instance, from the base_uri that the proxy gives."""
    reply = proxy.post(f"/consumers/{group}", options, content_type=V1)
    assert reply.status == 200, reply
    uri: str = reply.json["base_uri"]
    assert uri.startswith(proxy.url)
    return uri.removeprefix(proxy.url)


def read(proxy: Service, path: str, count: int, accept: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    deadline = time.monotonic() + 20
    while len(found) < count:
        assert time.monotonic() < deadline, found
        reply = proxy.get(path, accept=accept)
        assert reply.status == 200, reply
        assert reply.headers["content-type"] == accept
        found += reply.json
    return found


@pytest.mark.spec("admin:RP-01", "admin:RP-02")
def test_binary_records_are_produced(proxy: Service, rest_broker: Broker, topic: str) -> None:
    """POST /topics/{t} with …binary.v1+json: base64 in, the bytes in the log, status 200."""
    body = {"records": [{"key": b64("k"), "value": b64("Hello World!")}, {"value": b64("2")}]}
    reply = proxy.post(f"/topics/{topic}", body, content_type=BINARY)
    assert reply.status == 200
    assert [each["offset"] for each in reply.json["offsets"]] == [0, 1]
    stored = [(each.key(), each.value()) for each in read_all(rest_broker, topic, 2)]
    assert stored == [(b"k", b"Hello World!"), (None, b"2")]


@pytest.mark.spec("admin:RP-05", "admin:RP-06", "admin:RP-07", "admin:RP-10")
def test_a_course_program_reads_and_deletes(proxy: Service, topic: str, fresh_name: str) -> None:
    """Create with smallest, GET {base_uri}/topics/{t} until it comes, DELETE {base_uri}: 204."""
    body = {"records": [{"key": None, "value": b64("Hello World!")}]}
    proxy.post(f"/topics/{topic}", body, content_type=BINARY)
    base = create(
        proxy,
        fresh_name,
        **{"format": "binary", "auto.offset.reset": "smallest", "auto.commit.enable": "false"},
    )
    began = time.monotonic()
    (record,) = read(proxy, f"{base}/topics/{topic}", 1, BINARY)
    assert time.monotonic() - began < 20
    assert (record["key"], record["value"]) == (None, b64("Hello World!"))
    assert (record["partition"], record["offset"], record["topic"]) == (0, 0, topic)
    reply = proxy.delete(base)
    assert (reply.status, reply.text) == (204, "")


@pytest.mark.spec("admin:RP-09")
def test_a_commit_is_for_what_was_returned(proxy: Service, topic: str, fresh_name: str) -> None:
    """POST {base_uri}/offsets: 200; the next member of the group goes on after that."""
    options = {"format": "binary", "auto.offset.reset": "smallest", "auto.commit.enable": "false"}
    body = {"records": [{"value": b64(str(number))} for number in range(5)]}
    proxy.post(f"/topics/{topic}", body, content_type=BINARY)
    base = create(proxy, fresh_name, **options)
    deadline = time.monotonic() + 20
    found: list[Any] = []
    while not found:
        assert time.monotonic() < deadline
        found = proxy.get(f"{base}/topics/{topic}?max_bytes=2", accept=BINARY).json
    assert [record["value"] for record in found] == [b64("0"), b64("1")]
    reply = proxy.post(f"{base}/offsets", content_type=V1)
    assert reply.status == 200
    assert reply.json == [{"topic": topic, "partition": 0, "consumed": 1, "committed": 1}]
    proxy.delete(base)
    base = create(proxy, fresh_name, **options)
    rest = read(proxy, f"{base}/topics/{topic}", 3, BINARY)
    assert [record["offset"] for record in rest] == [2, 3, 4]
    proxy.delete(base)


def test_without_a_commit_nothing_is_remembered(
    proxy: Service, topic: str, fresh_name: str
) -> None:
    """Version 1 commits nothing by itself: the next member begins again."""
    body = {"records": [{"value": b64("x")}]}
    proxy.post(f"/topics/{topic}", body, content_type=BINARY)
    for _ in range(2):
        base = create(proxy, fresh_name, **{"auto.offset.reset": "smallest"})
        assert len(read(proxy, f"{base}/topics/{topic}", 1, BINARY)) == 1
        proxy.delete(base)


@pytest.mark.spec("admin:RP-11")
def test_a_new_group_begins_at_the_end(proxy: Service, topic: str, fresh_name: str) -> None:
    """Without smallest only what is sent after the first reads comes."""
    body = {"records": [{"value": b64("old")}]}
    proxy.post(f"/topics/{topic}", body, content_type=BINARY)
    base = create(proxy, fresh_name, format="binary")
    deadline = time.monotonic() + 20
    while not proxy.get(f"{base}/assignments").json["partitions"]:
        assert time.monotonic() < deadline
        assert proxy.get(f"{base}/topics/{topic}", accept=BINARY).json == []
    assert proxy.get(f"{base}/topics/{topic}", accept=BINARY).json == []
    body = {"records": [{"value": b64("new")}]}
    proxy.post(f"/topics/{topic}", body, content_type=BINARY)
    found = read(proxy, f"{base}/topics/{topic}", 1, BINARY)
    assert [record["value"] for record in found] == [b64("new")]
    proxy.delete(base)


@pytest.mark.spec("admin:RP-03", "admin:RP-04", "admin:RP-08")
def test_avro_records_go_in_and_come_out(proxy: Service, topic: str, fresh_name: str) -> None:
    """Schemas as strings; their ids come back and stand for them later; values as JSON."""
    card = {"suit": "spades"}
    body = {
        "key_schema": SUIT,
        "value_schema": '"string"',
        "records": [{"key": card, "value": "ace"}],
    }
    first = proxy.post(f"/topics/{topic}", body, content_type=AVRO).json
    ids = {name: first[name] for name in ("key_schema_id", "value_schema_id")}
    assert all(isinstance(each, int) for each in ids.values())
    body = {**ids, "records": [{"key": card, "value": "king"}]}
    again = proxy.post(f"/topics/{topic}", body, content_type=AVRO)
    assert again.status == 200
    assert {name: again.json[name] for name in ids} == ids
    base = create(proxy, fresh_name, **{"format": "avro", "auto.offset.reset": "smallest"})
    found = read(proxy, f"{base}/topics/{topic}", 2, AVRO)
    assert [(record["key"], record["value"]) for record in found] == [
        (card, "ace"),
        (card, "king"),
    ]
    proxy.delete(base)


@pytest.mark.spec("admin:RP-12")
def test_errors_have_a_status_and_a_text(proxy: Service, topic: str, fresh_name: str) -> None:
    """What a program prints: a status that is neither 200 nor 204, and words."""
    body = {"records": [{"value": "x"}]}
    reply = proxy.post(f"/topics/{topic}", body, content_type=AVRO)
    assert reply.status not in (200, 204)
    assert error_of(reply)[2] == "Request includes values but does not include value schema"
    missing = proxy.get(f"/consumers/{fresh_name}/instances/x/topics/{topic}", accept=BINARY)
    assert error_of(missing) == (404, 40403, "Consumer instance not found.")


def test_40901_for_a_second_topic(proxy: Service, topic: str, fresh_name: str) -> None:
    """An instance of version 1 stays with the topic of its first read."""
    base = create(proxy, fresh_name)
    assert proxy.get(f"{base}/topics/{topic}", accept=BINARY).status == 200
    assert error_of(proxy.get(f"{base}/topics/other", accept=BINARY)) == (
        409,
        40901,
        "Consumer cannot subscribe the the specified target because it has already subscribed to "
        "other topics.",
    )
    proxy.delete(base)


def test_40601_and_406_for_other_answers(proxy: Service, topic: str, fresh_name: str) -> None:
    """Accept must name the format of the instance."""
    base = create(proxy, fresh_name, format="avro")
    path = f"{base}/topics/{topic}"
    assert error_of(proxy.get(path, accept=BINARY))[:2] == (406, 40601)
    assert error_of(proxy.get(path, accept=V1))[:2] == (406, 40601)
    assert error_of(proxy.get(path, accept="text/html"))[:2] == (406, 406)
    proxy.delete(base)


def test_formats_that_came_later_are_not_of_version_1(proxy: Service, fresh_name: str) -> None:
    """Protobuf and JSON Schema belong to version 2."""
    reply = proxy.post(f"/consumers/{fresh_name}", {"format": "protobuf"}, content_type=V1)
    assert error_of(reply)[:2] == (422, 42204)


def test_an_id_is_a_name(proxy: Service, fresh_name: str) -> None:
    """Version 1 also says `id`."""
    base = create(proxy, fresh_name, id="c1")
    assert base == f"/consumers/{fresh_name}/instances/c1"
    proxy.delete(base)
