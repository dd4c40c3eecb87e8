"""Producing: streams of records and batches."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from headrace.testing import Broker
from tests.rest.v3.raw_http import RawRequest
from tests.rest.v3.running_proxy import RunningProxy, eventually


def stored(proxy: RunningProxy, cluster: str, topic: str) -> list[dict[str, Any]]:
    """What a reader finds in the first partition, as bytes."""
    path = f"{cluster}/topics/{topic}/partitions/0/records?format=BINARY&timeout_ms=0"
    data: list[dict[str, Any]] = proxy.get(path)["data"]
    return data


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def text(data: object) -> dict[str, object]:
    return {"value": {"type": "STRING", "data": data}}


def test_one_record(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """A record with everything: the report tells where it is, and all of it is in the log."""
    record = {
        "partition_id": 0,
        "headers": [{"name": "h", "value": b64(b"\x00\x01")}, {"name": "n", "value": None}],
        "key": {"type": "BINARY", "data": b64(b"\xff\xfe")},
        "value": {"type": "JSON", "data": {"price": 1.10, "big": 12345678901234567890123}},
        "timestamp": "2021-02-05T19:14:42Z",
    }
    body = json.dumps(record).replace("1.1,", "1.10,").encode()
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", body)
    value = b'{"price":1.10,"big":12345678901234567890123}'
    assert (answer.status, answer.body) == (
        200,
        {
            "error_code": 200,
            "cluster_id": cluster.rpartition("/")[2],
            "topic_name": topic,
            "partition_id": 0,
            "offset": 0,
            "timestamp": "2021-02-05T19:14:42Z",
            "key": {"type": "BINARY", "size": 2},
            "value": {"type": "JSON", "size": len(value)},
        },
    )
    assert stored(proxy, cluster, topic) == [
        {
            "partition_id": 0,
            "offset": 0,
            "timestamp": "2021-02-05T19:14:42Z",
            "headers": record["headers"],
            "key": {"type": "BINARY", "data": b64(b"\xff\xfe")},
            "value": {"type": "BINARY", "data": b64(value)},
        }
    ]


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        ({}, None, None),
        ({"key": {"type": "STRING", "data": "ü"}}, "ü".encode(), None),
        ({"value": {"type": "JSON", "data": None}}, None, None),
        ({"value": {"type": "BINARY"}}, None, None),
        ({"value": {"type": "BINARY", "data": ""}}, None, b""),
        ({"value": {"type": "JSON", "data": "x"}}, None, b'"x"'),
    ],
)
def test_types(
    proxy: RunningProxy,
    cluster: str,
    topic: str,
    record: dict[str, Any],
    key: bytes | None,
    value: bytes | None,
) -> None:
    """Keys and values become the bytes of their type; what is left out or null is null."""
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", record)
    assert answer.body["error_code"] == 200, answer
    assert ("key" in answer.body, "value" in answer.body) == ("key" in record, "value" in record)
    found = stored(proxy, cluster, topic)[0]
    shown = [None if part is None else part["data"] for part in (found["key"], found["value"])]
    assert shown == [None if part is None else b64(part) for part in (key, value)]


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"value": {"type": "BINARY", "data": "§"}}, 400),
        ({"value": {"type": "BINARY", "data": 1}}, 400),
        ({"value": {"type": "STRING", "data": {}}}, 400),
        ({"value": {"type": "XML", "data": ""}}, 400),
        ({"value": {"type": "JSON", "schema_id": 1, "data": 1}}, 400),
        ({"value": {"schema": '"int"', "data": 1}}, 400),
        ({"value": {"schema_id": 1, "schema_version": 1, "data": 1}}, 400),
        ({"value": {"schema_id": -1, "data": 1}}, 400),
        ({"value": {"subject": "s", "subject_name_strategy": "TOPIC_NAME", "data": 1}}, 400),
        ({"headers": [{"name": "h", "value": "§"}]}, 400),
        ({"headers": [{"name": "h"}] * 1001}, 400),
        ({"timestamp": "yesterday"}, 400),
        ({"timestamp": -1}, 400),
        ({"partition_id": -1}, 40402),
        ({"partition_id": 99}, 40403),
        ({"partition_id": "zero"}, 400),
        ({"partition_id": "99"}, 40403),
    ],
)
def test_inline_errors(
    proxy: RunningProxy, cluster: str, topic: str, record: dict[str, Any], code: int
) -> None:
    """A record that cannot be produced is told of in its place; those around it are produced."""
    body = b"".join(json.dumps(each).encode() for each in (text("a"), record, text("b")))
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", body)
    assert answer.status == 200
    reports = [json.loads(line) for line in answer.body.splitlines()]
    assert [report["error_code"] for report in reports] == [200, code, 200]
    assert reports[1]["message"]
    assert [reports[0]["offset"], reports[2]["offset"]] == [0, 1]


def test_unknown_topic(proxy: RunningProxy, cluster: str) -> None:
    """A topic that does not exist is told of inline, and so is a name that no topic can have."""
    for name, code in (("no-such-topic", 40403), ("no%20topic", 40002)):
        answer = proxy.ask("POST", f"{cluster}/topics/{name}/records", text("a"))
        assert (answer.status, answer.body["error_code"]) == (200, code)


@pytest.mark.parametrize(
    "body", [b"", b"  ", b"{'a'}", b"nothing", b"[]", b'{"value":', b"\x00\xff"]
)
def test_no_records_at_all(proxy: RunningProxy, cluster: str, topic: str, body: bytes) -> None:
    """A body without any record is a bad request; broken JSON in an object is told of inline."""
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", body)
    assert answer.status == (200 if body == b"{'a'}" else 400)
    assert answer.body["error_code"] == 400


def test_broken_later(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """What came before broken text is produced, and the break is the last report."""
    body = json.dumps(text("a")).encode() + b"oops" + json.dumps(text("b")).encode()
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", body)
    reports = [json.loads(line) for line in answer.body.splitlines()]
    assert [report["error_code"] for report in reports] == [200, 400]
    assert "unexpected 'o'" in reports[1]["message"]


def test_media_type(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Records that say they are something else are 415."""
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", b"{}", headers)
    assert (answer.status, answer.body["error_code"]) == (415, 415)


