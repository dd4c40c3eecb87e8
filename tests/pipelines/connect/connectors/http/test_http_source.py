"""Answers as records: how each mode moves on, rests, and goes on after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from headrace.pipelines.connect.connectors.http.source import HttpSource
from headrace.pipelines.connect.faults import (
    ConfigException,
    ConnectException,
    DataException,
    RetriableException,
)
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.killing import killable
from tests.pipelines.connect.connectors.stand_in import Answer, Request, stand_in
from tests.pipelines.connect.worker.running import Worker, messages

Start = Callable[..., Worker]
ITEMS = [{"id": number, "name": f"n{number}"} for number in range(1, 8)]


def query(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}


def answer(value: object) -> Answer:
    return Answer(body=json.dumps(value).encode())


def source(url: str, **settings: str) -> ConnectHarness:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    usual = {
        "http.api.url": url,
        "topic.name.pattern": "t",
        "http.timer.interval": "1",
        "retry.backoff.ms": "1",
    }
    return ConnectHarness(HttpSource, usual | given)


def ids(rows: list[object]) -> list[object]:
    return [row["id"] for row in rows]  # type: ignore[index]


def test_incrementing() -> None:
    items = ITEMS[:3]

    def serve(request: Request) -> Answer:
        return answer({"data": items[int(query(request)["skip"]) :][:2]})

    with (
        stand_in(serve) as server,
        source(f"{server.url}/x?skip=${{offset}}", http_response_data_json_pointer="/data") as it,
    ):
        assert ids(it.poll()) == [1, 2]
        assert ids(it.poll()) == [3]
        it.restart()
        assert it.poll() == []
        items.append({"id": 9})
        it.restart()
        assert ids(it.poll()) == [9]
        assert it.offsets[-1] == (
            {"url": f"{server.url}/x?skip=${{offset}}"},
            {"offset": "4", "read": 0},
        )


def test_chaining() -> None:
    def serve(request: Request) -> Answer:
        after = query(request)["after"]
        later = [each for each in ITEMS if int(str(each["id"])) >= int(after)]
        return answer(later[:3])

    settings = {
        "http.offset.mode": "CHAINING",
        "http.initial.offset": "1",
        "http.offset.json.pointer": "/id",
    }
    with stand_in(serve) as server:
        url = f"{server.url}/?after=${{offset}}"
        with source(url, **settings) as it:
            assert ids(it.poll()) == [1, 2, 3]
            assert ids(it.poll()) == [3, 4, 5]  # this interface begins with the offset itself
            it.restart()
            assert ids(it.poll()) == [5, 6, 7]
            assert it.poll() == []  # it moves no further


def test_pages() -> None:
    """The last page is read again, and only what is new on it counts."""
    pages: dict[str, dict[str, object]] = {
        "": {"items": ITEMS[:2], "next": {"cursor": "p2"}},
        "p2": {"items": ITEMS[2:4], "next": {"cursor": None}},
    }

    def serve(request: Request) -> Answer:
        return answer(pages[query(request).get("page", "")])

    settings = {
        "http.offset.mode": "CURSOR_PAGINATION",
        "http.next.page.json.pointer": "/next/cursor",
        "http.response.data.json.pointer": "/items",
    }
    with stand_in(serve) as server, source(f"{server.url}/?page=${{offset}}", **settings) as it:
        assert ids(it.poll()) == [1, 2]
        assert ids(it.poll()) == [3, 4]
        it.restart()
        assert it.poll() == []
        pages["p2"] = {"items": ITEMS[2:5], "next": {"cursor": "p3"}}
        pages["p3"] = {"items": ITEMS[5:6]}
        it.restart()
        assert ids(it.poll()) == [5]
        assert ids(it.poll()) == [6]


def test_whole_addresses_as_cursors() -> None:
    def serve(request: Request) -> Answer:
        if request.path == "/first":
            return answer({"items": [1], "next": "/second?x=y"})
        assert request.path == "/second?x=y"
        return answer({"items": {"id": 2}})

    settings = {
        "http.offset.mode": "CURSOR_PAGINATION",
        "http.next.page.json.pointer": "/next",
        "http.response.data.json.pointer": "/items",
    }
    with stand_in(serve) as server, source(f"{server.url}/first", **settings) as it:
        assert it.poll() == [1]
        assert it.poll() == [{"id": 2}]


def test_bodies_and_faults() -> None:
    answers = [Answer(503), Answer(body=b"no JSON"), Answer(404, b"gone"), Answer(body=b"")]

    with stand_in(lambda request: answers.pop(0)) as server:
        more = {"http.request.method": "POST", "http.request.body": '{"from":${offset}}'}
        with source(server.url, **more) as it:
            with pytest.raises(RetriableException, match="503"):
                it.poll()
            with pytest.raises(DataException, match="not JSON"):
                it.poll()
            with pytest.raises(ConnectException, match="404: gone"):
                it.poll()
            assert it.poll() == []
        assert {each.body for each in server.requests} == {b'{"from":0}'}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"topic.name.pattern": ""}, "the topic to write to"),
        ({"http.offset.mode": "CHAINING"}, "needs http.offset.json.pointer"),
        ({"http.offset.mode": "CURSOR_PAGINATION"}, "needs http.next.page.json.pointer"),
        ({"http.response.data.json.pointer": "data"}, "begins with /"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigException, match=reason):
        source("http://x", **settings)


@pytest.mark.thorough
def test_killed_and_started_again(bootstrap: str, tmp_path: Path, topic: str) -> None:
    def serve(request: Request) -> Answer:
        first = int(query(request)["skip"])
        return answer([{"id": number} for number in range(first, min(first + 3, 60))])

    with stand_in(serve) as server:
        settings = {
            "http.api.url": f"{server.url}/?skip=${{offset}}",
            "kafka.topic": topic,
            "http.timer.interval": "20",
        }
        with killable(bootstrap, tmp_path, "HttpSource", settings) as kill:
            messages(bootstrap, topic, 3)
            kill()
        with killable(bootstrap, tmp_path, "HttpSource", settings):
            found = messages(bootstrap, topic, 60)
            wanted = {b'{"id":%d}' % number for number in range(60)}
            while {each.value() for each in found} != wanted:
                found = messages(bootstrap, topic, len(found) + 1)


def test_through_a_worker(start: Start, bootstrap: str, topic: str) -> None:
    with stand_in(lambda request: answer(ITEMS[int(query(request)["skip"]) :])) as server:
        start(
            {
                "name": topic,
                "connector.class": "io.confluent.connect.http.HttpSourceConnector",
                "http.api.url": f"{server.url}/?skip=${{offset}}",
                "topic.name.pattern": topic,
                "value.converter": "org.apache.kafka.connect.json.JsonConverter",
                "value.converter.schemas.enable": "false",
            }
        )
        first = messages(bootstrap, topic, 7)[0]
        assert first.value() == b'{"id":1,"name":"n1"}'


CURSORS = {
    "http.offset.mode": "CURSOR_PAGINATION",
    "http.next.page.json.pointer": "/next",
    "http.response.data.json.pointer": "/items",
}


def test_a_cursor_that_only_looks_like_a_path() -> None:
    """A token of base64 may begin with a slash: where ${offset} is, cursors go there."""

    def serve(request: Request) -> Answer:
        first = query(request).get("page", "") == ""
        return answer({"items": [1], "next": "/t0+k=="} if first else {"items": [2]})

    with stand_in(serve) as server, source(f"{server.url}/?page=${{offset}}", **CURSORS) as it:
        assert it.poll() == [1]
        assert it.poll() == [2]
    assert query(server.requests[1]) == {"page": "/t0+k=="}


def test_credentials_are_not_in_offsets() -> None:
    """They are read by whoever may read the offsets topic or the REST interface."""
    with stand_in(lambda request: answer(ITEMS[int(query(request)["skip"]) :])) as server:
        host = server.url.removeprefix("http://")
        with source(f"http://me:s3cret@{host}/?skip=${{offset}}") as it:
            assert ids(it.poll()) == [1, 2, 3, 4, 5, 6, 7]
            assert it.offsets == [
                ({"url": f"http://{host}/?skip=${{offset}}"}, {"offset": "7", "read": 0})
            ]
            it._kept = [({"url": f"http://me:s3cret@{host}/?skip=${{offset}}"}, {"offset": "5"})]
            it.restart()  # with an offset that is kept as it was before
            assert ids(it.poll()) == [6, 7]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_credentials_are_for_one_server(host: str) -> None:
    """An answer may lead to any address, but not with what was meant for ours: not even to another
    port of the same host."""
    with stand_in(lambda request: answer({"items": [2]})) as other:
        elsewhere = other.url.replace("127.0.0.1", host) + "/second"
        more = {"auth.type": "BEARER", "bearer.token": "t0k", "headers": "X-Key:k"}
        with (
            stand_in(lambda request: answer({"items": [1], "next": elsewhere})) as server,
            source(f"{server.url}/first", **CURSORS, **more) as it,
        ):
            assert it.poll() == [1]
            assert it.poll() == [2]
    assert server.requests[0].headers["Authorization"] == "Bearer t0k"
    assert {"Authorization", "X-Key"} & {*other.requests[0].headers} == set()
