"""Transactions whose coordinator, partitions and offsets live on three different brokers.

Real broker processes with a ZooKeeper. Clients of transactions v1 (librdkafka) have partitions
verified by their leaders, our raw producer of transactions v2 has them added.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, ElectionType, Producer
from confluent_kafka import TopicPartition as Assignment
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.client.cluster import Cluster as Client
from headrace.client.producing import RawProducer, RecordsPayload
from headrace.client.settings import client_settings
from headrace.errors import Error
from headrace.records.batch import HEADER_SIZE
from headrace.records.compression import Codec
from headrace.testing import Cluster
from headrace.types import TopicPartition
from headrace.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.log.logs import batch

TIMEOUT_S = 30
_number = count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as running:
        yield running


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    settings, _ = client_settings({"bootstrap.servers": cluster.bootstrap_servers})
    with closing(Client(settings)) as opened:
        yield opened


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A topic of three partitions, each led by another broker."""
    name = f"orders-{next(_number)}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(name, 3, 3)])[name].result(TIMEOUT_S)
    return name


def leader_of(client: Client, topic: str, partition: int) -> int:
    client.forget(topic)
    return client.route(topic, partition).leader


def name_coordinated_by(client: Client, address: str, *, transactional: bool) -> str | None:
    """A transactional id, or a group, of the coordinator there; None if it has none now."""
    for _ in range(60):
        name = f"name-{next(_number)}"
        if client.coordinator(name, transactional=transactional).address == address:
            return name
    return None


def three_homes(cluster: Cluster, client: Client, topic: str) -> tuple[str, int, str]:
    """A transactional id of broker 0, a partition led by 1, a group of 2.

    A broker that was dead leads again what it is preferred for when it is asked to.
    """
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    first, _, third = (each.bootstrap_servers for each in cluster.brokers)
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        transactional_id = name_coordinated_by(client, first, transactional=True)
        group = name_coordinated_by(client, third, transactional=False)
        led_by_1 = [index for index in range(3) if leader_of(client, topic, index) == 1]
        if transactional_id and group and led_by_1:
            return transactional_id, led_by_1[0], group
        admin.elect_leaders(ElectionType.PREFERRED).result(TIMEOUT_S)
        time.sleep(0.1)
    raise AssertionError("leadership did not return to the preferred replicas")


