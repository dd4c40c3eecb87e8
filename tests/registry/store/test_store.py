"""The topic behind a registry: made, refused, taken over, followed, written by one alone."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.errors import ConfigError
from headrace.registry.errors import RegistryError
from headrace.registry.settings import registry_settings
from headrace.registry.store import Deposed, StoredRecord, TopicStore
from headrace.registry.topic_records import noop_key
from headrace.testing import Broker
from tests.registry.running import RunningRegistry, until

NOOP = (noop_key(), None)


@pytest.fixture(scope="module")
def admin(registry_broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": registry_broker.bootstrap_servers})


def create(admin: AdminClient, topic: str, partitions: int = 1, **config: str) -> None:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    new = NewTopic(topic, partitions, 1, config=settings)
    admin.create_topics([new])[topic].result(10)


def policy_of(admin: AdminClient, topic: str) -> str:
    from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

    resource = ConfigResource("topic", topic)
    config = admin.describe_configs([resource])[resource].result(10)
    found: str = config["cleanup.policy"].value
    return found


def produce(broker: Broker, topic: str, *records: tuple[object, object]) -> None:
    """Write as a JVM would: compact JSON, keys in Confluent's order."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value in records:
        producer.produce(topic, key=_text(key), value=None if value is None else _text(value))
    assert producer.flush(10) == 0


