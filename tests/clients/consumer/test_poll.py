"""The poll loop: what a poll brings, how long it waits, and where it leaves the consumer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import OFFSET_INVALID, TopicPartition

from tests.clients.consumer.application import (
    TIMEOUT_SECONDS,
    Members,
    committed_of,
    numbered,
    offsets,
    settled,
    values,
    write,
)
from tests.clients.drivers.java_consumer import OpenedConsumers
from tests.clients.groups.raw_members import described
from tests.clients.raw import Connection


@pytest.mark.spec("slides:D16", "admin:CO-01", "admin:CO-02")
def test_every_poll_moves_the_position_and_nothing_else(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """The position is the next record to read, in memory; the committed offset stays."""
    write(bootstrap, topic, numbered(10))
    member = members.new(group)
    member.consumer.assign([TopicPartition(topic, 0, 4)])

    def position() -> int:
        (found,) = member.consumer.position([TopicPartition(topic, 0)])
        return int(found.offset)

    assert position() == OFFSET_INVALID
    assert values(member.take(2)) == [b"4", b"5"]
    assert position() == 6
    assert values(member.take(4)) == [b"6", b"7", b"8", b"9"]
    assert position() == 10
    assert committed_of(bootstrap, group, topic) is None


@pytest.mark.spec("slides:D27", "slides:D28", "slides:D37", "slides:D38", "book1:C-36")
def test_poll_returns_what_is_there_at_once(
    bootstrap: str, java_consumers: OpenedConsumers, new_topic: Callable[..., str]
) -> None:
    """Records of several partitions come in one ConsumerRecords, long before the timeout."""
    topic = new_topic(partitions=2)
    for partition in range(2):
        write(bootstrap, topic, numbered(3), partition=partition, key=b"k")
    consumer = java_consumers.open()
    consumer.call("assign", partitions=[(topic, 0), (topic, 1)])
    for partition in range(2):
        consumer.call("seek", partitions=[(topic, partition)], offset=1)
    told = consumer.call("poll_once", timeout_ms=TIMEOUT_SECONDS * 1000)
    assert told["took_ms"] < TIMEOUT_SECONDS * 1000 / 2
    assert told["count"] == len(told["records"]) == 4
    assert told["partitions"] == [[topic, 0], [topic, 1]]
    found = {
        (each["topic"], each["partition"], each["offset"], each["key"], each["value"])
        for each in told["records"]
    }
    assert found == {
        (topic, partition, offset, "k", str(offset)) for partition in (0, 1) for offset in (1, 2)
    }


@pytest.mark.spec("slides:D27", "slides:D28")
def test_poll_waits_as_long_as_it_is_told_for_nothing(
    java_consumers: OpenedConsumers, topic: str
) -> None:
    """An empty topic gives an empty ConsumerRecords after the timeout, not before it."""
    consumer = java_consumers.open()
    consumer.call("assign", partitions=[(topic, 0)])
    told = consumer.call("poll_once", timeout_ms=300)
    assert (told["count"], told["partitions"], told["records"]) == (0, [], [])
    assert told["took_ms"] >= 290


@pytest.mark.spec("slides:D29")
@pytest.mark.parametrize("most", [5, 100, 500])
def test_max_poll_records_is_a_cap_per_poll(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str, most: int
) -> None:
    """However much was fetched, a poll brings no more; the rest comes later, in order."""
    write(bootstrap, topic, numbered(most + 3))
    consumer = java_consumers.open(max_poll_records=str(most))
    consumer.call("assign", partitions=[(topic, 0)])
    sizes: list[int] = []
    found: list[int] = []
    while len(found) < most + 3:
        told = consumer.call("poll_once", timeout_ms=5000)
        assert told["count"] > 0
        sizes.append(told["count"])
        found += [each["offset"] for each in told["records"]]
    assert max(sizes) <= most
    assert found == list(range(most + 3))


@pytest.mark.spec("book1:C-11", "book1:C-12", "slides:D36")
def test_the_first_poll_joins_the_group(
    connection: Connection,
    java_consumers: OpenedConsumers,
    new_topic: Callable[..., str],
    group: str,
) -> None:
    """Nobody knows the group after subscribe; polling finds it, joins it and is assigned."""
    topic = new_topic(partitions=3)
    consumer = java_consumers.join(group, topic)
    assert described(connection, group).group_state == "Dead"
    assert consumer.numbers == []
    java_consumers.poll([consumer], partitions=[3])
    found = described(connection, group)
    assert (found.group_state, len(found.members)) == ("Stable", 1)
    leaders = consumer.call("partitions_for", topic=topic)
    assert [partition for partition, _ in sorted(leaders)] == [0, 1, 2]
    assert all(leader >= 0 for _, leader in leaders)


@pytest.mark.spec("slides:D26")
def test_a_paused_partition_stays_owned_but_silent(
    bootstrap: str,
    connection: Connection,
    members: Members,
    new_topic: Callable[..., str],
    group: str,
) -> None:
    """Pause takes a partition out of later polls; no rebalance happens; resume brings it back."""
    topic = new_topic(partitions=2)
    member = members.join(group, topic)
    settled([member], lambda: len(member.partitions) == 2, "both partitions")
    member.consumer.pause([TopicPartition(topic, 1)])
    for partition in range(2):
        write(bootstrap, topic, numbered(20), partition=partition)
    assert {message.partition() for message in member.take(20)} == {0}
    assert member.poll(0.3) is None
    assert member.partitions == [(topic, 0), (topic, 1)]
    assert member.events == [("assigned", [(topic, 0), (topic, 1)])]
    assert described(connection, group).group_state == "Stable"
    member.consumer.resume([TopicPartition(topic, 1)])
    resumed = member.take(20)
    assert {message.partition() for message in resumed} == {1}
    assert offsets(resumed) == list(range(20))


@pytest.mark.spec("slides:D26")
def test_the_java_client_pauses_as_well(
    bootstrap: str, java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """`pause`, `paused` and `resume` of the Java client, within a group."""
    topic = new_topic(partitions=2)
    consumer = java_consumers.join(group, topic)
    java_consumers.poll([consumer], partitions=[2])
    assert consumer.call("pause", partitions=[(topic, 0)]) == [[topic, 0]]
    for partition in range(2):
        write(bootstrap, topic, numbered(5), partition=partition)
    assert {each["partition"] for each in consumer.take(5)} == {1}
    assert consumer.call("poll_once", timeout_ms=200)["count"] == 0
    assert consumer.numbers == [0, 1]
    assert consumer.call("resume", partitions=[(topic, 0)]) == []
    assert [each["partition"] for each in consumer.take(5)] == [0] * 5
