"""How a producer finds the cluster and the leader, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from headrace.wire.messages.api_versions import ApiVersionsRequest
from tests.clients.drivers.driver import TIMEOUT_SECONDS, Refused
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Api, Gateway, gateway
from tests.clients.producer.java_producer import PLUGINS, JavaProducer
from tests.clients.producer.written import values
from tests.clients.raw import Connection

NewJava = Callable[..., JavaProducer]
NEWEST_PRODUCE_OF_JAVA = 13


@pytest.mark.spec("slides:C13", "slides:C45", "book1:P-01", "book1:P-06")
def test_any_address_reveals_the_leader(
    new_java: NewJava, bootstrap: str, connection: Connection, topic: str
) -> None:
    """The list is walked until one answers; records go straight to the leader, nowhere else."""
    with gateway(bootstrap) as leader, gateway(bootstrap, leads_to=leader) as anyone:
        addresses = f"127.0.0.1:1,{anyone.bootstrap}"
        new_java(bootstrap=addresses).send_and_get({"topic": topic, "value": "java"})
        other = Producer({"bootstrap.servers": addresses, "log_level": 0})
        other.produce(topic, "librdkafka")
        assert other.flush(TIMEOUT_SECONDS) == 0
        assert len(anyone.of(Api.METADATA)) >= 2
        assert anyone.of(Api.PRODUCE) == []
        assert len(leader.of(Api.PRODUCE)) == 2
    assert values(connection, topic) == ["java", "librdkafka"]


@pytest.mark.spec("slides:C13", "book1:P-01")
def test_a_bootstrap_address_is_needed_only_once(
    new_java: NewJava, bootstrap: str, connection: Connection, topic: str
) -> None:
    """What metadata told is enough when the first address is gone."""
    with gateway(bootstrap) as leader:
        with gateway(bootstrap, leads_to=leader) as anyone:
            producer = new_java(bootstrap=anyone.bootstrap)
            producer.send_and_get({"topic": topic, "value": "before"})
        producer.send_and_get({"topic": topic, "value": "after"})
    assert values(connection, topic) == ["before", "after"]


@pytest.mark.spec("slides:C13")
def test_addresses_are_checked(new_java: NewJava) -> None:
    """host:port, or the producer is not even created."""
    with pytest.raises(Refused, match=r"ConfigException: Invalid url in bootstrap\.servers"):
        new_java(bootstrap="no-port")


@pytest.mark.spec("book1:P-10")
@pytest.mark.parametrize("newest", [3, 9, 12, None])
def test_the_newest_version_that_both_know(
    new_java: NewJava, bootstrap: str, connection: Connection, topic: str, newest: int | None
) -> None:
    """The producer asks first, and speaks as new as the broker understands."""
    offered = connection.ask(ApiVersionsRequest(), 0).api_keys
    (broker,) = [each.max_version for each in offered if each.api_key == Api.PRODUCE]
    caps = {} if newest is None else {Api.PRODUCE: newest}
    with gateway(bootstrap, newest_versions=caps) as between:
        new_java(bootstrap=between.bootstrap).send_and_get({"topic": topic, "value": "v"})
        assert between.seen[0].api_key == Api.API_VERSIONS
        expected = min(newest or broker, broker, NEWEST_PRODUCE_OF_JAVA)
        assert [each.version for each in between.of(Api.PRODUCE)] == [expected]
    assert values(connection, topic) == ["v"]


@pytest.mark.spec("book1:P-36", "book1:P-37", "book1:P-11", "admin:PR-01")
def test_the_way_of_a_record(
    new_java: NewJava,
    java_producers: ForeignClient,
    gateway: Gateway,
    connection: Connection,
    new_topic: Callable[..., str],
) -> None:
    """Settings, producer, record; then it is serialized, placed, sent to the leader, answered."""
    topic = new_topic(partitions=2)
    producer = new_java(
        bootstrap=gateway.bootstrap,
        value_serializer=f"{PLUGINS}OrderSerializer",
        partitioner_class=f"{PLUGINS}StockPartitioner",
        importantStocks="k",
        test_log=topic,
    )
    order = {"topic": topic, "key": "k", "value": {"map": {"number": 1}}}
    assert [each["offset"] for each in producer.send_and_get(order)] == [0]
    producer.close()
    calls = [each.partition(" ")[0] for each in java_producers.call("calls", log=topic)]
    assert calls == ["configure", "configure", "serialize", "partition", "close", "close"]
    kinds = [each.api_key for each in gateway.seen]
    versions, metadata, produce = map(kinds.index, (Api.API_VERSIONS, Api.METADATA, Api.PRODUCE))
    assert versions < metadata < produce
    assert values(connection, topic, 1) == ['{"number":1}']


@pytest.mark.spec("slides:C12")
def test_metrics_tell_what_was_done(new_java: NewJava, topic: str) -> None:
    """A map of names, each with its group and its tags, the client's id among them."""
    producer = new_java(client_id=f"metered-{topic}")
    producer.send_and_get(*({"topic": topic, "value": "v"} for _ in range(7)))
    assert producer.metric("record-send-total") == 7
    assert producer.metric("record-error-total") == 0
    mine = [each for each in producer.metrics() if each["group"] == "producer-topic-metrics"]
    assert {(each["tags"]["topic"], each["tags"]["client-id"]) for each in mine} == {
        (topic, f"metered-{topic}")
    }


def test_every_request_has_the_clients_name(
    new_java: NewJava, gateway: Gateway, topic: str
) -> None:
    """client.id is in the header of each request."""
    new_java(bootstrap=gateway.bootstrap, client_id="till-7").send_and_get(
        {"topic": topic, "value": "v"}
    )
    named = [each.client_id for each in gateway.seen if each.message is not None]
    assert set(named) == {"till-7"}