def read_committed(cluster: Cluster, topic: str, partition: int, expected: int) -> list[bytes]:
    """What a consumer sees that reads to the end, of which `expected` records are known."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    seen: list[bytes] = []
    with closing(consumer):
        consumer.assign([Assignment(topic, partition, 0)])
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                seen.append(message.value() or b"")
            elif message is not None and len(seen) >= expected:
                break
    return seen


def committed_offset(cluster: Cluster, group: str, topic: str, partition: int) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    asked = ConsumerGroupTopicPartitions(group, [Assignment(topic, partition)])
    told = admin.list_consumer_group_offsets([asked])[group].result(TIMEOUT_S)
    return int(told.topic_partitions[0].offset)


def soon(look: Callable[[], Any], expected: Any) -> None:
    """The end of a transaction reaches its partitions a moment after the client is told."""
    deadline = time.monotonic() + TIMEOUT_S
    while look() != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    assert look() == expected


def offsets_of(group: str) -> Any:
    """What a consumer of this group would hand to its producer."""
    consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": group})
    with closing(consumer):
        return consumer.consumer_group_metadata()


@pytest.mark.spec("slides:E08", "slides:E10", "admin:TX-06")
def test_transactions_v1_over_three_brokers(cluster: Cluster, client: Client, topic: str) -> None:
    """Records and offsets of a committed transaction are seen, those of an aborted one are not."""
    transactional_id, partition, group = three_homes(cluster, client, topic)
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": transactional_id}
    )
    producer.init_transactions(TIMEOUT_S)
    for number in range(4):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number, partition=partition)
        position = [Assignment(topic, partition, 100 + number)]
        producer.send_offsets_to_transaction(position, offsets_of(group), TIMEOUT_S)
        if number % 2:
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)
    assert read_committed(cluster, topic, partition, 2) == [b"0", b"2"]
    soon(lambda: committed_offset(cluster, group, topic, partition), 102)


def payload(value: int) -> RecordsPayload:
    data = batch(1, size=value)
    return RecordsPayload(data[HEADER_SIZE:], Codec.NONE, 1, 1_700_000_000_000, 1_700_000_000_000)


@pytest.mark.spec("slides:E08", "slides:E10", "admin:TX-06")
def test_transactions_v2_over_three_brokers(cluster: Cluster, client: Client, topic: str) -> None:
    """The first write to a partition adds it at a coordinator elsewhere, and so do offsets."""
    transactional_id, partition, group = three_homes(cluster, client, topic)
    with closing(RawProducer(client, transactional_id=transactional_id)) as producer:
        for number in range(4):
            producer.begin()
            producer.send(topic, partition, payload(number + 1))
            place = TopicPartition(topic, partition)
            producer.send_offsets(group, {place: (200 + number, "")})
            if number % 2:
                producer.abort()
            else:
                producer.commit()
    assert [len(each) for each in read_committed(cluster, topic, partition, 2)] == [1, 3]
    soon(lambda: committed_offset(cluster, group, topic, partition), 202)


def test_a_marker_is_written_by_the_leader_alone(client: Client, topic: str) -> None:
    """WriteTxnMarkers for a partition that is led elsewhere is NOT_LEADER_OR_FOLLOWER."""
    marker = WritableTxnMarker(
        producer_id=12345,
        producer_epoch=0,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0, 1, 2])],
        coordinator_epoch=0,
    )
    leaders = [leader_of(client, topic, index) for index in range(3)]
    for broker_id in range(3):
        answer = client.broker(broker_id).call(WriteTxnMarkersRequest(markers=[marker]))
        errors = [each.error_code for each in answer.markers[0].topics[0].partitions]
        assert errors == [
            Error.NONE if leader == broker_id else Error.NOT_LEADER_OR_FOLLOWER
            for leader in leaders
        ]


@pytest.mark.slow
def test_a_leader_that_dies_before_the_end_of_its_transaction(
    cluster: Cluster, client: Client, topic: str
) -> None:
    """The marker is written by whoever leads the partition then, and nothing is lost or doubled."""
    transactional_id, partition, group = three_homes(cluster, client, topic)
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": transactional_id}
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"kept", partition=partition)
    producer.flush(TIMEOUT_S)
    cluster.broker(1).kill()
    try:
        producer.commit_transaction(TIMEOUT_S)
        assert read_committed(cluster, topic, partition, 1) == [b"kept"]
        producer.begin_transaction()
        producer.produce(topic, b"dropped", partition=partition)
        producer.abort_transaction(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce(topic, b"also kept", partition=partition)
        producer.send_offsets_to_transaction(
            [Assignment(topic, partition, 7)], offsets_of(group), TIMEOUT_S
        )
        producer.commit_transaction(TIMEOUT_S)
    finally:
        cluster.broker(1).start()
    assert read_committed(cluster, topic, partition, 2) == [b"kept", b"also kept"]
    soon(lambda: committed_offset(cluster, group, topic, partition), 7)


@pytest.mark.slow
def test_a_coordinator_that_dies_after_its_decision(
    cluster: Cluster, client: Client, topic: str
) -> None:
    """Its successor writes the markers; the producer goes on with the successor."""
    transactional_id, partition, _ = three_homes(cluster, client, topic)
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": transactional_id}
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"decided", partition=partition)
    producer.commit_transaction(TIMEOUT_S)
    cluster.broker(0).kill()
    try:
        producer.begin_transaction()
        producer.produce(topic, b"under the successor", partition=partition)
        producer.commit_transaction(TIMEOUT_S)
    finally:
        cluster.broker(0).start()
    seen = read_committed(cluster, topic, partition, 2)
    assert seen == [b"decided", b"under the successor"]
