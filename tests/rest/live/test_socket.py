"""Records through a WebSocket."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.rest.live.writing import values, write
from tests.rest.v3.running_proxy import TIMEOUT_S, RunningProxy, eventually


class Client:
    """Frames as Python values."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def receive(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(self.connection.recv(TIMEOUT_S))
        return frame

    def records(self) -> list[dict[str, Any]]:
        """The records of the next frame that has some."""
        while (frame := self.receive())["type"] != "records":
            assert frame["type"] == "assignment", frame
        data: list[dict[str, Any]] = frame["data"]
        return data

    def send(self, **frame: Any) -> None:
        self.connection.send(json.dumps(frame))

    def is_silent(self) -> bool:
        """Whether the server has nothing to say but an answer to a ping."""
        self.send(type="ping")
        return self.receive() == {"type": "pong"}


@contextmanager
def opened(proxy: RunningProxy, path: str) -> Iterator[Client]:
    with connect(f"ws://127.0.0.1:{proxy.port}{path}", open_timeout=TIMEOUT_S) as connection:
        yield Client(connection)


@pytest.fixture
def path(cluster: str, topic: str) -> str:
    return f"{cluster}/topics/{topic}/records:socket"


def test_records(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """The client hears its assignment, then records, old and new."""
    write(proxy, cluster, topic, "old")
    with opened(proxy, f"{path}?from=earliest") as client:
        assert client.receive() == {"type": "assignment", "partitions": [0]}
        first = client.records()
        assert values(first) == ["old"]
        assert (first[0]["offset"], first[0]["partition_id"]) == (0, 0)
        write(proxy, cluster, topic, "new")
        assert values(client.records()) == ["new"]


def test_credit(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """Without credit nothing is sent; credit and acknowledgements let as much flow again."""
    write(proxy, cluster, topic, *range(10))
    with opened(proxy, f"{path}?from=earliest&credit=0") as client:
        assert client.receive()["type"] == "assignment"
        assert client.is_silent()
        client.send(type="credit", records=2)
        assert values(client.records()) == [0, 1]
        assert client.is_silent()
        client.send(type="ack", offsets={"0": 0})
        assert values(client.records()) == [2]
        assert client.is_silent()
        client.send(type="ack", offsets={"0": 2})
        assert values(client.records()) == [3, 4]
        client.send(type="ack", offsets={"0": 2, "9": 9})
        assert client.is_silent()


def test_in_a_group(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """Only what was acknowledged is committed: the rest comes again for the next member."""
    group = f"ws-{uuid.uuid4().hex[:8]}"
    write(proxy, cluster, topic, *range(4))
    query = f"{path}?group={group}&from=earliest"
    with opened(proxy, query) as client:
        got = values(client.records())
        while len(got) < 4:
            got += values(client.records())
        client.send(type="ack", offsets={"0": 1})
        lag = f"{cluster}/consumer-groups/{group}/lags/{topic}/partitions/0"
        eventually(lambda: proxy.ask("GET", lag).status == 200)
        assert proxy.get(lag)["current_offset"] == 2
    with opened(proxy, query) as client:
        assert values(client.records())[0] == 2


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "hello",
        "[]",
        "{}",
        '{"type":"fly"}',
        '{"type":"credit"}',
        '{"type":"credit","records":0}',
        '{"type":"credit","records":1000000}',
        '{"type":"ack","offsets":[1]}',
        '{"type":"ack","offsets":{"a":1}}',
        "[" * 50_000,
        '{"type":"ping","x":"' + "x" * 70_000 + '"}',
    ],
)
def test_strange_frames(proxy: RunningProxy, path: str, frame: str) -> None:
    """A frame that is not of the protocol is answered with an error; the session goes on."""
    with opened(proxy, f"{path}?credit=0") as client:
        assert client.receive()["type"] == "assignment"
        client.connection.send(frame)
        error = client.receive()
        expected = 413 if len(frame) > 65_536 else 400
        assert (error["type"], error["error_code"]) == ("error", expected)
        assert client.is_silent()


@pytest.mark.parametrize(
    ("query", "code"),
    [("from=nowhere", 400), ("credit=-1", 400), ("partitions=5", 404), ("format=XML", 400)],
)
def test_refused(proxy: RunningProxy, path: str, query: str, code: int) -> None:
    """What cannot be read is told in a frame before the socket is closed with 1008."""
    with opened(proxy, f"{path}?{query}") as client:
        assert client.receive()["error_code"] == code
        with pytest.raises(ConnectionClosed) as closed:
            client.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


def test_unknown_topic(proxy: RunningProxy, cluster: str) -> None:
    """A topic that does not exist is told with its code."""
    with opened(proxy, f"{cluster}/topics/nothing/records:socket") as client:
        assert client.receive()["error_code"] == 40403


def test_a_client_that_goes_away(proxy: RunningProxy, path: str) -> None:
    """When the socket is closed, everything behind it is released."""
    eventually(lambda: not proxy.service.sessions)
    with opened(proxy, path) as client:
        assert client.receive()["type"] == "assignment"
        session = next(iter(proxy.service.sessions))
    assert session.has_ended.wait(10)
    eventually(lambda: not proxy.service.sessions)


def test_stopping_the_proxy(path: str, rest_broker: Any) -> None:
    """A proxy that stops tells its readers and lets them go."""
    with RunningProxy(rest_broker.bootstrap_servers) as own, opened(own, path) as client:
        assert client.receive()["type"] == "assignment"
        own.stop()
        assert client.receive()["error_code"] == 50302
        with pytest.raises(ConnectionClosed):
            client.receive()
