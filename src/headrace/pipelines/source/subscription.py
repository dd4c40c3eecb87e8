"""Which topics and partitions a query reads: by name, by pattern or one by one.

The answer is asked of the cluster anew each time, so partitions and topics that come later are
found. What is missing is for the caller to judge: at the start of a query it is a mistake, later
it is a loss.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from headrace.client.cluster import Cluster, TopicMetadata
from headrace.errors import ConfigError
from headrace.pipelines.new_topics import create_topics
from headrace.pipelines.run_environment import OWN_BROKER
from headrace.types import ZERO_UUID, TopicPartition


@dataclass(frozen=True, slots=True)
class TopicNames:
    """Option `subscribe`: all partitions of these topics."""

    names: frozenset[str]

    def covers(self, partition: TopicPartition) -> bool:
        return partition.topic in self.names

    def __str__(self) -> str:
        return f"subscribe = {','.join(sorted(self.names))}"


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """Option `subscribePattern`: all topics whose whole name matches; internal ones never."""

    pattern: str

    def covers(self, partition: TopicPartition) -> bool:
        return re.fullmatch(self.pattern, partition.topic) is not None

    def __str__(self) -> str:
        return f"subscribePattern = {self.pattern}"


@dataclass(frozen=True, slots=True)
class Assignment:
    """Option `assign`: these partitions and no other."""

    partitions: frozenset[TopicPartition]

    def covers(self, partition: TopicPartition) -> bool:
        return partition in self.partitions

    def __str__(self) -> str:
        return f"assign = {', '.join(str(partition) for partition in sorted(self.partitions))}"


Subscription = TopicNames | TopicPattern | Assignment


def parse_names(option: str, text: str) -> TopicNames:
    """Names between commas."""
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ConfigError(f"option {option} is {text!r}, which names no topic")
    return TopicNames(names)


def parse_pattern(option: str, text: str) -> TopicPattern:
    """A regular expression for whole names."""
    pattern = text.strip()
    if not pattern:
        raise ConfigError(f"option {option} is empty; give a regular expression for topic names")
    try:
        re.compile(pattern)
    except re.error as fault:
        raise ConfigError(
            f"option {option} is {text!r}, which is not a regular expression "
            f"that Python understands ({fault})"
        ) from None
    return TopicPattern(pattern)


def find_topics(cluster: Cluster, subscription: Subscription) -> dict[str, TopicMetadata]:
    """The topics of the subscription that exist now."""
    match subscription:
        case TopicNames(names):
            return cluster.topics(names)
        case TopicPattern(pattern):
            return {
                name: topic
                for name, topic in cluster.topics().items()
                if not topic.is_internal and re.fullmatch(pattern, name)
            }
        case Assignment(partitions):
            return cluster.topics({partition.topic for partition in partitions})


def partitions_of(
    subscription: Subscription, topics: Mapping[str, TopicMetadata]
) -> set[TopicPartition]:
    """The partitions of these topics that the subscription covers."""
    existing = {
        TopicPartition(name, partition)
        for name, topic in topics.items()
        for partition in topic.partitions
    }
    if isinstance(subscription, Assignment):
        return existing & subscription.partitions
    return existing


def missing_from(subscription: Subscription, topics: Mapping[str, TopicMetadata]) -> list[str]:
    """What the subscription names and the cluster does not have. A pattern names nothing."""
    match subscription:
        case TopicNames(names):
            return sorted(names - topics.keys())
        case TopicPattern():
            return []
        case Assignment(partitions):
            absent = partitions - partitions_of(subscription, topics)
            return [str(partition) for partition in sorted(absent)]


def topics_at_start(cluster: Cluster, subscription: Subscription) -> dict[str, TopicMetadata]:
    """The topics of a query that starts: all that it names must be there."""
    topics = find_topics(cluster, subscription)
    missing = missing_from(subscription, topics)
    if missing:
        servers = ",".join(f"{host}:{port}" for host, port in cluster.settings.bootstrap_servers)
        if servers == os.environ.get(OWN_BROKER) and isinstance(subscription, TopicNames):
            return topics | create_topics(cluster, missing)
        raise ConfigError(
            f"{subscription}: {', '.join(missing)} cannot be found at {servers}. "
            "Create it first, or look for a misspelling with `headrace topic list`"
        )
    return topics


def topic_ids(topics: Mapping[str, TopicMetadata]) -> dict[str, UUID]:
    """Ids by topic; a broker too old for them gives none."""
    return {name: topic.topic_id for name, topic in topics.items() if topic.topic_id != ZERO_UUID}
