"""Which partition a record goes to: the producer's choice, by several rules."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.errors import Error
from headrace.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tests.clients.drivers.driver import TIMEOUT_SECONDS
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Api, Gateway, gateway
from tests.clients.producer.java_producer import PLUGINS, SERIALIZATION, JavaProducer
from tests.clients.producer.written import batches, values
from tests.clients.raw import Connection
from tests.clients.requests import TIMEOUT_MS, await_topic

NewJava = Callable[..., JavaProducer]
NewTopic = Callable[..., str]
ROUND_ROBIN = "org.apache.kafka.clients.producer.RoundRobinPartitioner"


def partitions(told: list[dict[str, Any]]) -> list[int]:
    """Where records went, in the order in which they were sent."""
    return [int(each["partition"]) for each in sorted(told, key=lambda each: int(each["note"]))]


@pytest.mark.spec("admin:PR-13", "book1:P-05", "slides:C46")
def test_the_callers_partition_wins(
    new_java: NewJava, gateway: Gateway, connection: Connection, new_topic: NewTopic
) -> None:
    """Over the key and over any partitioner; the request says so, not the broker."""
    topic = new_topic(partitions=4)
    stock = {"partitioner_class": f"{PLUGINS}StockPartitioner", "importantStocks": "IBM"}
    for settings in ({}, stock):
        producer = new_java(bootstrap=gateway.bootstrap, **settings)
        producer.send_and_get(
            *({"topic": topic, "partition": n, "key": "IBM", "value": "v"} for n in range(4))
        )
    requests = [each.message.topic_data[0].partition_data for each in gateway.of(Api.PRODUCE)]
    assert [data[0].index for data in requests] == [0, 1, 2, 3] * 2
    assert [len(values(connection, topic, n)) for n in range(4)] == [2, 2, 2, 2]


@pytest.mark.spec("admin:PR-13", "slides:C11")
def test_partitions_for_lists_a_topic(
    new_java: NewJava, bootstrap: str, new_topic: NewTopic
) -> None:
    """Each with its leader, its replicas and those in sync, each of them with id, host, port."""
    topic = new_topic(partitions=3)
    found = new_java().partitions_for(topic)
    assert [(each["topic"], each["partition"]) for each in found] == [
        (topic, number) for number in range(3)
    ]
    for each in found:
        assert each["leader"] == each["replicas"] == each["in_sync"]
        (node,) = each["leader"]
        assert node.partition(" ")[2] == bootstrap


@pytest.mark.spec(
    "slides:C36", "slides:C39", "slides:C41", "slides:C46", "book1:P-05", "book1:P-19", "book1:P-20"
)
def test_a_partitioner_of_an_application(
    new_java: NewJava, java_producers: ForeignClient, new_topic: NewTopic
) -> None:
    """Hot keys have a partition of their own, which no other key gets.

    The partitioner reads a setting that Kafka does not know, sees keys and values as objects and
    as bytes, and is closed with its producer.
    """
    topic = new_topic(partitions=3)
    producer = new_java(
        partitioner_class=f"{PLUGINS}StockPartitioner", importantStocks="IBM,UBER", test_log=topic
    )
    stocks = ["IBM", "UBER", "GOOG", "INEL", "SUN", "ABC"]
    told = producer.send_and_get(
        *({"topic": topic, "key": stock, "value": "größe"} for stock in stocks)
    )
    assert [each["partition"] for each in told] == [2, 2, 0, 0, 0, 0]
    producer.close()
    calls = java_producers.call("calls", log=topic)
    assert [calls[0], calls[-1]] == ["configure IBM,UBER", "close"]
    assert calls[1:-1] == [f"partition {topic} {stock} {len(stock)} größe 7 3" for stock in stocks]


@pytest.mark.spec("slides:C40")
def test_a_partitioner_sees_which_partitions_have_a_leader(
    new_java: NewJava, java_producers: ForeignClient, bootstrap: str, new_topic: NewTopic
) -> None:
    """availablePartitionsForTopic leaves out those without; so does the default for no key."""
    topic = new_topic(partitions=3)
    with gateway(bootstrap, leaderless=frozenset({0, 1})) as between:
        stocks = new_java(
            bootstrap=between.bootstrap,
            partitioner_class=f"{PLUGINS}StockPartitioner",
            importantStocks="IBM",
            test_log=topic,
        )
        stocks.send_and_get({"topic": topic, "key": "IBM", "value": "v"})
        assert java_producers.call("calls", log=topic)[1] == f"partition {topic} IBM 3 v 1 1"
        keyless = new_java(bootstrap=between.bootstrap)
        told = keyless.send_and_get(*({"topic": topic, "value": "v"} for _ in range(10)))
        assert {each["partition"] for each in told} == {2}


@pytest.mark.spec("admin:PR-09")
def test_remainders(new_java: NewJava, connection: Connection, new_topic: NewTopic) -> None:
    """With hash(n) = n, the keys 1, 7, 12, 18, 27, 10 on five partitions."""
    topic = new_topic(partitions=5)
    producer = new_java(
        partitioner_class=f"{PLUGINS}NumberPartitioner",
        key_serializer=f"{SERIALIZATION}LongSerializer",
    )
    producer.send_and_get(
        *(
            {"topic": topic, "key": {"long": key}, "value": f"m{number}"}
            for number, key in enumerate((1, 7, 12, 18, 27, 10))
        )
    )
    found = [values(connection, topic, partition) for partition in range(5)]
    assert found == [["m5"], ["m0"], ["m1", "m2", "m4"], ["m3"], []]


@pytest.mark.spec("slides:C38", "admin:PR-12", "book1:P-05")
def test_round_robin_can_be_chosen(new_java: NewJava, new_topic: NewTopic) -> None:
    """Records take the partitions in turn, with a key and without."""
    topic = new_topic(partitions=4)
    producer = new_java(partitioner_class=ROUND_ROBIN, linger_ms=1000)
    producer.partitions_for(topic)
    producer.send(
        *(
            {"topic": topic, "key": "k" if n % 2 else None, "value": "v", "note": n}
            for n in range(20)
        )
    )
    producer.flush()
    found = partitions(producer.reports(20))
    assert found == found[:4] * 5
    assert sorted(found[:4]) == [0, 1, 2, 3]


@pytest.mark.spec("admin:PR-10", "admin:PR-11")
def test_records_without_a_key_stick_together(
    new_java: NewJava, connection: Connection, new_topic: NewTopic
) -> None:
    """Nine batches of letters on five partitions: none is split (KIP-480)."""
    topic = new_topic(partitions=5)
    producer = new_java(linger_ms=60_000)
    producer.partitions_for(topic)
    words = ["abc", "de", "fghi", "j", "klmn", "op", "qr", "stu", "vwxyz"]
    for word in words:
        producer.send(*({"topic": topic, "value": letter} for letter in word))
        producer.flush()
    stored = [values(connection, topic, partition) for partition in range(5)]
    counts = [header.record_count for n in range(5) for header in batches(connection, topic, n)]
    assert sorted(counts) == sorted(map(len, words))
    assert all(any(word in "".join(each) for each in stored) for word in words)


@pytest.mark.spec("admin:PR-10")
def test_a_full_batch_is_followed_by_another_partition(
    new_java: NewJava, connection: Connection, new_topic: NewTopic
) -> None:
    """When as much has gone to a partition as a batch holds, another is drawn (KIP-794)."""
    topic = new_topic(partitions=4)
    producer = new_java(batch_size=1_000, linger_ms=60_000)
    producer.partitions_for(topic)
    producer.send(*({"topic": topic, "value": "v" * 100, "note": n} for n in range(1000)))
    producer.flush()
    found = partitions(producer.reports(1000))
    changes = sum(before != after for before, after in itertools.pairwise(found))
    assert sorted(set(found)) == [0, 1, 2, 3]
    assert changes <= sum(len(batches(connection, topic, partition)) for partition in range(4))


@pytest.mark.spec("book1:P-33")
def test_many_keys_use_all_partitions(
    new_java: NewJava, bootstrap: str, connection: Connection, new_topic: NewTopic
) -> None:
    """A thousand keys are spread evenly: no partition has twice the share of another."""
    topic = new_topic(partitions=4)
    producer = new_java()
    producer.send(*({"topic": topic, "key": f"customer-{n}", "value": ""} for n in range(1000)))
    producer.flush()
    counts = Counter(each["partition"] for each in producer.reports(1000))
    assert len(counts) == 4
    assert max(counts.values()) < 2 * min(counts.values())
    settings = {"bootstrap.servers": bootstrap, "log_level": 0, "partitioner": "murmur2_random"}
    other = Producer(settings)
    for number in range(1000):
        other.produce(topic, "", f"customer-{number}")
    assert other.flush(TIMEOUT_SECONDS) == 0
    found = {partition: len(values(connection, topic, partition)) for partition in counts}
    assert found == {partition: 2 * count for partition, count in counts.items()}


@pytest.mark.spec("book1:P-35")
def test_more_partitions_move_keys(
    new_java: NewJava, connection: Connection, new_topic: NewTopic
) -> None:
    """After a topic has grown, some keys go elsewhere; what they have written stays behind."""
    topic = new_topic(partitions=2)
    records = [{"topic": topic, "key": f"key-{n}", "value": "v", "note": n} for n in range(50)]
    before = partitions_of(new_java(), records)
    wider = CreatePartitionsTopic(name=topic, count=5, assignments=None)
    request = CreatePartitionsRequest(topics=[wider], timeout_ms=TIMEOUT_MS, validate_only=False)
    (created,) = connection.ask(request, 3).results
    assert created.error_code == Error.NONE
    await_topic(connection, topic, 5)
    after = partitions_of(new_java(), records)
    assert set(before) == {0, 1}
    assert set(after) == {0, 1, 2, 3, 4}
    stayed = sum(old == new for old, new in zip(before, after, strict=True))
    assert 0 < stayed < 50
    assert len(values(connection, topic, 0)) == before.count(0) + after.count(0)


def partitions_of(producer: JavaProducer, records: list[dict[str, Any]]) -> list[int]:
    producer.send(*records)
    return partitions(producer.reports(len(records)))