def _text(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def read(broker: Broker, topic: str) -> list[tuple[Any, Any]]:
    """All records of a topic's only partition, parsed."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)
    found = []
    try:
        while consumer.position([TopicPartition(topic, 0)])[0].offset < end:
            message = consumer.poll(5)
            if message is None:
                break
            assert message.error() is None
            key, value = message.key(), message.value()
            found.append((json.loads(key or b""), None if value is None else json.loads(value)))
    finally:
        consumer.close()
    return found


@pytest.mark.spec("slides:G26")
def test_the_topic_is_made_as_it_must_be(
    registry_broker: Broker, admin: AdminClient, names: dict[str, str]
) -> None:
    """One partition, compacted; what is registered is in it, in Confluent's own JSON."""
    topic = names["kafkastore__topic"]
    with RunningRegistry(registry_broker.bootstrap_servers, **names) as registry:
        registry.call("POST", "/subjects/ü/versions".replace("ü", "%C3%BC"), {"schema": '"int"'})
        registry.call("PUT", "/config", {"compatibility": "FULL"})
    assert len(admin.list_topics(topic, 10).topics[topic].partitions) == 1
    assert policy_of(admin, topic) == "compact"
    records = read(registry_broker, topic)
    assert records[0] == ({"keytype": "NOOP", "magic": 0}, None)
    key, value = next(each for each in records if each[0]["keytype"] == "SCHEMA")
    assert list(key.items()) == [
        ("keytype", "SCHEMA"),
        ("subject", "ü"),
        ("version", 1),
        ("magic", 1),
    ]
    assert (value["subject"], value["id"], value["schema"]) == ("ü", 1, '"int"')
    assert value["deleted"] is False
    assert any(key["keytype"] == "CONFIG" for key, _ in records)


@pytest.mark.spec("admin:SR-12")
def test_without_a_broker_it_says_so(names: dict[str, str]) -> None:
    """One line with the address, not a stack trace."""
    said = RunningRegistry("127.0.0.1:1", **names, kafkastore__init__timeout__ms="1000").failure()
    assert "127.0.0.1:1" in said
    assert "Traceback" not in said


def test_taking_over_a_topic_of_confluent(
    registry_broker: Broker, admin: AdminClient, names: dict[str, str]
) -> None:
    """Schemas, settings, modes, deletions and tombstones that a JVM wrote mean what they meant."""
    topic = names["kafkastore__topic"]
    create(admin, topic, cleanup_policy="compact")

    def schema(
        subject: str, version: int, schema_id: int, text: str, **more: object
    ) -> tuple[object, object]:
        key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
        value = {"subject": subject, "version": version, "id": schema_id, **more, "schema": text}
        return key, {**value, "deleted": False}

    def about(kind: str, subject: str | None) -> dict[str, object]:
        return {"keytype": kind, "subject": subject, "magic": 0}

    record = '{"type":"record","name":"R","fields":[]}'
    reference = {"name": "r.proto", "subject": "p", "version": 1}
    gone, _ = schema("gone", 1, 9, '"long"')
    produce(
        registry_broker,
        topic,
        ({"keytype": "NOOP", "magic": 0}, None),
        schema("a", 1, 1, '"string"'),
        schema("a", 2, 2, record),
        schema("j", 1, 3, '{"type":"object"}', schemaType="JSON"),
        schema("p", 1, 4, 'syntax = "proto3";\nmessage A {}\n', schemaType="PROTOBUF"),
        schema(
            "q",
            1,
            5,
            'syntax = "proto3";\nimport "r.proto";\nmessage B {\n  .A a = 1;\n}\n',
            schemaType="PROTOBUF",
            references=[reference],
        ),
        schema("dead", 1, 6, '"bytes"'),
        (about("DELETE_SUBJECT", "dead"), {"subject": "dead", "version": 1}),
        (gone, {"subject": "gone", "version": 1, "id": 9, "schema": '"long"', "deleted": True}),
        (gone, None),
        schema(":.ctx:c", 1, 1, '"int"'),
        (about("CONFIG", "a"), {"subject": "a", "compatibilityLevel": "NONE"}),
        (about("CONFIG", None), {"compatibilityLevel": "FULL"}),
        (about("MODE", "j"), {"subject": "j", "mode": "READONLY"}),
        (b"nonsense", b"nonsense"),
        ({"keytype": "FUTURE", "magic": 7}, {"x": 1}),
        (b'{"keytype":"SCHEMA","subject":"b","version":1,"magic":1}', b"{broken"),
    )
    with RunningRegistry(registry_broker.bootstrap_servers, **names) as registry:
        registry.await_primary()
        expected = [":.ctx:c", "a", "j", "p", "q"]
        assert sorted(registry.call("GET", "/subjects").body) == expected
        assert registry.call("GET", "/subjects/a/versions").body == [1, 2]
        assert registry.call("GET", "/schemas/ids/2").body["schema"] == record
        assert registry.call("GET", "/schemas/ids/5").body["references"] == [reference]
        assert registry.call("GET", "/subjects/p/versions/1/referencedby").body == [5]
        assert registry.call("GET", "/subjects/dead/versions?deleted=true").body == [1]
        assert registry.call("GET", "/schemas/ids/9").code == 40403
        assert registry.call("GET", "/config").body == {"compatibilityLevel": "FULL"}
        assert registry.call("GET", "/config/a").body["compatibilityLevel"] == "NONE"
        answer = registry.call("POST", "/subjects/j/versions", {"schema": '"int"'})
        assert answer.code == 42205
        new = registry.call("POST", "/subjects/a/versions", {"schema": '"double"'}).body
        assert (new["id"], new["version"]) == (10, 3), "no id that was ever used is used again"
        assert (
            "\nschema_registry_broken_records 3\n" in registry.call("GET", "/metrics").raw.decode()
        )


def test_what_others_write_is_followed(
    registry_broker: Broker, registry: RunningRegistry, subject: str
) -> None:
    """A record from elsewhere is known without a restart."""
    key = {"keytype": "CONFIG", "subject": subject, "magic": 0}
    produce(registry_broker, "_schemas", (key, {"subject": subject, "compatibilityLevel": "FULL"}))
    path = f"/config/{subject}"
    until(lambda: registry.call("GET", path).status == 200, 5)


# -- the store itself ------------------------------------------------------------------------------


class Applied(list[StoredRecord]):
    """What a store has applied."""

    def apply(self, records: Any) -> None:
        self.extend(records)


OpenStore = Callable[..., tuple[TopicStore, Applied]]


@pytest.fixture
def open_store(registry_broker: Broker, names: dict[str, str]) -> Iterator[OpenStore]:
    opened: list[TopicStore] = []
    properties = {name.replace("__", "."): value for name, value in names.items()}

    def make(**more: str) -> tuple[TopicStore, Applied]:
        settings, _ = registry_settings(
            {
                "kafkastore.bootstrap.servers": registry_broker.bootstrap_servers,
                **properties,
                **{name.replace("__", "."): value for name, value in more.items()},
            }
        )
        applied = Applied()
        store = TopicStore(settings, settings.topic, applied.apply, fence_record=NOOP)
        store.open()
        store.follow()
        opened.append(store)
        return store, applied

    yield make
    for store in opened:
        store.close()


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_topic_that_forgets_is_refused(
    admin: AdminClient, names: dict[str, str], open_store: OpenStore, policy: str
) -> None:
    """With the remedy in the message; `kafkastore.topic.skip.validation=true` takes it as it is."""
    create(admin, names["kafkastore__topic"], cleanup_policy=policy)
    with pytest.raises(ConfigError, match=f"cleanup.policy={policy} .*kafka-configs"):
        open_store()
    open_store(kafkastore__topic__skip__validation="true")


def test_a_topic_with_several_partitions_is_refused(
    admin: AdminClient, names: dict[str, str], open_store: OpenStore
) -> None:
    """Its records have no order."""
    create(admin, names["kafkastore__topic"], partitions=2, cleanup_policy="compact")
    with pytest.raises(ConfigError, match="2 partitions where 1 is needed"):
        open_store()


def test_a_write_has_been_applied_when_it_returns(open_store: OpenStore) -> None:
    """In order, all records of one write together, and again for whoever opens later."""
    store, applied = open_store()
    store.prepare()
    store.append([(b"a", b"1"), (b"b", None)])
    assert [(each.key, each.value) for each in applied] == [NOOP, (b"a", b"1"), (b"b", None)]
    store.append([(b"c", b"2")])
    assert applied[-1].key == b"c"
    _, later = open_store()
    assert [each.key for each in later] == [each.key for each in applied]


def test_an_unprepared_write_is_refused(open_store: OpenStore) -> None:
    """A decision is only good after everything before it is known."""
    store, _ = open_store()
    with pytest.raises(Deposed):
        store.append([(b"a", b"1")])
    store.prepare()
    store.doubt()
    with pytest.raises(Deposed):
        store.append([(b"a", b"1")])


def test_a_deposed_writer_cannot_write(open_store: OpenStore) -> None:
    """From the first record of the next one on, whatever the old one believes."""
    old, _ = open_store()
    new, seen = open_store()
    old.prepare()
    old.append([(b"old", b"1")])
    new.prepare()
    with pytest.raises(Deposed, match=r"INVALID_PRODUCER_EPOCH|PRODUCER_FENCED"):
        old.append([(b"late", b"2")])
    new.append([(b"new", b"3")])
    assert [each.key for each in seen if each.key != NOOP[0]] == [b"old", b"new"]
    old.prepare()
    old.append([(b"old again", b"4")])
    with pytest.raises(Deposed):
        new.append([(b"late", b"5")])


def test_a_record_that_is_too_large_harms_nothing(open_store: OpenStore) -> None:
    """42209, and the next write goes through after a new fence."""
    store, applied = open_store()
    store.prepare()
    with pytest.raises(RegistryError) as raised:
        store.append([(b"large", b"x" * (3 << 20))])
    assert raised.value.error_code == 42209
    store.prepare()
    store.append([(b"small", b"1")])
    assert applied[-1].key == b"small"


def test_a_broker_that_is_gone_is_50002_in_time(names: dict[str, str]) -> None:
    """Bounded by `kafkastore.timeout.ms`; when the broker is back, writing goes on."""
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        settings, _ = registry_settings(
            {
                "kafkastore.bootstrap.servers": broker.bootstrap_servers,
                "kafkastore.timeout.ms": "1500",
            }
        )
        applied = Applied()
        store = TopicStore(settings, "t", applied.apply, fence_record=NOOP)
        store.open()
        store.follow()
        store.prepare()
        broker.kill()
        took = threading.Event()

        def write() -> None:
            with pytest.raises(RegistryError) as raised:
                store.append([(b"a", b"1")])
            assert raised.value.error_code in (50001, 50002)
            took.set()

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        assert took.wait(6)
        broker.start()
        until(lambda: _prepared(store), 20)
        store.append([(b"b", b"2")])
        assert applied[-1].key == b"b"
        store.close()


def _prepared(store: TopicStore) -> bool:
    try:
        store.prepare()
    except RegistryError:
        return False
    return True
