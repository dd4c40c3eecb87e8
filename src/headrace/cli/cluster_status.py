"""A cluster in a few numbers: what each broker has and leads, and what is not well. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.admin.health import (
    OFFLINE,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    ailments,
    min_isr_of,
)
from headrace.admin.settings import SettingView
from headrace.admin.views import ClusterView, Reassignment, TopicView
from headrace.types import TopicPartition


def summarize(
    cluster: ClusterView,
    topics: Sequence[TopicView],
    settings: Mapping[str, Sequence[SettingView]],
    reassignments: Mapping[TopicPartition, Reassignment],
) -> dict[str, Any]:
    """Brokers that have replicas and do not live are shown too, as down."""
    leads: Counter[int] = Counter()
    prefers: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    ailing: Counter[str] = Counter()
    for topic in topics:
        for each in topic.partitions:
            replicas.update(each.replicas)
            prefers.update(each.replicas[:1])
            if each.leader is not None:
                leads[each.leader] += 1
            move = reassignments.get(TopicPartition(topic.name, each.number))
            ailing.update(ailments(each, move, min_isr_of(settings[topic.name]), cluster.ids))
    known = {broker.id: broker for broker in cluster.brokers}
    brokers = [
        {
            "broker": broker_id,
            "host": known[broker_id].host if broker_id in known else None,
            "port": known[broker_id].port if broker_id in known else None,
            "rack": known[broker_id].rack if broker_id in known else None,
            "leads": leads[broker_id],
            "prefers": prefers[broker_id],
            "replicas": replicas[broker_id],
            "state": "up" if broker_id in known else "down",
        }
        for broker_id in sorted({*known, *replicas})
    ]
    return {
        "cluster_id": cluster.cluster_id,
        "controller": cluster.controller if cluster.controller >= 0 else None,
        "topics": len(topics),
        "partitions": {
            "total": sum(len(topic.partitions) for topic in topics),
            "under_replicated": ailing[UNDER_REPLICATED],
            "offline": ailing[OFFLINE],
            "under_min_isr": ailing[UNDER_MIN_ISR],
            "reassigning": len(reassignments),
        },
        "brokers": brokers,
    }