def test_a_request_without_end(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Reports arrive while the request goes on; errors and cut chunks do not end it."""
    path = f"{cluster}/topics/{topic}/records"
    with RawRequest(proxy.port, "POST", path, chunked=True) as request:
        request.send_json(text("first"))
        status, headers = request.head()
        assert (status, headers["content-type"]) == (200, "application/json")
        assert request.line()["offset"] == 0
        request.send_json({"value": {"type": "BINARY", "data": "§"}})
        assert request.line()["error_code"] == 400
        data = json.dumps(text("cut \\ } anywhere")).encode()
        for byte in data:
            request.send(bytes([byte]))
        assert request.line()["offset"] == 1
        request.send_json(text("many"), text("in"), text("one chunk"))
        assert [request.line()["offset"] for _ in range(3)] == [2, 3, 4]
        request.send(b"")
        assert request.chunk() == b""
    assert len(stored(proxy, cluster, topic)) == 5


def test_stopping_the_proxy(cluster: str, topic: str, rest_broker: Broker) -> None:
    """A proxy that stops ends the streams that it serves, after the reports they have."""
    path = f"{cluster}/topics/{topic}/records"
    with (
        RunningProxy(rest_broker.bootstrap_servers) as own,
        RawRequest(own.port, "POST", path, chunked=True) as request,
    ):
        request.send_json(text("first"))
        assert request.head()[0] == 200
        assert request.line()["offset"] == 0
        own.stop()
        assert request.chunk() == b""


def test_order_of_many(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Thousands of records in one request are written and reported in their order."""
    count = 3000
    body = b"\n".join(json.dumps(text(str(number))).encode() for number in range(count))
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", body)
    reports = [json.loads(line) for line in answer.body.splitlines()]
    assert [report["offset"] for report in reports] == list(range(count))
    last = proxy.get(f"{cluster}/topics/{topic}/partitions/0/records?offset={count - 1}")
    assert last["data"][0]["value"]["data"] == count - 1


def test_limit_per_record(cluster: str, topic: str, rest_broker: Broker) -> None:
    """A record above request.max.bytes is skipped with 413; a batch above it is refused."""
    settings = {"request_max_bytes": "1000"}
    with RunningProxy(rest_broker.bootstrap_servers, **settings) as small:
        body = b"".join(json.dumps(text(data)).encode() for data in ("a", "x" * 2000, "b"))
        answer = small.ask("POST", f"{cluster}/topics/{topic}/records", body)
        reports = [json.loads(line) for line in answer.body.splitlines()]
        assert [report["error_code"] for report in reports] == [200, 413, 200]
        entries = [{"id": str(number), **text("x" * 300)} for number in range(5)]
        path = f"{cluster}/topics/{topic}/records:batch"
        answer = small.ask("POST", path, {"entries": entries})
        assert (answer.status, answer.body["error_code"]) == (413, 413)


def test_too_large_for_the_topic(
    proxy: RunningProxy, cluster: str, new_topic: Callable[..., str]
) -> None:
    """A record that the broker finds too large is 413 in its report."""
    topic = new_topic()
    path = f"{cluster}/topics/{topic}/configs/max.message.bytes"
    assert proxy.ask("PUT", path, {"value": "500"}).status == 204
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", text("x" * 1000))
    assert answer.body["error_code"] == 413


def test_a_client_that_goes_away(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """What a client had sent in full before it went away is in the log; the proxy goes on."""
    path = f"{cluster}/topics/{topic}/records"
    with RawRequest(proxy.port, "POST", path, chunked=True) as request:
        request.send_json(text("whole"))
        request.send(b'{"value":{"type":"STRING",')
    eventually(lambda: len(stored(proxy, cluster, topic)) == 1)
    assert proxy.get("/v3/clusters")["data"]


def test_batch(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Every entry has an outcome under its id: 207 with successes and failures."""
    entries = [
        {"id": "1", **text("a"), "timestamp": 1_000},
        {"id": "bad", "value": {"type": "BINARY", "data": 7}},
        {"id": "2", "key": {"type": "STRING", "data": "k"}},
        {"id": "where", "partition_id": 5, **text("b")},
    ]
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records:batch", {"entries": entries})
    assert answer.status == 207
    cluster_id = cluster.rpartition("/")[2]
    where = {"cluster_id": cluster_id, "topic_name": topic, "partition_id": 0}
    first, second = answer.body["successes"]
    value = {"type": "STRING", "size": 1}
    expected = {"id": "1", **where, "offset": 0, "timestamp": "1970-01-01T00:00:01Z"}
    assert first == expected | {"value": value}
    assert second == {**second, "id": "2", **where, "offset": 1, "key": value}
    failures = {each["id"]: each["error_code"] for each in answer.body["failures"]}
    assert failures == {"bad": 400, "where": 40403}
    assert all(each["message"] for each in answer.body["failures"])


@pytest.mark.parametrize(
    ("entries", "status", "code"),
    [
        ([], 422, 42208),
        ([{"id": "a"}, {"id": "a"}], 422, 42208),
        ([{"id": ""}], 422, 42208),
        ([{"id": "x" * 81}], 422, 42208),
        ([{"id": str(number)} for number in range(1001)], 422, 42208),
        ([{"value": None}], 400, 400),
        ({}, 400, 400),
    ],
)
def test_refused_batches(
    proxy: RunningProxy, cluster: str, topic: str, entries: Any, status: int, code: int
) -> None:
    """A batch whose ids cannot tell entries apart is refused as a whole."""
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records:batch", {"entries": entries})
    assert (answer.status, answer.body["error_code"]) == (status, code)
    assert stored(proxy, cluster, topic) == []
