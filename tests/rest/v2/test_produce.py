"""POST /topics/{t} and …/partitions/{p} in the formats that need no schema."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.testing import Broker
from tests.rest.reading import read_all
from tests.rest.service import V2, Service, embedded, error_of

BINARY = embedded("binary")
JSON = embedded("json")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.spec("slides:J01", "book2:F-01")
def test_binary_records_arrive_as_they_are(proxy: Service, rest_broker: Broker, topic: str) -> None:
    """Base64 of any bytes; null keys and values stay null; Confluent's answer."""
    records = [{"key": b64(b"k\x00"), "value": b64(bytes(range(256)))}, {"value": None}]
    reply = proxy.post(f"/topics/{topic}", {"records": records}, content_type=BINARY)
    assert reply.status == 200
    assert reply.headers["content-type"] == V2
    assert reply.text == (
        '{"offsets":[{"partition":0,"offset":0,"error_code":null,"error":null},'
        '{"partition":0,"offset":1,"error_code":null,"error":null}],'
        '"key_schema_id":null,"value_schema_id":null}'
    )
    first, second = read_all(rest_broker, topic, 2)
    assert (first.key(), first.value()) == (b"k\x00", bytes(range(256)))
    assert (second.key(), second.value()) == (None, None)


def test_json_records_are_written_compactly(
    proxy: Service, rest_broker: Broker, topic: str
) -> None:
    """Any JSON value, numbers untouched, white space dropped; null is a tombstone."""
    body = (
        b'{"records": [ {"key": "k", "value": { "a" : [ 1.50, 12345678901234567890123 ] } },'
        b' {"key": 7, "value": null}, {"value": "\\u00e9"} ]}'
    )
    assert proxy.post(f"/topics/{topic}", body, content_type=JSON).status == 200
    found = [(each.key(), each.value()) for each in read_all(rest_broker, topic, 3)]
    assert found == [
        (b'"k"', b'{"a":[1.50,12345678901234567890123]}'),
        (b"7", None),
        (None, b'"\\u00e9"'),
    ]


def test_headers_and_timestamps_are_sent(proxy: Service, rest_broker: Broker, topic: str) -> None:
    """Additions to version 2: headers in base64, their order and doubles kept; milliseconds."""
    headers = [
        {"name": "h", "value": b64(b"1")},
        {"name": "h", "value": b64(b"\xff")},
        {"name": "none"},
    ]
    record = {"value": 1, "headers": headers, "timestamp": 1700000000123}
    assert proxy.post(f"/topics/{topic}", {"records": [record]}, content_type=JSON).status == 200
    (found,) = read_all(rest_broker, topic, 1)
    assert found.headers() == [("h", b"1"), ("h", b"\xff"), ("none", None)]
    assert found.timestamp()[1] == 1700000000123


def test_records_choose_their_partitions(proxy: Service, new_topic: Callable[..., str]) -> None:
    """By number, and by key as the Java client hashes it (murmur2)."""
    name = new_topic(partitions=4)
    records: list[dict[str, object]] = [{"partition": each, "value": 1} for each in (3, 0, 2)]
    records += [{"key": "a", "value": 1}, {"key": "b", "value": 1}]
    reply = proxy.post(f"/topics/{name}", {"records": records}, content_type=JSON)
    chosen = [each["partition"] for each in reply.json["offsets"]]
    assert chosen[:3] == [3, 0, 2]
    again = proxy.post(f"/topics/{name}", {"records": records[3:]}, content_type=JSON)
    assert [each["partition"] for each in again.json["offsets"]] == chosen[3:]


def test_a_partition_of_the_path_takes_all_records(
    proxy: Service, new_topic: Callable[..., str]
) -> None:
    """POST …/partitions/{p}; its offsets count on."""
    name = new_topic(partitions=2)
    for expected in (0, 2):
        reply = proxy.post(
            f"/topics/{name}/partitions/1",
            {"records": [{"value": 1}, {"value": 2}]},
            content_type=JSON,
        )
        assert [(each["partition"], each["offset"]) for each in reply.json["offsets"]] == [
            (1, expected),
            (1, expected + 1),
        ]


def test_one_bad_record_is_told_in_its_place(proxy: Service, topic: str) -> None:
    """Status 200, the others are in the log, and the fault stands in offsets[]."""
    records = [{"value": 1}, {"value": 2, "partition": 9}, {"value": 3}]
    reply = proxy.post(f"/topics/{topic}", {"records": records}, content_type=JSON)
    assert reply.status == 200
    first, bad, last = reply.json["offsets"]
    assert (first["offset"], last["offset"]) == (0, 1)
    assert (bad["partition"], bad["offset"], bad["error_code"]) == (None, None, 50002)
    assert "nknown partition" in bad["error"]


def test_a_record_that_is_too_large_is_told_in_its_place(
    proxy: Service, new_topic: Callable[..., str]
) -> None:
    """What the broker refuses comes back as 50002 for that record alone."""
    name = new_topic(config={"max.message.bytes": "1000"})
    records = [{"value": "x" * 5000}]
    reply = proxy.post(f"/topics/{name}", {"records": records}, content_type=JSON)
    assert reply.status == 200
    (bad,) = reply.json["offsets"]
    assert (bad["offset"], bad["error_code"]) == (None, 50002)


