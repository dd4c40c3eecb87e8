"""Decisions about reassignments: which replicas a partition may be given (KIP-455).

A cluster of one broker has nothing to move: the only replicas that pass every check are those that
a partition has already. Where there would be something to move it is refused, because nothing
carries records from one broker to another yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.cluster.image import ClusterImage
from headrace.cluster.topics import check_replicas
from headrace.errors import ClientFault, Error


def check_reassignment(
    image: ClusterImage,
    topic: str,
    partition: int,
    replicas: Sequence[int] | None,
    *,
    may_change_factor: bool,
) -> None:
    """Return if the partition has these replicas; None calls off a move that is under way."""
    current = image.partition(topic, partition)
    if current is None:
        raise ClientFault(
            Error.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {topic}-{partition}."
        )
    if replicas is None:
        raise ClientFault(
            Error.NO_REASSIGNMENT_IN_PROGRESS, f"{topic}-{partition} is not being moved."
        )
    check_replicas(image, replicas)
    if not may_change_factor and len(replicas) != len(current.replicas):
        raise ClientFault(
            Error.INVALID_REPLICATION_FACTOR,
            f"{topic}-{partition} has {len(current.replicas)} replica(s) and would have "
            f"{len(replicas)}, which the request does not allow.",
        )
    if tuple(replicas) != current.replicas:
        raise ClientFault(
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"{topic}-{partition} stays on {list(current.replicas)}: replicas cannot be moved to "
            f"other brokers yet.",
        )
