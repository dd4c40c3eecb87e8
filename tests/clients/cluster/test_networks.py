"""Brokers with two addresses: clients come in by one, brokers and ZooKeeper speak over others.

127.0.0.1 is where clients are, 127.0.0.2 the subnet of the brokers, 127.0.0.3 that of ZooKeeper.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.client.listeners import unused_port

if TYPE_CHECKING:
    from headrace.testing import Cluster

CLIENTS, BROKERS, ZOOKEEPER = "127.0.0.1", "127.0.0.2", "127.0.0.3"
ESTABLISHED = "01"
RECORDS = 200
VALUE = b"the same words again and again " * 30
PATIENCE_S = 30


def addresses(client: int, inside: int) -> dict[str, str]:
    return {
        "listeners": f"CLIENT://{CLIENTS}:{client},INSIDE://{BROKERS}:{inside}",
        "advertised.listeners": f"CLIENT://{CLIENTS}:{client},INSIDE://{BROKERS}:{inside}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,INSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    }


@pytest.fixture
def ports() -> dict[int, tuple[int, int]]:
    return {broker: (unused_port(), unused_port()) for broker in (1, 2)}


@pytest.fixture
def pair(tmp_path: Path, ports: dict[int, tuple[int, int]]) -> Iterator[Cluster]:
    from headrace.coordination.zookeeper.server import ZooKeeperServer
    from headrace.testing import Cluster

    with (
        ZooKeeperServer(tmp_path / "zookeeper", host=ZOOKEEPER) as zookeeper,
        Cluster(
            [1, 2],
            broker_properties={broker: addresses(*pair) for broker, pair in ports.items()},
            data=tmp_path / "brokers",
            zookeeper=zookeeper.connect_string,
        ) as cluster,
    ):
        yield cluster


def connected_to(host: str, port: int) -> int:
    """How many sockets of this machine are connected to an address, as their own side sees it."""
    octets = "".join(f"{int(part):02X}" for part in reversed(host.split(".")))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[2] == f"{octets}:{port:04X}" and row[3] == ESTABLISHED for row in rows)


def told_by(host: str, port: int) -> set[tuple[str, int]]:
    brokers = AdminClient({"bootstrap.servers": f"{host}:{port}"}).list_topics(timeout=30).brokers
    return {(str(broker.host), broker.port) for broker in brokers.values()}


@pytest.mark.spec("admin:MO-13")
def test_each_kind_of_traffic_has_a_network_of_its_own(
    pair: Cluster, ports: dict[int, tuple[int, int]]
) -> None:
    """Who asks on one network hears of its addresses only; replicas are copied over the brokers'.

    What producers compress crosses both networks, and lies on both disks, as it came.
    """
    servers = ",".join(f"{CLIENTS}:{client}" for client, _ in ports.values())
    for client, inside in ports.values():
        assert told_by(CLIENTS, client) == {(CLIENTS, port) for port, _ in ports.values()}
        assert told_by(BROKERS, inside) == {(BROKERS, port) for _, port in ports.values()}
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("copied", 2, 2)])["copied"].result(30)
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "compression.type": "lz4"})
    for number in range(RECORDS):
        producer.produce("copied", VALUE, partition=number % 2)
    assert producer.flush(30) == 0
    del producer, admin

    for client, inside in ports.values():
        assert connected_to(BROKERS, inside) > 0, "the other broker copies from here"
        deadline = time.monotonic() + PATIENCE_S
        while connected_to(CLIENTS, client) and time.monotonic() < deadline:
            time.sleep(0.02)  # the kernel closes what this test's clients have left
        assert connected_to(CLIENTS, client) == 0, "no broker comes in by the clients' door"
    _, zookeeper_port = pair.zookeeper.split(":")
    assert connected_to(ZOOKEEPER, int(zookeeper_port)) >= 2
    for broker in pair.brokers:
        for index in range(2):
            stored = sum(
                file.stat().st_size for file in (broker.log_dir / f"copied-{index}").glob("*.log")
            )
            assert 0 < stored < RECORDS // 2 * len(VALUE) / 4
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "unused"})
    consumer.assign([TopicPartition("copied", index, 0) for index in range(2)])
    read = consumer.consume(RECORDS, 30)
    consumer.close()
    assert [message.value() for message in read] == [VALUE] * RECORDS
