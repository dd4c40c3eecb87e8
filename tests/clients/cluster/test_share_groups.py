"""Share groups in a cluster: leaders of partitions and share coordinators on different brokers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

from tests.clients.cluster.clients import Writer
from tests.clients.share.group_settings import configure

if TYPE_CHECKING:
    from headrace.testing import Cluster
    from tests.clients.cluster.observing import Observer

RECORDS = 60
PATIENCE_SECONDS = 150.0  # the session of a member whose coordinator died lasts 45 of them


def take(source: ShareConsumer, count: int) -> list[Message]:
    taken: list[Message] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(taken) < count and time.monotonic() < deadline:
        taken += [each for each in source.poll(0.5) if each.error() is None]
    return taken


def open_consumer(cluster: Cluster, group: str, topic: str, mode: str) -> ShareConsumer:
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": group,
        "share.acknowledgement.mode": mode,
        "log_level": 0,
    }
    opened = ShareConsumer(settings)
    opened.subscribe([topic])
    return opened


@pytest.mark.timeout(600)
def test_a_queue_goes_on_when_a_leader_is_killed(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """The new leader knows what was accepted on the old one: nothing of it is delivered again."""
    topic = new_topic({0: [1, 2], 1: [2, 3], 2: [3, 1]})
    group = f"queue-{topic}"
    configure(cluster.bootstrap_servers, group, share_auto_offset_reset="earliest")
    writer = Writer(cluster.bootstrap_servers, topic)
    for number in range(RECORDS):
        writer.write(b"%d" % number, partition=number % 3)
    source = open_consumer(cluster, group, topic, "explicit")
    accepted: set[int] = set()
    while len(accepted) < RECORDS // 2:
        for message in take(source, 1):
            number = int(message.value() or b"")
            is_odd = bool(number % 2)
            source.acknowledge(
                message, AcknowledgeType.ACCEPT if is_odd else AcknowledgeType.RELEASE
            )
            accepted |= {number} if is_odd else set()
        assert set(source.commit_sync(PATIENCE_SECONDS).values()) == {None}
    cluster.broker(1).kill()
    observer.until_led_by(topic, 2)
    heir = open_consumer(cluster, group, topic, "implicit")
    try:
        source.close()
    except KafkaException:
        pass  # one of its brokers is dead
    again = take(heir, RECORDS // 2)
    assert sorted(int(each.value() or b"") for each in again) == list(range(0, RECORDS, 2))
    heir.close()
