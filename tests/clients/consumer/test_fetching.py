"""What consumers ask of a fetch: how much, how long, and which transactions."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.clients.consumer.application import (
    TIMEOUT_SECONDS,
    Member,
    Members,
    values,
    write,
)
from tests.clients.drivers.java_consumer import OpenedConsumers


def reader(members: Members, topic: str, group: str, **settings: object) -> Member:
    member = members.new(group, **settings)
    member.consumer.assign([TopicPartition(topic, 0, 0)])
    return member


@pytest.mark.spec("admin:CO-18")
def test_a_fetch_waits_for_fetch_min_bytes(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """Ten bytes do not reach the consumer until ten thousand have come, or its wait is over."""
    wait_ms = 10_000
    patient = reader(members, topic, group, fetch_min_bytes=10_000, fetch_wait_max_ms=wait_ms)
    eager = reader(members, topic, group)
    write(bootstrap, topic, [b"0123456789"])
    assert values(eager.take(1)) == [b"0123456789"]
    assert patient.poll(0.3) is None
    begun = time.monotonic()
    write(bootstrap, topic, [b"x" * 10_000])
    assert [len(value) for value in values(patient.take(2))] == [10, 10_000]
    assert time.monotonic() - begun < wait_ms / 1000 / 2


@pytest.mark.spec("admin:CO-18")
def test_a_fetch_waits_no_longer_than_fetch_max_wait(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """Less than the least is sent when the wait is over."""
    write(bootstrap, topic, [b"0123456789"])
    begun = time.monotonic()
    short = reader(members, topic, group, fetch_min_bytes=1_000_000, fetch_wait_max_ms=400)
    assert values(short.take(1)) == [b"0123456789"]
    assert time.monotonic() - begun >= 0.35


@pytest.mark.spec("admin:CO-18")
def test_a_consumer_waits_500_ms_for_one_byte_by_default(java_consumers: OpenedConsumers) -> None:
    """fetch.min.bytes=1 and fetch.max.wait.ms=500 where nothing else is said."""
    keys = ["fetch.min.bytes", "fetch.max.wait.ms"]
    told = java_consumers.program.call("defaults", keys=keys)
    assert told == {"fetch.min.bytes": "1", "fetch.max.wait.ms": "500"}


@pytest.mark.spec("admin:CO-20")
def test_read_committed_hides_open_and_aborted_transactions(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """Until a transaction ends nothing behind its start is read; what was aborted never is."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "transactional.id": f"of-{group}"}
    )
    producer.init_transactions(TIMEOUT_SECONDS)
    strict = reader(members, topic, group, isolation_level="read_committed")
    curious = reader(members, topic, group, isolation_level="read_uncommitted")

    def written(word: bytes) -> None:
        producer.begin_transaction()
        producer.produce(topic, word, partition=0)
        assert producer.flush(TIMEOUT_SECONDS) == 0

    written(b"aborted")
    write(bootstrap, topic, [b"plain"])
    assert values(curious.take(2)) == [b"aborted", b"plain"]
    assert strict.poll(0.3) is None
    producer.abort_transaction(TIMEOUT_SECONDS)
    assert values(strict.take(1)) == [b"plain"]
    written(b"committed")
    assert values(curious.take(1)) == [b"committed"]
    assert strict.poll(0.2) is None
    producer.commit_transaction(TIMEOUT_SECONDS)
    assert values(strict.take(1)) == [b"committed"]


@pytest.mark.spec("book1:C-27")
def test_a_partition_gives_no_more_than_max_partition_fetch_bytes(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str
) -> None:
    """One fetch of one partition brings whole batches up to the limit, and at least one."""
    for value in (b"a" * 4000, b"b" * 4000, b"c" * 4000, b"d" * 50_000):
        write(bootstrap, topic, [value])
    consumer = java_consumers.open(max_partition_fetch_bytes="9000")
    consumer.call("assign", partitions=[(topic, 0)])
    consumer.call("seek", partitions=[(topic, 0)], offset=0)
    sizes: list[int] = []
    while sum(sizes) < 4:
        sizes.append(consumer.call("poll_once", timeout_ms=5000)["count"])
    assert [each for each in sizes if each] == [2, 1, 1]
