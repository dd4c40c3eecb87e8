"""Who is still there: sessions, the interval between polls, and members that come back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError

from tests.clients.consumer.application import Members, settled, shared_out
from tests.clients.drivers.java_consumer import OpenedConsumers
from tests.clients.groups.raw_members import described, described_consumer
from tests.clients.raw import Connection


@pytest.mark.spec("slides:D30", "admin:CO-17")
def test_too_long_between_polls_is_one_rebalance_out_and_one_in(
    members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """Heartbeats do not save who does not poll; who polls again is back after one rebalance."""
    topic = new_topic(partitions=2)
    lazy = members.join(group, topic, session_timeout_ms=1000, max_poll_interval_ms=1000)
    busy = members.join(group, topic)
    shared_out([lazy, busy], 1, 1)
    before = len(busy.events)
    settled([busy], lambda: len(busy.partitions) == 2, "the partitions of the lazy one")
    settled([lazy, busy], lambda: lazy.faults != [], "the lazy one to be told")
    assert lazy.faults[0].args[0].code() == KafkaError._MAX_POLL_EXCEEDED
    shared_out([lazy, busy], 1, 1)
    # Each rebalance takes everything and gives anew: two of them, not three.
    assert [what for what, _ in busy.events[before:]] == ["revoked", "assigned"] * 2


@pytest.mark.spec("slides:D30", "admin:CO-17", "book1:C-26")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_java_client_leaves_when_it_is_not_polled(
    connection: Connection,
    java_consumers: OpenedConsumers,
    new_topic: Callable[..., str],
    group: str,
    protocol: str,
) -> None:
    """It leaves by itself, long before its session is over; the other one has its work then."""
    topic = new_topic(partitions=2)
    settings = {"group_protocol": protocol}
    lazy = java_consumers.join(group, topic, max_poll_interval_ms="1000", **settings)
    busy = java_consumers.join(group, topic, **settings)
    java_consumers.poll([lazy, busy], partitions=[1, 1])
    for each in (lazy, busy):
        each.call("events")
    java_consumers.poll([busy], partitions=[2])
    java_consumers.poll([lazy, busy], partitions=[1, 1])
    # In the new protocol a member is told of its epoch before it is given anything.
    moves = [
        [what for what, partitions in each.call("events") if partitions] for each in (lazy, busy)
    ]
    others = ["revoked", "assigned"] * 2 if protocol == "classic" else ["assigned", "revoked"]
    assert moves == [["lost", "assigned"], others]
    show = described if protocol == "classic" else described_consumer
    assert len(show(connection, group).members) == 2
