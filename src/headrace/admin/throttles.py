"""Throttles of replication: which settings bound the traffic of a reassignment, and nothing else.

A rate alone slows nothing down. It counts for the replicas that a topic names: on the leaders' side
those that are read from, on the followers' side those that are new, so that followers that are in
sync are not held back and drop out of the ISR.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from headrace.admin.client import BROKER, TOPIC, Changes
from headrace.admin.views import Reassignment
from headrace.types import TopicPartition

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
LOG_DIR_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
BROKER_SETTINGS: Final = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)
TOPIC_SETTINGS: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


class Move(NamedTuple):
    """Who has a partition, and who is to get it."""

    sources: frozenset[int]
    destinations: frozenset[int]


Moves = dict[TopicPartition, Move]


def moves_of(
    ongoing: Mapping[TopicPartition, Reassignment],
    wanted: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> Moves:
    """What moves already, and what shall move besides."""
    moves = {
        where: Move(
            frozenset(each.replicas) - frozenset(each.adding),
            frozenset(each.adding),
        )
        for where, each in ongoing.items()
    }
    for where, replicas in wanted.items():
        sources = moves[where].sources if where in moves else frozenset(current[where])
        moves[where] = Move(sources, frozenset(replicas) - sources)
    return moves


def replicas_to_throttle(moves: Moves) -> list[Changes]:
    """The settings of each topic: `partition:broker` for both sides."""
    sides: dict[str, tuple[set[str], set[str]]] = {}
    for (topic, partition), move in moves.items():
        leaders, followers = sides.setdefault(topic, (set(), set()))
        leaders.update(f"{partition}:{broker}" for broker in move.sources)
        followers.update(f"{partition}:{broker}" for broker in move.destinations)
    return [
        Changes(
            TOPIC,
            topic,
            {
                LEADER_REPLICAS: ",".join(sorted(leaders)),
                FOLLOWER_REPLICAS: ",".join(sorted(followers)),
            },
        )
        for topic, (leaders, followers) in sorted(sides.items())
    ]


def rates(moves: Moves, bytes_per_second: int) -> list[Changes]:
    """The settings of every broker that sends or receives."""
    brokers = {broker for move in moves.values() for broker in (*move.sources, *move.destinations)}
    rate = str(bytes_per_second)
    return [
        Changes(BROKER, str(broker), {LEADER_RATE: rate, FOLLOWER_RATE: rate})
        for broker in sorted(brokers)
    ]


def log_dir_rates(brokers: Collection[int], bytes_per_second: int) -> list[Changes]:
    """The settings of brokers that move replicas between their own disks."""
    return [
        Changes(BROKER, str(broker), {LOG_DIR_RATE: str(bytes_per_second)})
        for broker in sorted(brokers)
    ]


def removal(brokers: Iterable[int], topics: Iterable[str]) -> tuple[list[Changes], list[Changes]]:
    """What takes every throttle away again: from brokers, from topics."""
    return (
        [Changes(BROKER, str(each), dict.fromkeys(BROKER_SETTINGS)) for each in sorted(brokers)],
        [Changes(TOPIC, each, dict.fromkeys(TOPIC_SETTINGS)) for each in sorted(topics)],
    )
