"""Committed offsets from outside of a group."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused, TimedOut
from headrace.client.group_offsets import commit_offsets, committed_offsets, delete_groups
from headrace.client.producing import RawProducer
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

Opened = Callable[..., Cluster]


def test_offsets_are_kept_with_their_metadata(
    cluster: Cluster, new_topic: Callable[..., str], fresh_name: str
) -> None:
    """All of the group's, the newest of each partition."""
    one, two = new_topic(partitions=2), new_topic()
    assert committed_offsets(cluster, fresh_name) == {}
    commit_offsets(
        cluster, fresh_name, {TopicPartition(one, 0): (5, ""), TopicPartition(one, 1): (7, "x")}
    )
    commit_offsets(
        cluster, fresh_name, {TopicPartition(two, 0): (1, "ü"), TopicPartition(one, 0): (6, "y")}
    )
    commit_offsets(cluster, fresh_name, {})
    assert committed_offsets(cluster, fresh_name) == {
        TopicPartition(one, 0): (6, "y"),
        TopicPartition(one, 1): (7, "x"),
        TopicPartition(two, 0): (1, "ü"),
    }
    asked = [TopicPartition(one, 1), TopicPartition("no-such-topic", 0)]
    some = committed_offsets(cluster, fresh_name, partitions=asked)
    assert some == {TopicPartition(one, 1): (7, "x")}
    assert committed_offsets(cluster, fresh_name, partitions=[]) == {}


def test_deleted_groups_are_empty(cluster: Cluster, topic: str, fresh_name: str) -> None:
    """A group that never was is deleted as well as any."""
    commit_offsets(cluster, fresh_name, {TopicPartition(topic, 0): (5, "")})
    delete_groups(cluster, [fresh_name, f"{fresh_name}-never"])
    assert committed_offsets(cluster, fresh_name) == {}


def test_stable_offsets_wait_for_the_transaction(
    open_cluster: Opened, bootstrap: str, cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """KIP-447: offsets that a transaction may still change are not given out."""
    place = TopicPartition(topic, 0)
    commit_offsets(cluster, fresh_name, {place: (1, "before")})
    producer = RawProducer(cluster, transactional_id=fresh_name)
    producer.begin()
    producer.send_offsets(fresh_name, {place: (2, "after")})
    hasty = open_cluster(bootstrap, default_api_timeout_ms="200")
    with pytest.raises(TimedOut, match=f"{fresh_name}.*UNSTABLE_OFFSET_COMMIT"):
        committed_offsets(hasty, fresh_name, require_stable=True)
    assert committed_offsets(cluster, fresh_name) == {place: (1, "before")}
    producer.commit()
    assert committed_offsets(cluster, fresh_name, require_stable=True) == {place: (2, "after")}


def test_a_group_with_members_is_left_alone(cluster: Cluster, topic: str, fresh_name: str) -> None:
    """The broker refuses, and the text says why."""
    join = ConsumerGroupHeartbeatRequest(
        group_id=fresh_name,
        member_id="somebody",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    assert cluster.coordinator(fresh_name).call(join, 1).error_code == 0
    with pytest.raises(BrokerRefused, match=f"{fresh_name} for {topic}-0.*has members") as caught:
        commit_offsets(cluster, fresh_name, {TopicPartition(topic, 0): (5, "")})
    assert caught.value.error is Error.UNKNOWN_MEMBER_ID
    with pytest.raises(BrokerRefused, match=f"deleting the group {fresh_name}.*stop them first"):
        delete_groups(cluster, [fresh_name])


def test_metadata_that_is_too_long(cluster: Cluster, topic: str, fresh_name: str) -> None:
    """offset.metadata.max.bytes is 4096 by default."""
    with pytest.raises(BrokerRefused, match=r"OFFSET_METADATA_TOO_LARGE; raise offset.metadata"):
        commit_offsets(cluster, fresh_name, {TopicPartition(topic, 0): (5, "x" * 5000)})
