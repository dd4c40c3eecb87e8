"""Records as requests: bodies, batches, and what an answer means for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.pipelines.connect.connectors.http.sink import HttpSink
from headrace.pipelines.connect.faults import ConfigException, ConnectException, RetriableException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import nothing, of_values
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.killing import eventually, killable
from tests.pipelines.connect.connectors.stand_in import Answer, Request, StandIn, stand_in
from tests.pipelines.connect.worker.running import Worker, messages, write

Start = Callable[..., Worker]


class Service:
    """Answers as it is asked to, and with 200 after that."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def __call__(self, request: Request) -> Answer:
        return self.answers.pop(0) if self.answers else Answer()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def server(service: Service) -> Iterator[StandIn]:
    with stand_in(service) as running:
        yield running


def sink(server: StandIn, path: str = "/", **settings: str) -> ConnectHarness:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    usual = {"http.api.url": server.url + path, "retry.backoff.ms": "1"}
    return ConnectHarness(HttpSink, usual | given)


def asked(server: StandIn) -> list[tuple[str, str, bytes]]:
    return [(each.method, each.path, each.body) for each in server.requests]


def test_a_request_for_each_record(server: StandIn) -> None:
    with sink(server, "/in") as harness:
        harness.put(["plain", b"raw", {"id": 1, "tags": ["a"]}, None])
    assert asked(server) == [
        ("POST", "/in", b"plain"),
        ("POST", "/in", b"raw"),
        ("POST", "/in", b'{"id":1,"tags":["a"]}'),
    ]


def test_batches(server: StandIn) -> None:
    with sink(server, batch_max_size="2", batch_json_as_array="true") as harness:
        harness.put([{"n": 1}, "two", {"n": 3}])
    with sink(server, batch_max_size="9", batch_prefix="<", batch_suffix=">") as harness:
        harness.put(["a", "b"])
    bodies = [each.body for each in server.requests]
    assert bodies == [b'[{"n":1},"two"]', b'[{"n":3}]', b"<a,b>"]


def test_topic_and_key_in_the_address(server: StandIn) -> None:
    more = {"batch_max_size": "5", "behavior_on_null_values": "delete", "request_method": "PUT"}
    with sink(server, "/${topic}/${key}", **more) as harness:
        harness.put(["a", "b", "c", None], topic="t", keys=["x y", "x y", 7, 7])
    assert asked(server) == [
        ("PUT", "/t/x%20y", b"a,b"),
        ("PUT", "/t/7", b"c"),
        ("DELETE", "/t/7", b""),
    ]


def test_headers(server: StandIn) -> None:
    said = {"headers": "Content-Type: text/x|X-One:1", "auth_type": "basic"}
    with sink(server, connection_user="me", connection_password="pw", **said) as harness:
        harness.put(["a"])
    with sink(server, auth_type="BEARER", bearer_token="t0k") as harness:
        harness.put(["a"])
    first, second = (each.headers for each in server.requests)
    assert (first["Content-Type"], first["X-One"]) == ("text/x", "1")
    assert first["Authorization"] == "Basic bWU6cHc="
    assert second["Authorization"] == "Bearer t0k"


def test_an_answer_that_is_retried(server: StandIn, service: Service) -> None:
    """What was answered before is not sent again; what was refused is still reported."""
    service.answers = [Answer(), Answer(400, b"no such thing"), Answer(503)]
    with sink(server) as harness:
        with pytest.raises(RetriableException, match="503"):
            harness.put(["a", "b", "c"])
        harness.put(["a", "b", "c"])
    assert [each.body for each in server.requests] == [b"a", b"b", b"c", b"c"]
    assert list(harness.refused) == [1]
    assert "answered with 400: no such thing" in harness.refused[1]


def test_topics_that_a_transform_has_made_one(server: StandIn, service: Service) -> None:
    """Offsets of two topics are no places in one: a record with a lower offset is another one."""
    with sink(server) as harness:
        task = harness._running
        assert isinstance(task, HttpSink)
        task.assigned([("a", 0), ("b", 0)])
        task.put(batch("merged", 10, "from a"))
        task.put(batch("merged", 3, "from b"))
        service.answers = [Answer(400), Answer(503)]
        with pytest.raises(RetriableException):
            task.put(batch("merged", 11, "bad", "later"))
        task.put(batch("merged", 5, "also b"))
    bodies = [each.body for each in server.requests]
    assert bodies == [b"from a", b"from b", b"bad", b"later", b"also b"]


