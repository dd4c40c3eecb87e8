"""One look at a cluster: who leads what, how far every partition is, what groups have committed.

Only requests that every Kafka broker answers, so that it works on any cluster. What one broker does
not tell (its disks, without the right to ask) is missing from the sample and does not spoil it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headrace.admin.client import Admin
from headrace.admin.groups import list_consumer_groups
from headrace.admin.views import ClusterView, TopicView
from headrace.client.faults import BrokerRefused
from headrace.client.group_offsets import committed_offsets
from headrace.client.offsets import LATEST, list_offsets
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition


class GroupSample(NamedTuple):
    """A consumer group and its committed offsets."""

    group: str
    state: str
    committed: Mapping[TopicPartition, int]


class Sample(NamedTuple):
    """What was seen; `sizes` are bytes by broker and partition, where brokers tell them."""

    at_s: float
    cluster: ClusterView
    topics: tuple[TopicView, ...]
    ends: Mapping[TopicPartition, int]
    sizes: Mapping[int, Mapping[TopicPartition, int]]
    groups: tuple[GroupSample, ...]


def take(admin: Admin, at_s: float) -> Sample:
    """Ask the cluster once; `at_s` is the time of a monotonic clock."""
    cluster = admin.describe_cluster()
    topics = tuple(admin.topics())
    led = {
        TopicPartition(topic.name, each.number): LATEST
        for topic in topics
        for each in topic.partitions
        if each.leader in cluster.ids
    }
    ends = list_offsets(admin.cluster, led, read_committed=False) if led else {}
    return Sample(
        at_s=at_s,
        cluster=cluster,
        topics=topics,
        ends={where: found.offset for where, found in ends.items()},
        sizes={broker: _sizes(admin, broker) for broker in sorted(cluster.ids)},
        groups=tuple(_groups(admin)),
    )


def _groups(admin: Admin) -> list[GroupSample]:
    found = []
    for each in list_consumer_groups(admin):
        try:
            offsets = committed_offsets(admin.cluster, each.group)
        except BrokerRefused as error:
            if error.error is not Error.GROUP_AUTHORIZATION_FAILED:
                raise
            continue  # Listed, but not for our eyes.
        committed = {where: offset for where, (offset, _) in offsets.items()}
        found.append(GroupSample(each.group, each.state, committed))
    return found


def _sizes(admin: Admin, broker: int) -> dict[TopicPartition, int]:
    from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest

    try:
        answer = admin.ask_broker(broker, DescribeLogDirsRequest(topics=None))
    except HeadraceError:
        return {}  # It is going away, or too old; the rest of the sample is worth showing.
    return {
        TopicPartition(topic.name, each.partition_index): each.partition_size
        for folder in answer.results
        for topic in folder.topics
        for each in topic.partitions
        if not each.is_future_key
    }
