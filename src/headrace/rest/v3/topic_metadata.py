"""Topics as metadata describes them, asked for at the moment of the request and not kept.

The client's own view of topics only has leaders; resources show replicas, those in sync and what
a principal may do, so the answer is used as it came.
"""

from __future__ import annotations

from typing import Final

from headrace.client.cluster import Cluster
from headrace.errors import Error
from headrace.rest.v3 import faults
from headrace.rest.v3.asking import ask_any
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

_UNNAMED: Final = ""


def describe_topics(
    cluster: Cluster, names: list[str] | None = None, *, with_operations: bool = False
) -> list[MetadataResponseTopic]:
    """These topics, or all, in the order of their names; one that does not exist is an error."""
    request = MetadataRequest(
        topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=with_operations,
    )
    response: MetadataResponse = ask_any(cluster, request, "describing topics")
    if response.error_code:
        raise faults.of_code(response.error_code)
    for topic in response.topics:
        # A partition without a leader is no reason to hide its topic.
        if topic.error_code and topic.error_code != Error.LEADER_NOT_AVAILABLE:
            raise faults.of_code(topic.error_code)
    return sorted(response.topics, key=lambda topic: topic.name or _UNNAMED)


def describe_topic(
    cluster: Cluster, name: str, *, with_operations: bool = False
) -> MetadataResponseTopic:
    found = describe_topics(cluster, [name], with_operations=with_operations)
    if not found:
        raise faults.of_code(Error.UNKNOWN_TOPIC_OR_PARTITION)
    return found[0]


def describe_partition(cluster: Cluster, name: str, partition: int) -> MetadataResponsePartition:
    for found in describe_topic(cluster, name).partitions:
        if found.partition_index == partition:
            return found
    raise faults.of_code(Error.UNKNOWN_TOPIC_OR_PARTITION)


def partitions_of(topic: MetadataResponseTopic) -> list[MetadataResponsePartition]:
    return sorted(topic.partitions, key=lambda partition: partition.partition_index)


def topic_names(cluster: Cluster) -> list[str]:
    return [topic.name for topic in describe_topics(cluster) if topic.name is not None]
