"""Records into a real Redis and out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import redis

from headrace.pipelines.connect.connectors.redis.sink import KcqlRedisSink, RedisSink
from headrace.pipelines.connect.connectors.redis.source import RedisStreamSource
from headrace.pipelines.connect.faults import ConfigException, ConnectException, RetriableException
from headrace.pipelines.connect.model import schema as schemas
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.killing import eventually, killable
from tests.pipelines.connect.worker.running import Worker, messages, write
from tests.servers.redis import redis_server
from tests.servers.server import HOST, Server, free_port

Start = Callable[..., Worker]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with redis_server() as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    made = redis.Redis(HOST, server.port, decode_responses=True)
    made.flushall()
    yield made
    made.close()


def hosts(server: Server, **more: str) -> dict[str, str]:
    return {"redis.hosts": f"{HOST}:{server.port}", **more}


def kcql(server: Server, text: str) -> Mapping[str, str]:
    return {
        "connect.redis.host": HOST,
        "connect.redis.port": str(server.port),
        "connect.redis.kcql": text,
    }


def test_keys_are_set_and_deleted(server: Server, client: redis.Redis) -> None:
    with ConnectHarness(RedisSink, hosts(server)) as harness:
        rows = ["one", b"raw", {"n": 3}, "gone", None, "no key"]
        harness.put(rows, keys=["a", "b", b"c", "d", "d", None])
    assert {key: client.get(key) for key in client.keys()} == {  # noqa: SIM118 a command
        "a": "one",
        "b": "raw",
        "c": '{"n":3}',
    }
    assert harness.refused == {5: "the record has no key to be set under"}


def test_another_database(server: Server, client: redis.Redis) -> None:
    with ConnectHarness(RedisSink, hosts(server) | {"redis.database": "3"}) as harness:
        harness.put(["one"], keys=["a"])
    assert client.get("a") is None
    with redis.Redis(HOST, server.port, db=3, decode_responses=True) as other:
        assert other.get("a") == "one"


def test_statements(server: Server, client: redis.Redis) -> None:
    text = (
        "INSERT INTO user: SELECT id, at.city AS city FROM people PK id, name TTL=1000; "
        "INSERT INTO all SELECT * FROM listed STOREAS LIST;"
        "INSERT INTO events SELECT * FROM streamed STOREAS STREAM"
    )
    schema = schemas.struct({"id": schemas.INT32, "ok": schemas.BOOLEAN})
    with ConnectHarness(KcqlRedisSink, kcql(server, text)) as harness:
        person = {"id": 7, "name": "Ada", "at": {"city": "Bern"}}
        harness.put([person, {"id": 8}], topic="people")
        harness.put([{"n": 1}, "two", None], topic="listed")
        harness.put([{"id": 1, "ok": True}], topic="streamed", schema=schema)
        harness.put(["plain"], topic="streamed")
        with pytest.raises(ConnectException, match="no statement with FROM other"):
            harness.put(["x"], topic="other")
    assert client.get("user:7-Ada") == '{"id":7,"city":"Bern"}'
    assert 0 < client.ttl("user:7-Ada") <= 1000
    assert client.lrange("all", 0, -1) == ['{"n":1}', "two"]
    entries = [fields for _, fields in client.xrange("events")]  # type: ignore[union-attr]
    assert entries == [{"id": "1", "ok": "true"}, {"value": "plain"}]
    assert list(harness.refused) == [1]


def test_what_the_server_does_not_take(server: Server, client: redis.Redis) -> None:
    client.set("text", "x")
    text = "INSERT INTO text SELECT * FROM topic STOREAS LIST"
    with ConnectHarness(KcqlRedisSink, kcql(server, text)) as harness:
        harness.put(["a"])
    assert "WRONGTYPE" in harness.refused[0]


def test_a_server_that_takes_no_writes_now(server: Server, client: redis.Redis) -> None:
    """What it says of each command is not about the command: nothing is refused for good."""
    client.config_set("min-replicas-to-write", 1)
    try:
        with ConnectHarness(RedisSink, hosts(server)) as harness:
            with pytest.raises(RetriableException, match="NOREPLICAS"):
                harness.put(["one"], keys=["a"])
            client.config_set("min-replicas-to-write", 0)
            harness.put(["one"], keys=["a"])
    finally:
        client.config_set("min-replicas-to-write", 0)
    assert harness.refused == {}
    assert client.get("a") == "one"


def test_streams_are_read(server: Server, client: redis.Redis) -> None:
    for number in range(3):
        client.xadd("s1", {"n": str(number)})
    settings = hosts(server) | {"redis.stream.name": "s1,s2", "topic": "redis-${stream}"}
    with ConnectHarness(RedisStreamSource, settings) as harness:
        rows = harness.poll()
        assert [row["body"] for row in rows] == [{"n": "0"}, {"n": "1"}, {"n": "2"}]  # type: ignore[index]
        assert harness.batches[0].topic == "redis-s1"
        harness.restart()
        assert harness.poll() == []
        added = client.xadd("s2", {"a": "ü"})
        assert harness.poll() == [{"id": added, "stream": "s2", "body": {"a": "ü"}}]
        assert harness.batches[1].key.to_values() == [added]


def test_from_now_on(server: Server, client: redis.Redis) -> None:
    client.xadd("late", {"n": "before"})
    settings = hosts(server) | {"redis.stream.name": "late", "redis.stream.offset": "$"}
    with ConnectHarness(RedisStreamSource, settings) as harness:
        assert harness.poll() == []
        client.xadd("late", {"n": "after"})
        assert [row["body"] for row in harness.poll()] == [{"n": "after"}]  # type: ignore[index]


def test_faults(server: Server, client: redis.Redis) -> None:
    gone = {"redis.hosts": f"{HOST}:{free_port()}"}
    with (
        ConnectHarness(RedisSink, gone) as harness,
        pytest.raises(RetriableException, match="cannot serve now"),
    ):
        harness.put(["x"], keys=["k"])
    with (
        ConnectHarness(RedisStreamSource, gone | {"redis.stream.name": "s"}) as harness,
        pytest.raises(RetriableException, match="cannot serve now"),
    ):
        harness.poll()
    client.config_set("requirepass", "right")
    try:
        for more, reason in (({"redis.password": "wrong"}, "check the password"), ({}, "password")):
            with (
                ConnectHarness(RedisSink, hosts(server) | more) as harness,
                pytest.raises(ConnectException, match=reason),
            ):
                harness.put(["x"], keys=["k"])
    finally:
        client.config_set("requirepass", "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("INSERT INTO a SELECT * FROM b STOREAS Tree", "CACHE, LIST, STREAM"),
        ("INSERT INTO a SELECT * FROM b TTL=soon", "number of seconds"),
        ("SELECT * FROM b STOREAS LIST", "INSERT INTO key is missing"),
    ],
)
def test_statements_that_cannot_be(text: str, reason: str) -> None:
    with pytest.raises(ConfigException, match=reason):
        ConnectHarness(KcqlRedisSink, {"connect.redis.host": "x", "connect.redis.kcql": text})


def test_addresses_that_cannot_be() -> None:
    with pytest.raises(ConfigException, match="host:6379"):
        ConnectHarness(RedisSink, {"redis.hosts": "x:y"})
    with pytest.raises(ConfigException, match="name of a stream"):
        ConnectHarness(RedisStreamSource, {"redis.stream.name": ""})


def test_through_a_worker(
    start: Start, bootstrap: str, topic: str, server: Server, client: redis.Redis
) -> None:
    """From a stream to a topic, and from a topic to keys."""
    client.xadd(topic, {"n": "1"})
    write(bootstrap, f"{topic}-in", b"value", key=b"key")
    start(
        hosts(server)
        | {
            "name": "in",
            "connector.class": "RedisStreamSource",
            "redis.stream.name": topic,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        },
        hosts(server)
        | {
            "name": topic,
            "connector.class": "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector",
            "topics": f"{topic}-in",
        },
    )
    (found,) = messages(bootstrap, topic, 1)
    assert b'"body":{"n":"1"}' in (found.value() or b"")
    eventually(lambda: client.get("key") == "value")


@pytest.mark.thorough
def test_killed_and_started_again(
    bootstrap: str, tmp_path: Path, topic: str, server: Server, client: redis.Redis
) -> None:
    """Entries of a stream arrive at least once."""
    for number in range(50):
        client.xadd(topic, {"n": str(number)})
    settings = hosts(server) | {"redis.stream.name": topic, "batch.size": "2"}
    with killable(bootstrap, tmp_path, "RedisStreamSource", settings) as kill:
        messages(bootstrap, topic, 2)
        kill()
    for number in range(50, 60):
        client.xadd(topic, {"n": str(number)})
    with killable(bootstrap, tmp_path, "RedisStreamSource", settings):
        found = messages(bootstrap, topic, 60)
        while len({each.key() for each in found}) < 60:
            found = messages(bootstrap, topic, len(found) + 1)
