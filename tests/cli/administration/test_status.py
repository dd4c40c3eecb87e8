"""A cluster in a few numbers, without one."""

from __future__ import annotations

from headrace.admin.settings import SettingView, Source
from headrace.admin.views import (
    BrokerView,
    ClusterView,
    PartitionView,
    Reassignment,
    TopicView,
)
from headrace.cli.cluster_status import summarize
from headrace.types import ZERO_UUID, TopicPartition


def partition(number: int, leader: int | None, *isr: int) -> PartitionView:
    return PartitionView(number, leader, (0, 1, 2), isr, (), None, None)


def test_a_dead_broker_is_shown_with_what_it_should_hold() -> None:
    """Counts of what it leaves ailing stand beside."""
    cluster = ClusterView(
        "id", -1, (BrokerView(0, "h", 1, "r", False), BrokerView(1, "h", 2, None, False))
    )
    topic = TopicView(
        "t",
        ZERO_UUID,
        False,
        (partition(0, 0, 0, 1), partition(1, 1, 1), partition(2, None), partition(3, 0, 0, 1, 2)),
    )
    settings = {"t": [SettingView("min.insync.replicas", "2", Source.DYNAMIC_TOPIC_CONFIG)]}
    moves = {TopicPartition("t", 3): Reassignment((0, 1, 2), (), (2,))}
    found = summarize(cluster, [topic], settings, moves)
    assert found["controller"] is None
    assert found["partitions"] == {
        "total": 4,
        "under_replicated": 3,
        "offline": 1,
        "under_min_isr": 2,
        "reassigning": 1,
    }
    assert [(each["broker"], each["leads"], each["state"]) for each in found["brokers"]] == [
        (0, 2, "up"),
        (1, 1, "up"),
        (2, 0, "down"),
    ]
    assert found["brokers"][2] == {
        "broker": 2,
        "host": None,
        "port": None,
        "rack": None,
        "leads": 0,
        "prefers": 0,
        "replicas": 4,
        "state": "down",
    }
