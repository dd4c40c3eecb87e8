"""Brokers die and come back; clients go on, and nothing that was acknowledged is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Error
from tests.clients.cluster.clients import Writer, read_all
from tests.clients.cluster.observing import GROUP, Observer

if TYPE_CHECKING:
    from headrace.testing import Cluster


@pytest.mark.spec(
    "slides:B01",
    "slides:B30",
    "slides:B31",
    "book1:R-03",
    "book1:R-05",
    "admin:RC-42",
    "book2:J-06",
    "book2:J-07",
    "book2:J-14",
    "book2:J-20",
)
def test_clients_go_on_when_a_leader_is_killed(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """An in-sync follower leads on, and every acknowledged record is there once, in its place."""
    topic = new_topic({0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]})
    writer = Writer(cluster.bootstrap_servers, topic).begin()
    writer.await_progress()
    before = observer.partitions(topic)
    cluster.broker(1).kill()
    after = observer.until_isr(topic, [2, 3])
    assert after.leader == 2, "the next in-sync replica in the order of the list leads"
    assert after.epoch > before[0].epoch
    assert observer.partition(topic, 1).epoch == before[1].epoch, "who did not lose it leads on"
    writer.await_progress()
    cluster.broker(1).start()
    observer.until_isr(topic, [1, 2, 3])
    writer.end()
    assert not writer.failed
    found = read_all(cluster.bootstrap_servers, topic, len(writer.acknowledged))
    assert found == dict.fromkeys(writer.acknowledged, 1)


@pytest.mark.spec("admin:RC-25", "book1:R-15", "admin:RC-24")
def test_another_broker_is_the_controller_when_it_is_killed(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """Exactly one of the others is, and does what was left undone: a leader for the dead one's."""
    first = observer.controller()
    others = [each for each in (1, 2, 3) if each != first]
    topic = new_topic({0: [first, *others]})
    cluster.broker(first).kill()
    second = observer.controller()
    assert second in others
    assert observer.until_isr(topic, others).leader == others[0]
    new_topic({0: others})


@pytest.mark.spec("admin:RC-22", "slides:B20", "slides:B29", "admin:RC-33", "book2:J-12")
def test_the_last_in_sync_replica_alone_may_lead(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """A partition whose in-sync replicas are all dead is offline until one of them returns."""
    topic = new_topic({0: [1, 2]})
    writer = Writer(cluster.bootstrap_servers, topic)
    cluster.broker(2).kill()
    observer.until_isr(topic, [1])
    writer.write(b"only on 1")
    cluster.broker(1).kill()
    cluster.broker(2).start()
    seen = observer.until(
        lambda: observer.partition(topic, 0, 2), lambda found: found.offline == {1}, "1 is offline"
    )
    assert (seen.leader, seen.isr, seen.error) == (-1, {1}, Error.LEADER_NOT_AVAILABLE)
    cluster.broker(1).start()
    observer.until_isr(topic, [1, 2])
    assert read_all(cluster.bootstrap_servers, topic, 1) == {b"only on 1": 1}


@pytest.mark.spec("slides:B32", "book2:J-21")
def test_a_group_goes_on_when_its_coordinator_is_killed(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """Offsets that were committed are known to the next coordinator, and commits go on."""
    from confluent_kafka import Consumer, TopicPartition

    topic = new_topic({0: [1, 2, 3]})
    writer = Writer(cluster.bootstrap_servers, topic)
    writer.write(*[b"%d" % number for number in range(10)])
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    read: list[bytes | None] = []
    while len(read) < 5:
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        read.append(message.value())
    consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    cluster.broker(observer.coordinator(topic, GROUP)).kill()
    while len(read) < 10:
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        read.append(message.value())
    (known,) = consumer.committed([TopicPartition(topic, 0)], timeout=20)
    assert known.offset == 5
    consumer.commit(offsets=[TopicPartition(topic, 0, 10)], asynchronous=False)
    (known,) = consumer.committed([TopicPartition(topic, 0)], timeout=20)
    assert known.offset == 10
    consumer.close()
    assert read == [b"%d" % number for number in range(10)]
