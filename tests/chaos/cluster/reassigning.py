"""Replicas moved and leaders elected over the wire: the requests that no Python client offers."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any

from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.wire.messages.elect_leaders import ElectLeadersRequest
from tests.chaos.cluster.systems import Cluster
from tests.chaos.cluster.topics import PARTITIONS
from tests.clients.raw import Connection, ConnectionClosed

PREFERRED = 0
TIMEOUT_MS = 10_000
TRY_SECONDS = 30


def shuffled(
    rng: random.Random, replicas: Mapping[int, list[int]], brokers: list[int]
) -> dict[int, list[int]]:
    """Other brokers in another order, as many as before; for about half of the partitions."""
    chosen = [partition for partition in replicas if rng.random() < 0.5] or [0]
    return {partition: rng.sample(brokers, len(replicas[partition])) for partition in chosen}


def move(cluster: Cluster, topic: str, wanted: Mapping[int, list[int] | None]) -> None:
    """Ask for these replicas; None calls a movement off. Refusals are part of the game."""
    partitions = [ReassignablePartition(partition_index=at, replicas=r) for at, r in wanted.items()]
    topics = [ReassignableTopic(name=topic, partitions=partitions)]
    _ask(cluster, AlterPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=topics), 0)


def cancel_all(cluster: Cluster, topic: str) -> None:
    move(cluster, topic, dict.fromkeys(range(PARTITIONS)))


def elect_preferred(cluster: Cluster) -> None:
    request = ElectLeadersRequest(
        election_type=PREFERRED, topic_partitions=None, timeout_ms=TIMEOUT_MS
    )
    _ask(cluster, request, 2)


def _ask(cluster: Cluster, request: Any, version: int) -> Any:
    """The answer of the first broker that gives one."""
    deadline = time.monotonic() + TRY_SECONDS
    while time.monotonic() < deadline:
        for broker, node in cluster.brokers.items():
            if node.running and not node.frozen:
                try:
                    with Connection(cluster.reach[broker]) as connection:
                        return connection.ask(request, version)
                except (OSError, ConnectionClosed):
                    continue  # another one will answer
        time.sleep(0.2)
    return None
