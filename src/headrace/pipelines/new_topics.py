"""Topics that a broker makes when they are asked for, if `auto.create.topics.enable` lets it."""

from __future__ import annotations

from collections.abc import Collection

from headrace.client.cluster import Cluster, TopicMetadata
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


def create_topics(cluster: Cluster, names: Collection[str]) -> dict[str, TopicMetadata]:
    """Ask for these topics as every producer does; UnknownTopic if the broker makes none."""
    deadline = cluster.deadline(f"asking for the topics {', '.join(names)}")
    topics = [MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=True)
    cluster.call(cluster.any_broker(within=deadline), request, deadline)
    return {name: cluster.topic(name, within=deadline) for name in names}
