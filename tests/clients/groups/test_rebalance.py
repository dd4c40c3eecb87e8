"""Subscriptions and what their listeners are told when the group is rebalanced."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.consumer.application import Members, shared_out
from tests.clients.drivers.java_consumer import JavaConsumer, OpenedConsumers
from tests.clients.raw import Connection
from tests.clients.requests import create_topic, delete_topic


def topics_of(consumer: JavaConsumer) -> set[str]:
    return {topic for topic, _ in consumer.call("assignment")}


@pytest.mark.spec("slides:D22", "book1:C-14")
def test_subscribe_to_names(
    java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """A list of topics is enough; a second subscribe replaces the first."""
    topics = [new_topic() for _ in range(3)]
    consumer = java_consumers.open(group_id=group)
    consumer.call("subscribe", topics=topics[:2])
    java_consumers.poll([consumer], partitions=[2])
    assert topics_of(consumer) == set(topics[:2])
    assert set(consumer.call("subscription")) == set(topics[:2])
    consumer.call("subscribe", topics=topics[2:])
    java_consumers.poll([consumer], partitions=[1])
    assert topics_of(consumer) == {topics[2]}


@pytest.mark.spec("slides:D22", "slides:D24", "book1:C-16", "book1:C-28")
def test_a_listener_hears_of_every_loss_before_and_every_gain_after(
    java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """onPartitionsRevoked while the member still owns them and can commit, then Assigned."""
    topic = new_topic(partitions=2)
    both = [[topic, 0], [topic, 1]]
    first = java_consumers.open(group_id=group)
    # Its commit inside the listener fails the poll if the member is no owner any more.
    first.call("subscribe", topics=[topic], listener=True, commit_on_revoke=True)
    java_consumers.poll([first], partitions=[2])
    assert first.call("events") == [["assigned", both]]
    second = java_consumers.join(group, topic)
    java_consumers.poll([first, second], partitions=[1, 1])
    (kept,) = first.call("assignment")
    (moved,) = second.call("assignment")
    assert first.call("events") == [["revoked", both], ["assigned", [kept]]]
    assert second.call("events") == [["assigned", [moved]]]
    first.close()
    java_consumers.poll([second], partitions=[2])
    assert second.call("events") == [["revoked", [moved]], ["assigned", both]]


@pytest.mark.spec("slides:D22", "book1:C-15", "admin:CO-12")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_pattern_follows_topics_that_come_and_go(
    connection: Connection,
    java_consumers: OpenedConsumers,
    topic_name: str,
    group: str,
    protocol: str,
) -> None:
    """Topics that match are read from their creation to their deletion; others never are."""
    matching = [f"{topic_name}-in-{number}" for number in range(2)]
    for name in (matching[0], f"{topic_name}-out"):
        create_topic(connection, name)
    consumer = java_consumers.open(group_id=group, group_protocol=protocol)
    consumer.call("subscribe", pattern=f"{topic_name}-in-.*", listener=True)
    java_consumers.poll([consumer], partitions=[1])
    assert topics_of(consumer) == {matching[0]}
    create_topic(connection, matching[1])
    java_consumers.poll([consumer], partitions=[2])
    assert topics_of(consumer) == set(matching)
    delete_topic(connection, matching[0])
    java_consumers.poll([consumer], partitions=[1])
    assert topics_of(consumer) == {matching[1]}
    events = consumer.call("events")
    assert any(what == "assigned" and [matching[1], 0] in pairs for what, pairs in events)
    assert any(what != "assigned" and [matching[0], 0] in pairs for what, pairs in events)


@pytest.mark.spec("book1:C-15")
def test_the_coordinator_matches_patterns_too(
    connection: Connection, java_consumers: OpenedConsumers, topic_name: str, group: str
) -> None:
    """A SubscriptionPattern is resolved by the coordinator, in RE2's language (KIP-848)."""
    matching = [f"{topic_name}-in-{number}" for number in range(2)]
    for name in (matching[0], f"{topic_name}-out"):
        create_topic(connection, name)
    consumer = java_consumers.open(group_id=group, group_protocol="consumer")
    consumer.call("subscribe", re2=f"{topic_name}-in-[0-9]+")
    java_consumers.poll([consumer], partitions=[1])
    assert topics_of(consumer) == {matching[0]}


@pytest.mark.spec("slides:D22", "book1:C-15")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_subscribes_to_a_pattern(
    connection: Connection, members: Members, topic_name: str, group: str, protocol: str
) -> None:
    """A name that begins with ^ is a pattern, for itself or for the coordinator."""
    names = [f"{topic_name}-in-{number}" for number in range(2)]
    for name in (*names, f"{topic_name}-out"):
        create_topic(connection, name)
    member = members.join(group, f"^{topic_name}-in-.*", group_protocol=protocol)
    shared_out([member], 2)
    assert member.partitions == [(name, 0) for name in names]


def test_unsubscribing_leaves_the_group(
    members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """Who unsubscribes gives up all it has, and the others take it at once."""
    topic = new_topic(partitions=2)
    pair = [members.join(group, topic) for _ in range(2)]
    shared_out(pair, 1, 1)
    pair[0].consumer.unsubscribe()
    shared_out(pair, 0, 2)
