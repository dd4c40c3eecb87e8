"""Moving replicas to other brokers: what may be asked, and the steps in which it is done (KIP-455).

A move never makes a partition poorer before it is richer. Asking for other replicas adds the new
ones to the old; when every new one is in sync, a leader that is to leave gives way to one that
stays, and then the old replicas go. The tree knows at every moment what is being added and removed,
so another controller goes on where the last one stopped, and a move can be called off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from headrace.cluster.image import (
    Changes,
    ClusterImage,
    PartitionChanged,
    PartitionImage,
)
from headrace.cluster.partitions import with_leader
from headrace.errors import ClientFault, Error
from headrace.types import NO_LEADER, TopicPartition


def alter(
    image: ClusterImage,
    wanted: Mapping[TopicPartition, Sequence[int] | None],
    *,
    may_change_factor: bool,
) -> tuple[Changes, dict[TopicPartition, ClientFault]]:
    """AlterPartitionReassignments: begin the moves that are asked for; None calls one off.

    Each partition gets its own verdict; those that are refused are named with their fault.
    """
    changes: Changes = []
    faults: dict[TopicPartition, ClientFault] = {}
    for place, replicas in wanted.items():
        try:
            before = image.partition(*place)
            if before is None:
                raise ClientFault(
                    Error.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {place}."
                )
            if replicas is None:
                after = _cancelled(image, place, before)
            else:
                _check(image, place, before, replicas, may_change_factor)
                after = _towards(image, place, before, tuple(replicas))
        except ClientFault as fault:
            faults[place] = fault
            continue
        if after != before:
            changes.append(PartitionChanged(place.topic, place.partition, after))
    return changes, faults


def ongoing(image: ClusterImage) -> dict[TopicPartition, PartitionImage]:
    """All partitions that are on the move."""
    return {
        TopicPartition(name, number): partition
        for name, topic in image.topics.items()
        for number, partition in enumerate(topic.partitions)
        if partition.adding or partition.removing
    }


def advance(partition: PartitionImage, alive: Collection[int]) -> PartitionImage:
    """A moving partition after its next step; the same one if it has to wait."""
    if not set(partition.adding) <= set(partition.isr):
        return partition
    target = partition.target
    staying = tuple(broker for broker in target if broker in partition.isr)
    if partition.leader not in staying:
        leader = next((broker for broker in staying if broker in alive), NO_LEADER)
        return partition if leader == NO_LEADER else with_leader(partition, leader, partition.isr)
    return replace(
        partition,
        replicas=target,
        isr=staying,
        adding=(),
        removing=(),
        partition_epoch=partition.partition_epoch + 1,
    )


def _cancelled(
    image: ClusterImage, place: TopicPartition, before: PartitionImage
) -> PartitionImage:
    if not (before.adding or before.removing):
        raise ClientFault(Error.NO_REASSIGNMENT_IN_PROGRESS, f"{place} is not being moved.")
    return _towards(image, place, before, _origin(before))


def _check(
    image: ClusterImage,
    place: TopicPartition,
    before: PartitionImage,
    replicas: Sequence[int],
    may_change_factor: bool,
) -> None:
    if not replicas:
        raise ClientFault(Error.INVALID_REPLICA_ASSIGNMENT, f"{place} would have no replicas.")
    if len(set(replicas)) != len(replicas):
        raise ClientFault(
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"The replicas {list(replicas)} of {place} name a broker more than once.",
        )
    for broker in replicas:
        # A replica that is down may stay; a new one must be there to fetch.
        if broker not in image.brokers and broker not in before.replicas:
            raise ClientFault(
                Error.INVALID_REPLICA_ASSIGNMENT,
                f"The replicas {list(replicas)} of {place} name broker {broker}, which is not "
                "registered.",
            )
        if broker not in before.replicas and image.is_cordoned(broker):
            raise ClientFault(
                Error.INVALID_REPLICA_ASSIGNMENT,
                f"The replicas {list(replicas)} of {place} name broker {broker}, all of whose log "
                "directories are cordoned: change its cordoned.log.dirs.",
            )
    if not may_change_factor and len(replicas) != len(before.target):
        raise ClientFault(
            Error.INVALID_REPLICATION_FACTOR,
            f"{place} has {len(before.target)} replica(s) and would have {len(replicas)}, which "
            "the request does not allow.",
        )


def _towards(
    image: ClusterImage, place: TopicPartition, before: PartitionImage, target: tuple[int, ...]
) -> PartitionImage:
    """The first step of a move, also of one that takes the place of another that is under way."""
    origin = _origin(before)
    leaving = tuple(broker for broker in origin if broker not in target)
    replicas = target + leaving
    adding = tuple(broker for broker in target if broker not in origin)
    isr = tuple(broker for broker in before.isr if broker in replicas)
    leader = before.leader
    if leader not in isr and leader != NO_LEADER:
        eligible = (broker for broker in replicas if broker in isr and broker in image.brokers)
        leader = next(eligible, NO_LEADER)
    if not isr or (leader == NO_LEADER and before.leader != NO_LEADER):
        raise ClientFault(
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"{place}: only {list(before.isr)} have every record, and none of them that is alive "
            "would stay. Wait until others are in sync, or keep one of these.",
        )
    after = replace(before, replicas=replicas, adding=adding, removing=leaving)
    if after == before:
        return before
    moved = with_leader(after, leader, isr)
    return replace(moved, partition_epoch=before.partition_epoch + 1)


def _origin(partition: PartitionImage) -> tuple[int, ...]:
    """The replicas before the move began."""
    return tuple(broker for broker in partition.replicas if broker not in partition.adding)