def test_40401_and_40402_where_no_record_can_be(proxy: Service, topic: str) -> None:
    """The topic or the partition of the path does not exist."""
    body = {"records": [{"value": 1}]}
    missing = proxy.post("/topics/no-such-topic", body, content_type=JSON)
    assert error_of(missing) == (404, 40401, "Topic not found.")
    for partition in ("7", "x", "-1"):
        path = f"/topics/{topic}/partitions/{partition}"
        assert error_of(proxy.post(path, body, content_type=JSON)) == (
            404,
            40402,
            "Partition not found.",
        )


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/vnd.kafka.xml.v2+json",
        "application/vnd.kafka.binary.v9+json",
        "application/vnd.kafka.protobuf.v1+json",
        "",
        None,
    ],
)
def test_415_for_types_that_are_not_the_proxys(
    proxy: Service, topic: str, content_type: str | None
) -> None:
    """Also without any type."""
    reply = proxy.post(f"/topics/{topic}", b'{"records":[]}', content_type=content_type)
    status, code, message = error_of(reply)
    assert (status, code) == (415, 415)
    assert message.startswith("HTTP 415 Unsupported Media Type")


def test_a_type_may_have_parameters_and_capitals(proxy: Service, topic: str) -> None:
    """Media types are compared as HTTP says; without a format version 2 means binary."""
    body = {"records": [{"value": "QQ=="}]}
    for content_type in (
        "Application/VND.kafka.Binary.v2+json; charset=utf-8",
        "application/vnd.kafka.v2+json",
    ):
        assert proxy.post(f"/topics/{topic}", body, content_type=content_type).status == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, 400),
        (b"{", 400, 400),
        (b'{"records":[{"value":1}]} x', 400, 400),
        (b'{"records":[{"value":"\xff"}]}', 400, 400),
        (b'{"records":[{"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}", 400, 400),
        (b"[]", 400, 400),
        (b"{}", 422, 422),
        (b'{"records":null}', 422, 422),
        (b'{"records":[]}', 422, 422),
        (b'{"records":{}}', 400, 400),
        (b'{"records":[1]}', 400, 400),
        (b'{"records":[{"value":1,"partition":-1}]}', 422, 422),
        (b'{"records":[{"value":1,"partition":99999999999}]}', 422, 422),
        (b'{"records":[{"value":1,"partition":"zero"}]}', 400, 400),
        (b'{"records":[{"value":1,"timestamp":"now"}]}', 400, 400),
        (b'{"records":[{"value":1,"timestamp":-1}]}', 422, 422),
        (b'{"records":[{"value":1,"timestamp":9223372036854775808}]}', 422, 422),
        (b'{"records":[{"value":1,"headers":[{"value":"QQ=="}]}]}', 422, 422),
        (b'{"records":[{"value":1}],"value_schema_id":-5}', 422, 422),
    ],
)
def test_bodies_that_are_wrong_are_told_so(
    proxy: Service, topic: str, body: bytes, status: int, code: int
) -> None:
    """400 for what is no JSON or of another type, 422 for what is missing or too large."""
    reply = proxy.post(f"/topics/{topic}", body, content_type=JSON)
    assert error_of(reply)[:2] == (status, code)
    assert proxy.get(f"/topics/{topic}/partitions/0/offsets").json["end_offset"] == 0


def test_an_unknown_field_is_named(proxy: Service, topic: str) -> None:
    """422 with the field, as a misspelt one would otherwise be lost."""
    body = {"records": [{"value": 1, "valeu": 2}]}
    reply = proxy.post(f"/topics/{topic}", body, content_type=JSON)
    assert error_of(reply) == (422, 422, "Unrecognized field: valeu")


@pytest.mark.parametrize("value", ["***", "QQ", "QQ=", "Q Q=", 5, True, {}])
def test_400_for_what_is_no_base64(proxy: Service, topic: str, value: object) -> None:
    """Binary keys, values and headers alike; the place is named."""
    header = [{"name": "h", "value": value}]
    for record in ({"value": value}, {"key": value}, {"value": "QQ==", "headers": header}):
        reply = proxy.post(f"/topics/{topic}", {"records": [record]}, content_type=BINARY)
        status, code, message = error_of(reply)
        assert (status, code) == (400, 400)
        assert message.startswith("Bad Request: ")
        assert "$.records[0]" in message


def test_a_body_of_ten_megabytes_with_many_records(proxy: Service, topic: str) -> None:
    """Large bodies below the limit are sent, in order."""
    records = [{"value": f"{number:06}" + "x" * 1000} for number in range(10_000)]
    reply = proxy.post(f"/topics/{topic}", {"records": records}, content_type=JSON)
    assert reply.status == 200
    assert [each["offset"] for each in reply.json["offsets"]] == list(range(10_000))


def test_order_within_a_partition_is_kept(proxy: Service, rest_broker: Broker, topic: str) -> None:
    """Clients that send at once: the records of each stand in the order it sent them."""

    def send(client: int) -> None:
        for first in range(0, 100, 5):
            records = [{"value": [client, first + step]} for step in range(5)]
            reply = proxy.post(f"/topics/{topic}", {"records": records}, content_type=JSON)
            assert all(each["error_code"] is None for each in reply.json["offsets"])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(send, range(4)))
    seen = [json.loads(each.value() or b"") for each in read_all(rest_broker, topic, 400)]
    for client in range(4):
        assert [number for each, number in seen if each == client] == list(range(100))


def test_numbers_may_be_strings(
    proxy: Service, rest_broker: Broker, new_topic: Callable[..., str]
) -> None:
    """`"partition": "1"` is the number 1, as in the JVM's proxy; the base64 `null` is data."""
    name = new_topic(partitions=2)
    body = {"records": [{"value": "null", "partition": "1"}], "value_schema_id": "7"}
    reply = proxy.post(f"/topics/{name}", body, content_type=BINARY)
    assert (reply.json["offsets"][0]["partition"], reply.json["value_schema_id"]) == (1, 7)
    assert [record.value() for record in read_all(rest_broker, name, 1, partition=1)] == [
        b"\x9e\xe9e"
    ]