def batch(topic: str, first: int, *values: str) -> Batch:
    rows = len(values)
    offsets = pa.array(range(first, first + rows), pa.int64())
    return Batch(topic, nothing(rows), of_values(None, values), offsets, partition=0)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirection_is_no_success(server: StandIn, service: Service, status: int) -> None:
    """The record was not taken where it was sent, and credentials are not sent elsewhere."""
    service.answers = [Answer(status, headers={"Location": server.url + "/elsewhere"})]
    with sink(server, "/here") as harness:
        harness.put(["a"])
    told = f"is redirected to {server.url}/elsewhere: set http.api.url to where it is now"
    assert told in harness.refused[0]
    assert [each.path for each in server.requests] == ["/here"]


def test_credentials_in_an_address_are_not_told(server: StandIn, service: Service) -> None:
    service.answers = [Answer(400)]
    address = server.url.replace("//", "//me:s3cret@")
    with ConnectHarness(HttpSink, {"http.api.url": address + "/x"}) as harness:
        harness.put(["a"])
    assert "127.0.0.1" in harness.refused[0]
    assert "s3cret" not in harness.refused[0]


def test_retries_end(server: StandIn, service: Service) -> None:
    service.answers = [Answer(418)] * 9
    with sink(server, max_retries="1", retry_on_status_codes="410-420,500-") as harness:
        with pytest.raises(RetriableException):
            harness.put(["a"])
        with pytest.raises(ConnectException, match=r"max\.retries=1"):
            harness.put(["a"])


def test_a_record_that_cannot_be_json(server: StandIn) -> None:
    """It is refused; those beside it are sent."""
    with sink(server) as harness:
        harness.put(["a", {"at": object()}, "c"])
    assert list(harness.refused) == [1]
    assert [each.body for each in server.requests] == [b"a", b"c"]


def test_a_record_without_a_value_can_fail(server: StandIn) -> None:
    with sink(server, behavior_on_null_values="fail") as harness:
        harness.put(["a", None])
    assert list(harness.refused) == [1]


def test_a_server_that_hangs() -> None:
    released = threading.Event()

    def hang(request: Request) -> Answer:
        released.wait(60)
        return Answer()

    with stand_in(hang) as server:
        with (
            sink(server, http_request_timeout_ms="100") as harness,
            pytest.raises(RetriableException, match="has no answer"),
        ):
            harness.put(["a"])
        released.set()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"http.api.url": "localhost"}, "http://"),
        ({"headers": "nothing"}, "Name:value"),
        ({"retry.on.status.codes": "4xx"}, "500-504"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigException, match=reason):
        ConnectHarness(HttpSink, {"http.api.url": "http://x"} | settings)


def test_through_a_worker(start: Start, bootstrap: str, topic: str, server: StandIn) -> None:
    """A refused record goes to the dead letter queue."""
    write(bootstrap, topic, b"one", b"two")
    start(
        {
            "name": topic,
            "connector.class": "io.confluent.connect.http.HttpSinkConnector",
            "topics": topic,
            "http.api.url": f"{server.url}/${{topic}}",
        }
    )
    eventually(lambda: len(server.requests) == 2)
    assert {each.path for each in server.requests} == {f"/{topic}"}


@pytest.mark.thorough
def test_killed_and_started_again(
    bootstrap: str, tmp_path: Path, topic: str, server: StandIn
) -> None:
    write(bootstrap, topic, *(b'{"n":%d}' % number for number in range(30)))
    messages(bootstrap, topic, 30)
    settings = {
        "topics": topic,
        "http.api.url": server.url,
        "consumer.override.auto.offset.reset": "earliest",
    }
    with killable(bootstrap, tmp_path, "HttpSink", settings) as kill:
        eventually(lambda: len(server.requests) >= 3)
        kill()
    with killable(bootstrap, tmp_path, "HttpSink", settings):
        eventually(lambda: {json.loads(each.body)["n"] for each in server.requests} == {*range(30)})
