"""Messages of a real mosquitto into topics and back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from headrace.pipelines.connect.connectors.mqtt.session import Subscriber
from headrace.pipelines.connect.connectors.mqtt.settings import SourceSettings
from headrace.pipelines.connect.connectors.mqtt.sink import MqttSink
from headrace.pipelines.connect.connectors.mqtt.source import MqttSource
from headrace.pipelines.connect.faults import ConfigException, RetriableException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.tasks import connector_of
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.jdbc.harness import Context, Kept
from tests.pipelines.connect.connectors.killing import eventually, killable
from tests.pipelines.connect.worker.running import PATIENCE_S, Worker, messages, write
from tests.servers.mosquitto import mosquitto, url
from tests.servers.server import HOST, Server, free_port

Start = Callable[..., Worker]
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
SOURCE = {
    "connector.class": "com.datamountaineer.streamreactor.connect.mqtt.source.MqttSourceConnector",
    "value.converter": BYTES,
}
SINK = {
    "connector.class": "com.datamountaineer.streamreactor.connect.mqtt.sink.MqttSinkConnector",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with mosquitto() as running:
        yield running


class Client:
    """Another client of the server."""

    def __init__(self, server: Server) -> None:
        self.received: dict[str, bytes] = {}
        self._subscribed = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._on_message
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.connect(HOST, server.port)
        self._client.loop_start()

    def publish(self, topic: str, *payloads: bytes, qos: int = 1) -> None:
        sent = [self._client.publish(topic, each, qos) for each in payloads]
        for each in sent:
            each.wait_for_publish(PATIENCE_S)
            assert each.is_published()

    def subscribe(self, wanted: str) -> None:
        self._client.subscribe(wanted, 1)
        assert self._subscribed.wait(PATIENCE_S)

    def _on_message(self, client: object, userdata: object, got: paho.MQTTMessage) -> None:
        self.received[got.topic] = bytes(got.payload)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    made = Client(server)
    yield made
    made.close()


def subscribed(server: Server, client_id: str) -> Callable[[], bool]:
    """Whether the server has let a client subscribe."""
    return lambda: f"Sending SUBACK to {client_id}" in server.log.read_text(errors="replace")


@pytest.mark.spec("slides:H15", "slides:H16", "slides:H17", "slides:O33")
def test_positions_of_trucks(
    start: Start, bootstrap: str, topic: str, server: Server, client: Client
) -> None:
    """The key is the topic of the message."""
    start(
        SOURCE
        | {
            "name": topic,
            "connect.mqtt.hosts": url(server),
            "connect.mqtt.client.id": f"tm-{topic}",
            "connect.mqtt.service.quality": "0",
            "connect.mqtt.kcql": f"INSERT INTO {topic} SELECT * FROM truck/+/position",
            "connect.mqtt.converter.throw.on.error": "true",
            "connect.mqtt.connection.timeout": "1000",
            "connect.mqtt.connection.keep.alive": "1000",
            "connect.mqtt.connection.clean": "true",
        }
    )
    eventually(subscribed(server, f"tm-{topic}"))
    client.publish("truck/13/position", b"13,Normal,38.65,-90.2")
    client.publish("truck/13/other", b"not asked for")
    client.publish("truck/14/position", b"14,Overspeed,41.87,-87.67")
    found = messages(bootstrap, topic, 2)
    assert sorted((each.key(), each.value()) for each in found) == [
        (b"truck/13/position", b"13,Normal,38.65,-90.2"),
        (b"truck/14/position", b"14,Overspeed,41.87,-87.67"),
    ]


def test_large_messages_wait_with_the_server(server: Server, client: Client, topic: str) -> None:
    """A task that is slow holds some bytes of messages, not fifty thousand of any size."""
    settings = SourceSettings.of(
        {
            "connect.mqtt.hosts": url(server),
            "connect.mqtt.client.id": f"large-{topic}",
            "connect.mqtt.kcql": f"INSERT INTO {topic} SELECT * FROM {topic}/large",
        }
    )
    subscriber = Subscriber(settings.access("x"), [f"{topic}/large"], 1, most_bytes=1000)
    subscriber.connect()
    try:
        eventually(subscribed(server, f"large-{topic}"))
        sent = [b"%d" % number * 600 for number in range(10)]
        client.publish(f"{topic}/large", *sent, b"x" * 5000)
        told = f"Sending PUBLISH to large-{topic}"
        eventually(lambda: server.log.read_text(errors="replace").count(told) == 11)
        found: list[bytes] = []
        while len(found) < 11:
            taken = subscriber.take(100, PATIENCE_S)
            assert 0 < len(taken) <= 2
            found += [each.payload for each in taken]
        assert found == [*sent, b"x" * 5000]
    finally:
        subscriber.close()


def test_confluents_names(
    start: Start, bootstrap: str, topic: str, server: Server, client: Client
) -> None:
    start(
        {
            "name": topic,
            "connector.class": "io.confluent.connect.mqtt.MqttSourceConnector",
            "value.converter": BYTES,
            "mqtt.server.uri": url(server),
            "mqtt.topics": f"{topic}/a,{topic}/b",
            "kafka.topic": topic,
            "mqtt.qos": "1",
            "tasks.max": "2",
        }
    )
    eventually(subscribed(server, topic))
    eventually(subscribed(server, f"{topic}-1"))
    client.publish(f"{topic}/a", b"1")
    client.publish(f"{topic}/b", b"2")
    assert {each.value() for each in messages(bootstrap, topic, 2)} == {b"1", b"2"}


def test_a_message_is_acknowledged_once_its_record_is(server: Server, client: Client) -> None:
    """Until then the server sends it to the next task again."""
    settings = connector_of(MqttSource).settings.of(
        {
            "connect.mqtt.hosts": url(server),
            "connect.mqtt.client.id": "acknowledging",
            "connect.mqtt.clean": "false",
            "connect.mqtt.kcql": "INSERT INTO t SELECT * FROM acknowledged/+",
        }
    )

    def life(wanted: int, *, commit: bool) -> list[object]:
        task = MqttSource()
        task.context = Context()
        task.open(settings, Kept())
        found: list[object] = []

        def polled() -> bool:
            for batch in task.poll():
                found.extend(batch.value.to_values())
                for mark in batch.marks if commit else ():
                    task.commit(mark.partition, mark.offset)
            return len(found) >= wanted

        try:
            eventually(polled)
        finally:
            task.close()
        return found

    assert life(0, commit=False) == []
    eventually(subscribed(server, "acknowledging"))
    client.publish("acknowledged/1", b"one", b"two")
    assert life(2, commit=False) == [b"one", b"two"]
    assert life(2, commit=True) == [b"one", b"two"]
    assert life(0, commit=True) == []


@pytest.mark.thorough
def test_nothing_is_lost_when_the_worker_is_killed(
    bootstrap: str, tmp_path: Path, topic: str, server: Server, client: Client
) -> None:
    """The server has acknowledged what Kafka has, and sends the rest again."""
    settings = {
        "connect.mqtt.hosts": url(server),
        "connect.mqtt.client.id": topic,
        "connect.mqtt.clean": "false",
        "connect.mqtt.kcql": f"INSERT INTO {topic} SELECT * FROM {topic}/+",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": BYTES,
    }
    sent = {b"%d" % number for number in range(120)}
    with killable(bootstrap, tmp_path, "MqttSource", settings) as kill:
        eventually(subscribed(server, topic))
        client.publish(f"{topic}/x", *(b"%d" % number for number in range(100)))
        messages(bootstrap, topic, 20)
        kill()
    client.publish(f"{topic}/x", *(b"%d" % number for number in range(100, 120)))
    with killable(bootstrap, tmp_path, "MqttSource", settings):
        found = messages(bootstrap, topic, 120)
        while {each.value() for each in found} != sent:
            found = messages(bootstrap, topic, len(found) + 1)


def test_json_fields_as_keys(server: Server, client: Client) -> None:
    settings = {
        "connect.mqtt.hosts": url(server),
        "connect.mqtt.kcql": "INSERT INTO k SELECT * FROM json/+ "
        "WITHCONVERTER=`io.lenses.streamreactor.connect.converters.source.JsonSimpleConverter` "
        "WITHKEY(id, at.city); INSERT INTO text SELECT * FROM json/t WITHCONVERTER=StringConverter",
        "connect.mqtt.client.id": "json-keys",
    }
    with ConnectHarness(MqttSource, settings) as harness:
        harness.poll()
        eventually(subscribed(server, "json-keys"))
        client.publish("json/s", b'{"id":7,"at":{"city":"Bern"}}', b"no JSON at all", b'{"id":8}')
        client.publish("json/t", b'{"id":9,"at":{"city":"Chur"}}')
        eventually(lambda: harness.poll() is not None and len(_rows(harness)) == 3)
        assert _rows(harness) == [("k", "7.Bern"), ("k", "9.Chur"), ("text", "json/t")]


def _rows(harness: ConnectHarness) -> list[tuple[str, object]]:
    return [(batch.topic, row.key) for batch in harness.batches for row in batch.records()]


def test_a_server_that_comes_later(topic: str) -> None:
    settings = {
        "connect.mqtt.hosts": f"tcp://{HOST}:{free_port()}",
        "connect.mqtt.kcql": "INSERT INTO a SELECT * FROM b",
    }
    with (
        ConnectHarness(MqttSource, settings) as harness,
        pytest.raises(RetriableException, match="no MQTT server can be reached"),
    ):
        harness.poll()


def test_a_server_that_refuses_the_client(start: Start, topic: str) -> None:
    with mosquitto("allow_anonymous false") as strict:
        worker = start(
            SOURCE
            | {
                "name": topic,
                "connect.mqtt.hosts": url(strict),
                "connect.mqtt.kcql": f"INSERT INTO {topic} SELECT * FROM b",
            }
        )
        trace = worker.until_failed(TaskId(topic, 0))
    assert "check connect.mqtt.username" in trace


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"connect.mqtt.hosts": "http://x"}, "tcp://host:1883"),
        ({"connect.mqtt.hosts": "tcp://x:port"}, "tcp://host:1883"),
        (
            {"connect.mqtt.kcql": "INSERT INTO a SELECT * FROM truck/+position"},
            r"truck/\+/position",
        ),
        ({"connect.mqtt.kcql": "SELECT * FROM b"}, "INSERT INTO topic is missing"),
        ({"connect.mqtt.kcql": "INSERT INTO a SELECT x FROM b"}, "a source selects"),
        ({"connect.mqtt.kcql": "INSERT INTO a SELECT * FROM b WITHKEY(x)"}, "JSON only"),
        (
            {"connect.mqtt.kcql": "INSERT INTO a SELECT * FROM b WITHCONVERTER=AvroConverter"},
            "converters are BytesConverter",
        ),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, str], reason: str) -> None:
    usual = {
        "connect.mqtt.hosts": "localhost",
        "connect.mqtt.kcql": "INSERT INTO a SELECT * FROM b",
    }
    with pytest.raises(ConfigException, match=reason):
        ConnectHarness(MqttSource, usual | settings)


def test_records_are_published(
    start: Start, bootstrap: str, topic: str, server: Server, client: Client
) -> None:
    client.subscribe("#")
    write(bootstrap, topic, b'{"id":1,"to":"out/%s/1","n":{"v":[1,2.5]}}' % topic.encode())
    write(bootstrap, f"{topic}-plain", b'{"id":2,"name":"two"}', None)
    start(
        SINK
        | {
            "name": topic,
            "topics": f"{topic},{topic}-plain",
            "connect.mqtt.hosts": f"tcp://{HOST}:{free_port()},{url(server)}",
            "connect.mqtt.kcql": f"INSERT INTO x SELECT id, n.v AS v FROM {topic} WITHTARGET=to; "
            f"INSERT INTO all/{topic} SELECT * FROM {topic}-plain",
        }
    )
    wanted = {f"out/{topic}/1": b'{"id":1,"v":[1,2.5]}', f"all/{topic}": b'{"id":2,"name":"two"}'}
    eventually(lambda: wanted.items() <= client.received.items())


def test_rows_without_a_topic_are_refused(server: Server) -> None:
    settings = {
        "connect.mqtt.hosts": url(server),
        "connect.mqtt.kcql": "INSERT INTO x SELECT * FROM topic WITHTARGET=to",
    }
    with ConnectHarness(MqttSink, settings) as harness:
        harness.put([{"to": "good"}, {"id": 2}, {"to": "bad/#"}, {"to": None}])
    assert harness.refused.keys() == {1, 2, 3}
    assert "no field to" in harness.refused[1]
    assert "names no topic" in harness.refused[3]


def test_a_server_that_is_gone_is_waited_for() -> None:
    with mosquitto() as own:
        settings = {
            "connect.mqtt.hosts": url(own),
            "connect.mqtt.timeout": "300",
            "connect.mqtt.kcql": "INSERT INTO x SELECT * FROM topic",
        }
        with ConnectHarness(MqttSink, settings) as harness:
            harness.put([b"one"])
            own.stop()
            with pytest.raises(RetriableException):
                harness.put([b"two"])
            own.start()
            harness.put([b"two"])
