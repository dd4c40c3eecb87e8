"""A full disk: reads go on, writes are refused for now, and room brings everything back.

The disk is a small tmpfs with a ballast file; where mounting is not permitted there is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.errors import Error
from headrace.testing import Broker, Cluster
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from tests.chaos.cluster.disks import Disk
from tests.clients.cluster.observing import Observer
from tests.clients.raw import Connection, batch_of
from tests.clients.records import Record
from tests.clients.requests import (
    CREATE_TOPICS_VERSION,
    create_topic,
    create_topics_request,
    fetched,
    produced,
    produced_bytes,
)

PATIENCE_S = 60
SIZE_MB = 48
ONE = [Record(b"key", b"value", 1_700_000_000_000)]
LARGE = [Record(b"key", b"v" * 100_000, 1_700_000_000_000)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "disk", SIZE_MB)
    if not disk.can_be_filled:
        pytest.skip("a tmpfs cannot be mounted here, which needs root: no disk can be filled")
    yield disk
    disk.close()


def coordinator_error(connection: Connection, key_type: int) -> Error:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["someone"])
    (found,) = connection.ask(request, 6).coordinators
    return Error(found.error_code)


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def fill_up(connection: Connection, disk: Disk, topic: str) -> None:
    """Not a byte is free, neither on the disk nor in the last page of the topic's file."""
    disk.fill()
    for _ in range(1000):
        if produced_bytes(connection, topic, batch_of(ONE)).error_code:
            return
    raise AssertionError("the disk does not fill up")


def test_every_api_answers_on_a_full_disk(disk: Disk) -> None:
    """What needs room is refused with an error that clients retry; nobody loses the connection."""
    with Broker(data=disk.folder) as broker, Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "orders")
        produced(connection, "orders", LARGE)
        fill_up(connection, disk, "orders")
        assert (
            produced_bytes(connection, "orders", batch_of(LARGE)).error_code
            == Error.KAFKA_STORAGE_ERROR
        )
        assert len(fetched(connection, "orders", 0).records) > 100_000
        for key_type in (0, 1):
            error = coordinator_error(connection, key_type)
            assert error in (Error.NONE, Error.COORDINATOR_NOT_AVAILABLE)
        many = create_topics_request("many", partitions=2000)
        (created,) = connection.ask(many, CREATE_TOPICS_VERSION).topics
        assert created.error_code in (Error.NONE, Error.KAFKA_STORAGE_ERROR)
        connection.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1), 4)
        disk.empty()
        produced(connection, "orders", LARGE)
        for key_type in (0, 1):
            until(lambda key=key_type: coordinator_error(connection, key) is Error.NONE)  # type: ignore[misc]


def test_a_topic_can_be_deleted_from_a_full_disk(disk: Disk) -> None:
    """Deleting is how an operator makes room; the tree of the cluster's state keeps a reserve."""
    properties = {"log.segment.delete.delay.ms": 0}
    with (
        Broker(properties, data=disk.folder) as broker,
        Connection(broker.bootstrap_servers) as connection,
    ):
        for topic in ("orders", "other"):
            create_topic(connection, topic)
            for _ in range(20):
                produced(connection, topic, LARGE)
        fill_up(connection, disk, "orders")
        deletion = DeleteTopicsRequest(
            topics=[DeleteTopicState(name="other")], timeout_ms=PATIENCE_S * 1000
        )
        (deleted,) = connection.ask(deletion, 6).responses
        assert deleted.error_code == Error.NONE
        until(lambda: not produced_bytes(connection, "orders", batch_of(LARGE)).error_code)


def test_a_broker_starts_on_a_full_disk(disk: Disk) -> None:
    """After kill -9, or a stop, it serves reads, and takes writes again when there is room."""
    properties = {"log.segment.bytes": 1 << 20}
    broker = Broker(properties, data=disk.folder)
    with broker:
        with Connection(broker.bootstrap_servers) as connection:
            create_topic(connection, "orders")
            create_topic(connection, "compacted", config={"cleanup.policy": "compact"})
            for topic in ("orders", "compacted"):
                for _ in range(25):
                    produced(connection, topic, LARGE)
            fill_up(connection, disk, "orders")
        broker.kill()
        disk.fill()
        broker.start()
        with Connection(broker.bootstrap_servers) as connection:
            for topic in ("orders", "compacted"):
                assert len(fetched(connection, topic, 0).records) > 100_000
        broker.stop()
        disk.fill()
        broker.start()
        with Connection(broker.bootstrap_servers) as connection:
            for topic in ("orders", "compacted"):
                assert len(fetched(connection, topic, 0).records) > 100_000
                answer = produced_bytes(connection, topic, batch_of(LARGE))
                assert answer.error_code == Error.KAFKA_STORAGE_ERROR
            disk.empty()
            for topic in ("orders", "compacted"):
                until(
                    lambda topic=topic: (  # type: ignore[misc]
                        not produced_bytes(connection, topic, batch_of(LARGE)).error_code
                    )
                )


def test_a_full_disk_gives_up_its_leaderships(tmp_path: Path, zookeeper_connect: str) -> None:
    """Another in-sync replica with room leads; with room again the broker is in sync again."""
    disk = Disk(tmp_path / "broker-1", SIZE_MB)
    if not disk.can_be_filled:
        pytest.skip("a tmpfs cannot be mounted here, which needs root: no disk can be filled")
    properties = {"replica.lag.time.max.ms": 120_000, "auto.leader.rebalance.enable": "false"}
    cluster = Cluster([1, 2], properties, data=tmp_path, zookeeper=zookeeper_connect)
    try:
        with cluster:
            observer = Observer(cluster)
            first, second = (Connection(broker.bootstrap_servers) for broker in cluster.brokers)
            with first, second:
                for topic, replicas in (("led", [1, 2]), ("followed", [2, 1])):
                    observer.create_topic(topic, {0: replicas})
                fill_up(first, disk, "led")
                # Broker 1 may follow until it is stuck; then commits do not wait for its lag.
                until(lambda: not produced_bytes(second, "led", batch_of(LARGE)).error_code)
                produced(second, "followed", LARGE)
                disk.empty()
                for topic in ("led", "followed"):
                    observer.until_isr(topic, [1, 2])
    finally:
        disk.close()
