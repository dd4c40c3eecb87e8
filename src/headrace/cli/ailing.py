"""Partitions that are not well, for `topic describe`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.admin.health import (
    OFFLINE,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    ailments,
    min_isr_of,
)
from headrace.admin.settings import topic_settings
from headrace.admin.views import PartitionView, TopicView
from headrace.cli.asking import connect, find_topic
from headrace.cli.target import Target
from headrace.types import TopicPartition


def find_ailing(
    target: Target,
    names: Sequence[str] | None,
    *,
    under_replicated: bool,
    offline: bool,
    under_min_isr: bool,
) -> list[dict[str, Any]]:
    """The partitions of these topics, or of all, that have one of these ailments."""
    chosen = {UNDER_REPLICATED: under_replicated, OFFLINE: offline, UNDER_MIN_ISR: under_min_isr}
    with connect(target) as admin:
        topics = admin.topics()
        if names:
            topics = [find_topic(topics, name) for name in names]
        settings = topic_settings(admin, [topic.name for topic in topics])
        moves = admin.reassignments()
        live = admin.describe_cluster().ids
    rows = []
    for topic in topics:
        for partition in topic.partitions:
            move = moves.get(TopicPartition(topic.name, partition.number))
            states = ailments(partition, move, min_isr_of(settings[topic.name]), live)
            if any(chosen[state] for state in states):
                rows.append(_row(topic, partition, states))
    return rows


def _row(topic: TopicView, partition: PartitionView, states: list[str]) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "partition": partition.number,
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "state": states,
    }
