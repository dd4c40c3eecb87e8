"""Reads by offset and by time, with nothing kept between them."""

from __future__ import annotations

import base64
import threading
import time
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.testing import Broker
from tests.rest.live.writing import values, write
from tests.rest.v3.raw_http import RawRequest
from tests.rest.v3.running_proxy import RunningProxy, eventually


@pytest.fixture
def path(cluster: str, topic: str) -> str:
    return f"{cluster}/topics/{topic}/partitions/0/records"


def test_read_by_offset(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """The answer has the records, both ends of the log, and where to go on: number and link."""
    write(proxy, cluster, topic, 0, 1, 2, timestamp=5_000)
    answer = proxy.get(f"{path}?offset=1&max_records=1&format=json")
    assert answer == {
        "kind": "KafkaRecordList",
        "metadata": {
            "self": proxy.url + path,
            "next": f"{proxy.url}{path}?max_records=1&format=json&offset=2",
        },
        "cluster_id": cluster.rpartition("/")[2],
        "topic_name": topic,
        "partition_id": 0,
        "next_offset": 2,
        "high_watermark": 3,
        "log_start_offset": 0,
        "data": [
            {
                "partition_id": 0,
                "offset": 1,
                "timestamp": "1970-01-01T00:00:05Z",
                "headers": [],
                "key": None,
                "value": {"type": "JSON", "data": 1},
            }
        ],
    }


def test_following_the_links(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """Whoever follows `next` sees every record once and then waits at the end."""
    write(proxy, cluster, topic, *range(7))
    seen: list[Any] = []
    link = f"{path}?max_records=3&timeout_ms=0"
    for _ in range(4):
        page = proxy.get(link)
        seen += values(page["data"])
        link = page["metadata"]["next"].removeprefix(proxy.url)
    assert seen == list(range(7))
    assert (page["next_offset"], page["data"]) == (7, [])


def test_where_to_begin(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """From the beginning by default, the end, a time in milliseconds or as a date."""
    for number in range(3):
        write(proxy, cluster, topic, number, timestamp=(number + 1) * 1000)

    def read(query: str) -> list[Any]:
        return values(proxy.get(f"{path}?timeout_ms=0&{query}")["data"])

    assert read("") == read("offset=earliest") == [0, 1, 2]
    assert read("offset=latest") == []
    assert read("timestamp=1500") == read("timestamp=1970-01-01T00:00:02Z") == [1, 2]
    assert read("timestamp=9999") == []


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("offset=5", 416, 41601),
        ("offset=-3", 400, 400),
        ("offset=x", 400, 400),
        ("offset=99999999999999999999", 400, 400),
        ("offset=0&timestamp=0", 400, 400),
        ("timestamp=yesterday", 400, 400),
        ("timestamp=1900-01-01T00:00:00Z", 400, 400),
        ("format=XML", 400, 400),
        ("max_records=0", 400, 400),
        ("max_bytes=0", 400, 400),
        ("timeout_ms=99999999", 400, 400),
        ("isolation_level=none", 400, 400),
    ],
)
def test_refused(proxy: RunningProxy, path: str, query: str, status: int, code: int) -> None:
    """An offset outside of the log is 416; what cannot be understood is 400."""
    answer = proxy.ask("GET", f"{path}?{query}")
    assert (answer.status, answer.body["error_code"]) == (status, code)


def test_nothing_there(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """A topic or partition that does not exist is 40403, at once."""
    began = time.monotonic()
    for place in ("nothing/partitions/0", f"{topic}/partitions/9"):
        answer = proxy.ask("GET", f"{cluster}/topics/{place}/records?timeout_ms=30000")
        assert (answer.status, answer.body["error_code"]) == (404, 40403)
    assert time.monotonic() - began < 5


def test_waiting_for_the_first(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """A read at the end is answered as soon as something is written."""
    with RawRequest(proxy.port, "GET", f"{path}?timeout_ms=20000") as request:
        write(proxy, cluster, topic, "here")
        status, headers = request.head()
        assert status == 200
        assert b'"data":"here"' in request._input.read(int(headers["content-length"]))


def test_max_bytes(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """An answer stays below max_bytes, but always has one record."""
    write(proxy, cluster, topic, *("x" * 1000 for _ in range(5)))
    assert len(proxy.get(f"{path}?max_bytes=2500")["data"]) == 2
    page = proxy.get(f"{path}?max_bytes=1")
    assert (len(page["data"]), page["next_offset"]) == (1, 1)


def test_formats(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """AUTO tells what it found; a value of another type is BINARY with the reason."""
    raw = base64.b64encode(b"\x01\x02").decode()
    records: list[dict[str, Any]] = [
        {"value": {"type": "JSON", "data": {"a": [1]}}},
        {"value": {"type": "STRING", "data": "plain words"}},
        {"value": {"type": "BINARY", "data": raw}, "key": {"type": "STRING", "data": "k"}},
    ]
    for record in records:
        assert proxy.ask("POST", f"{cluster}/topics/{topic}/records", record).status == 200
    shown = proxy.get(path)["data"]
    assert [each["value"] for each in shown] == [record["value"] for record in records]
    as_json = proxy.get(f"{path}?value_format=json&key_format=string")["data"]
    assert as_json[0]["value"] == records[0]["value"]
    assert as_json[2]["key"] == records[2]["key"]
    assert as_json[2]["value"]["data"] == raw
    assert as_json[2]["value"]["error"].startswith("not JSON")


def test_what_was_read_can_be_written(
    proxy: RunningProxy, cluster: str, topic: str, path: str
) -> None:
    """A record has the shape in which it can be produced again, headers and time included."""
    record = {
        "headers": [{"name": "h", "value": "AAE="}],
        "key": {"type": "STRING", "data": "k"},
        "value": {"type": "JSON", "data": {"a": 1.5}},
        "timestamp": "2024-02-29T12:00:00.5Z",
    }
    assert proxy.ask("POST", f"{cluster}/topics/{topic}/records", record).status == 200
    first = proxy.get(path)["data"][0]
    assert proxy.ask("POST", f"{cluster}/topics/{topic}/records", first).body["offset"] == 1
    second = proxy.get(f"{path}?offset=1")["data"][0]
    assert second == first | {"offset": 1}


def test_transactions(proxy: RunningProxy, topic: str, path: str, rest_broker: Broker) -> None:
    """Aborted records and markers are passed over; read_uncommitted shows the former."""
    producer = Producer(
        {
            "bootstrap.servers": rest_broker.bootstrap_servers,
            "transactional.id": topic,
        }
    )
    producer.init_transactions()
    for value, is_kept in ((b'"kept"', True), (b'"lost"', False), (b'"last"', True)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush()
        if is_kept:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    page = proxy.get(f"{path}?timeout_ms=0")
    assert (values(page["data"]), page["next_offset"]) == (["kept", "last"], 6)
    page = proxy.get(f"{path}?isolation_level=read_uncommitted&timeout_ms=0")
    assert values(page["data"]) == ["kept", "lost", "last"]
    page = proxy.get(f"{path}?offset=1&max_records=1&timeout_ms=0")
    assert (values(page["data"]), page["next_offset"]) == (["last"], 5)


def test_many_who_wait(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """More readers wait than there are threads, and each of them gets its answer."""
    answers: list[Any] = []

    def read() -> None:
        answers.append(proxy.get(f"{path}?timeout_ms=15000")["data"])

    readers = [threading.Thread(target=read) for _ in range(24)]
    for reader in readers:
        reader.start()
    write(proxy, cluster, topic, "for all")
    for reader in readers:
        reader.join(20)
    assert [values(data) for data in answers] == [["for all"]] * 24


def test_a_reader_that_goes_away(proxy: RunningProxy, path: str) -> None:
    """A read that waits lets its thread go soon after its client has gone."""
    with RawRequest(proxy.port, "GET", f"{path}?timeout_ms=30000"):
        calls = proxy.service.reads
        eventually(lambda: calls._under_way)
    eventually(lambda: not calls._under_way, 5)
