"""Threads: one may use a consumer, every thread may wake it, and many have one each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.consumer.application import (
    Member,
    Members,
    committed_of,
    numbered,
    settled,
    write,
)
from tests.clients.drivers.java_consumer import OpenedConsumers

THREADS = 3
RECORDS = 30
ESTABLISHED = "01"


@pytest.mark.spec("slides:D33")
def test_wakeup_ends_a_poll_from_another_thread(
    java_consumers: OpenedConsumers, topic: str
) -> None:
    """A poll that would wait for half a minute raises WakeupException; the consumer goes on."""
    consumer = java_consumers.open()
    consumer.call("assign", partitions=[(topic, 0)])
    assert consumer.call("wakeup_during_poll") == "WakeupException"
    assert consumer.call("poll_once", timeout_ms=50)["count"] == 0


@pytest.mark.spec("slides:D34")
def test_two_threads_cannot_use_a_consumer_at_once(
    java_consumers: OpenedConsumers, topic: str
) -> None:
    """While one thread polls, another is refused with ConcurrentModificationException."""
    consumer = java_consumers.open()
    consumer.call("assign", partitions=[(topic, 0)])
    assert consumer.call("use_from_two_threads") == "ConcurrentModificationException"


def connections_to(port: int) -> int:
    """How many connections of this process lead there."""
    rows = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    ends = [(remote, state) for _, _, remote, state, *_ in map(str.split, rows)]
    return sum(
        int(remote.partition(":")[2], 16) == port and state == ESTABLISHED for remote, state in ends
    )


@pytest.mark.spec("slides:D43")
def test_a_consumer_per_thread(
    bootstrap: str, members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """Each thread has connections of its own, reads its partitions in order and commits them."""
    topic = new_topic(partitions=THREADS)
    for partition in range(THREADS):
        write(bootstrap, topic, numbered(RECORDS), partition=partition)
    port = int(bootstrap.rpartition(":")[2])
    before = connections_to(port)
    owners = [members.join(group, topic) for _ in range(THREADS)]
    settled(owners, lambda: all(len(each.partitions) == 1 for each in owners), "one each")
    assert connections_to(port) >= before + THREADS

    def run(member: Member) -> None:
        member.take(RECORDS - len(member.messages))
        member.consumer.commit(asynchronous=False)

    threads = [threading.Thread(target=run, args=[member]) for member in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    for member in owners:
        found = [(each.partition(), each.offset()) for each in member.messages]
        assert found == [(member.numbers[0], offset) for offset in range(RECORDS)]
    for partition in range(THREADS):
        assert committed_of(bootstrap, group, topic, partition) == RECORDS
