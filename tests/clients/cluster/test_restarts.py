"""Brokers stop, freeze, lose their disks, and are whole again afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from headrace.wire.messages.delete_topics import DeleteTopicsRequest
from tests.clients.cluster.clients import Writer, read_all
from tests.clients.cluster.observing import Observer

if TYPE_CHECKING:
    from headrace.testing import Cluster


@pytest.mark.spec("admin:RC-38", "admin:RQ-28", "book1:R-17", "slides:A36", "slides:M13")
def test_a_broker_that_stops_hands_its_leaderships_over_first(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """Rolling restarts under load: nothing fails, and each takes far less than a session."""
    topic = new_topic({0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]})
    writer = Writer(cluster.bootstrap_servers, topic).begin()
    writer.await_progress()
    for broker in cluster.brokers:
        broker.stop()
        for index in range(3):
            seen = observer.partition(topic, index)
            assert broker.id not in seen.isr, "it has left before it ended"
            assert seen.leader not in (broker.id, -1)
        broker.start()
        for index in range(3):
            observer.until_isr(topic, [1, 2, 3], index)
    writer.end()
    assert not writer.failed
    found = read_all(cluster.bootstrap_servers, topic, len(writer.acknowledged))
    assert found == dict.fromkeys(writer.acknowledged, 1)


@pytest.mark.spec("admin:RC-39", "book2:K-10", "book2:A11-02")
def test_a_broker_with_an_empty_disk_gets_everything_back(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """A new machine under the id of a dead one fetches all replicas and is in sync again."""
    topic = new_topic({0: [1, 2, 3]})
    writer = Writer(cluster.bootstrap_servers, topic)
    writer.write(*[b"%d" % number for number in range(100)])
    cluster.broker(1).kill()
    shutil.rmtree(cluster.broker(1).data_dir)
    cluster.broker(1).start()
    observer.until_isr(topic, [1, 2, 3])
    cluster.broker(2).kill()
    cluster.broker(3).kill()
    observer.until_isr(topic, [1])
    assert observer.partition(topic).leader == 1
    cluster.broker(2).start()
    found = read_all(cluster.bootstrap_servers, topic, 100)
    assert found == {b"%d" % number: 1 for number in range(100)}


def test_a_broker_that_was_frozen_joins_again(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """Its session expires, others lead; when it wakes it follows, cuts what nobody has, and syncs.

    What it took with acks=1 while it froze was acknowledged by it alone, and is gone.
    """
    topic = new_topic({0: [1, 2, 3]})
    writer = Writer(cluster.bootstrap_servers, topic).begin()
    writer.await_progress()
    epoch = observer.partition(topic).epoch
    cluster.broker(1).pause()
    try:
        led = observer.until(
            lambda: observer.partition(topic, 0, 2), lambda seen: seen.leader == 2, "led by 2"
        )
        assert led.epoch > epoch
        writer.await_progress()
    finally:
        cluster.broker(1).resume()
    seen = observer.until_isr(topic, [1, 2, 3])
    assert seen.leader == 2
    writer.end()
    assert not writer.failed
    found = read_all(cluster.bootstrap_servers, topic, len(writer.acknowledged))
    assert found == dict.fromkeys(writer.acknowledged, 1)


def test_a_topic_that_was_deleted_meanwhile_is_deleted_at_the_start(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """A broker that was down finds out when it comes back, and its folder goes."""
    topic = new_topic({0: [1, 2, 3]})
    Writer(cluster.bootstrap_servers, topic).write(b"one")
    folder = cluster.broker(3).log_dir / f"{topic}-0"
    assert folder.is_dir()
    cluster.broker(3).kill()
    request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000)
    (deleted,) = observer.ask_any(request, 5).responses
    assert deleted.error_code == 0
    cluster.broker(3).start()
    assert not folder.exists()
    for broker in cluster.brokers:
        assert observer.partitions(topic, broker.id) == []
