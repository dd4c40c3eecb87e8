"""Which settings bound a reassignment."""

from __future__ import annotations

from headrace.admin.client import BROKER, TOPIC, Changes
from headrace.admin.throttles import (
    moves_of,
    rates,
    removal,
    replicas_to_throttle,
)
from headrace.admin.views import Reassignment
from headrace.types import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_sources_and_newcomers_are_throttled_and_nobody_else() -> None:
    """A follower in sync would leave the ISR if it were slowed down."""
    ongoing = {B0: Reassignment((4, 5), (5,), ())}
    moves = moves_of(ongoing, {A0: (1, 2), A1: (2, 1)}, {A0: (0, 1), A1: (1, 2)})
    assert replicas_to_throttle(moves) == [
        Changes(
            TOPIC,
            "a",
            {
                "leader.replication.throttled.replicas": "0:0,0:1,1:1,1:2",
                "follower.replication.throttled.replicas": "0:2",
            },
        ),
        Changes(
            TOPIC,
            "b",
            {
                "leader.replication.throttled.replicas": "0:4",
                "follower.replication.throttled.replicas": "0:5",
            },
        ),
    ]
    assert [change.name for change in rates(moves, 1000)] == ["0", "1", "2", "4", "5"]
    assert rates(moves, 1000)[0].values == {
        "leader.replication.throttled.rate": "1000",
        "follower.replication.throttled.rate": "1000",
    }


def test_a_second_plan_for_a_moving_partition_counts_from_where_it_was() -> None:
    """Who only receives it is no source."""
    ongoing = {A0: Reassignment((0, 1, 2), (2,), (0,))}
    (move,) = moves_of(ongoing, {A0: (1, 3)}, {A0: (0, 1, 2)}).values()
    assert move == (frozenset({0, 1}), frozenset({3}))


def test_everything_that_was_set_is_taken_away() -> None:
    """From every broker and every topic."""
    of_brokers, of_topics = removal([1, 0], ["a"])
    assert [change.name for change in of_brokers] == ["0", "1"]
    assert all(value is None for change in of_brokers for value in change.values.values())
    assert of_brokers[0].kind == BROKER
    assert set(of_topics[0].values) == {
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
    }
