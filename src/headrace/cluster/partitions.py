"""Who leads a partition and who is in sync with its leader: the rules, and what brokers may ask.

A leader is taken from the in-sync replicas in the order of the replica list, because they alone
hold every committed record. A partition whose in-sync replicas are all dead stays without a leader,
unless its topic allows an unclean election: then the first live replica leads and what it lacks is
lost.

The functions here are decisions that any broker may make about itself, or for a client. When
brokers come and go the controller decides: see `controller`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.cluster.image import (
    Changes,
    ClusterImage,
    PartitionChanged,
    PartitionImage,
)
from headrace.errors import ClientFault, Error
from headrace.types import NO_LEADER, TopicPartition

if TYPE_CHECKING:
    from headrace.cluster.controller import Policy


def elect(
    partition: PartitionImage, alive: Collection[int], *, unclean: bool = False
) -> PartitionImage:
    """The partition after dead brokers have left its ISR, with a leader if there can be one.

    The last in-sync replicas stay in the ISR even when they are dead: only they are known to have
    every committed record, and one of them leads again when it returns.
    """
    isr = tuple(broker for broker in partition.isr if broker in alive)
    if isr:
        leader = partition.leader if partition.leader in isr else _first(partition.replicas, isr)
        return with_leader(partition, leader, isr)
    if unclean:
        leader = _first(partition.replicas, alive)
        if leader != NO_LEADER:
            return with_leader(partition, leader, (leader,))
    return with_leader(partition, NO_LEADER, partition.isr)


def with_leader(
    partition: PartitionImage, leader: int, isr: tuple[int, ...], *, begins_anew: bool = False
) -> PartitionImage:
    """The partition with this leader and ISR; epochs grow only if something really changes.

    `begins_anew` gives the same leader a new leader epoch: it is another life of that broker.
    """
    if leader == partition.leader and isr == partition.isr and not begins_anew:
        return partition
    return replace(
        partition,
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + (leader != partition.leader or begins_anew),
        partition_epoch=partition.partition_epoch + 1,
    )


# -- what a broker decides about itself ------------------------------------------------------------


def step_down(image: ClusterImage, broker_id: int) -> Changes:
    """A broker begins a new life: it gives back what it had in the last one, before it registers.

    Its disk may have lost what was never flushed, so it leaves every ISR that has another member,
    alive or not: only that one is known to have all. What it alone is in sync for waits without a
    leader, in a new leader epoch, until the controller hands it out again.
    """
    alive = image.brokers.keys() - {broker_id}
    changes: Changes = []
    for name, topic in image.topics.items():
        for number, partition in enumerate(topic.partitions):
            if partition.leader != broker_id and broker_id not in partition.isr:
                continue
            others = tuple(broker for broker in partition.isr if broker != broker_id)
            leader = partition.leader
            if leader == broker_id:
                leader = _first(partition.replicas, alive & set(others))
            after = with_leader(partition, leader, others or partition.isr)
            if after is not partition:
                changes.append(PartitionChanged(name, number, after))
    return changes


def shut_down(image: ClusterImage, broker_id: int) -> Changes:
    """A broker is about to stop: what it leads goes to another live member of the ISR.

    Where there is none it goes on to lead until it is gone.
    """
    alive = image.brokers.keys() - {broker_id}
    changes: Changes = []
    for name, topic in image.topics.items():
        for number, partition in enumerate(topic.partitions):
            if broker_id not in partition.isr or alive.isdisjoint(partition.isr):
                continue
            others = tuple(broker for broker in partition.isr if broker != broker_id)
            leader = partition.leader
            if leader == broker_id:
                leader = _first(partition.replicas, alive & set(others))
            changes.append(PartitionChanged(name, number, with_leader(partition, leader, others)))
    return changes


def replicas_lost(
    image: ClusterImage, broker_id: int, partitions: Collection[TopicPartition], policy: Policy
) -> Changes:
    """A log directory of a live broker has failed: for these partitions it counts as dead."""
    alive = image.brokers.keys() - {broker_id}
    changes: Changes = []
    for name, number in partitions:
        partition = image.partition(name, number)
        if partition is None or broker_id not in (partition.leader, *partition.isr):
            continue
        after = elect(partition, alive)
        if after.leader == NO_LEADER and policy.unclean_allowed(name):
            after = elect(partition, alive, unclean=True)
        if after is not partition:
            changes.append(PartitionChanged(name, number, after))
    return changes


def make_way(
    image: ClusterImage,
    broker_id: int,
    successors: Mapping[TopicPartition, Collection[int]],
    stuck: Collection[TopicPartition],
) -> Changes:
    """A disk of a live broker is full, so it cannot append: others go on without it.

    What it leads goes to an in-sync replica among the partition's successors, where one is alive.
    Of the partitions that are stuck and that it follows it leaves the ISR.
    """
    alive = image.brokers.keys() - {broker_id}
    changes: Changes = []
    for name, number in sorted({*successors, *stuck}):
        partition = image.partition(name, number)
        if partition is None or broker_id not in partition.isr:
            continue
        others = tuple(broker for broker in partition.isr if broker != broker_id)
        leader = partition.leader
        if leader == broker_id:
            eligible = successors.get(TopicPartition(name, number), ())
            leader = _first(partition.replicas, alive & set(others) & set(eligible))
        if leader in alive:
            changes.append(PartitionChanged(name, number, with_leader(partition, leader, others)))
    return changes


def change_isr(
    image: ClusterImage,
    topic: str,
    partition: int,
    isr: Sequence[int],
    *,
    partition_epoch: int | None = None,
) -> PartitionChanged | None:
    """What a leader wants its ISR to be; None if it is so already, or if the wish is out of date.

    A leader makes up its mind on one partition epoch. Give it, and a wish that was overtaken by a
    newer state is dropped instead of undoing it.
    """
    before = image.partition(topic, partition)
    if before is None or before.leader == NO_LEADER:
        return None
    if partition_epoch is not None and partition_epoch != before.partition_epoch:
        return None
    wanted = tuple(dict.fromkeys(isr))
    if set(wanted) == set(before.isr):
        return None
    if before.leader not in wanted or not set(wanted) <= set(before.replicas):
        raise ClientFault(
            Error.INVALID_REQUEST,
            f"{topic}-{partition}: the ISR {list(wanted)} must hold the leader {before.leader} "
            f"and none but the replicas {list(before.replicas)}.",
        )
    for broker in wanted:
        if broker not in before.isr and broker not in image.brokers:
            raise ClientFault(
                Error.INELIGIBLE_REPLICA,
                f"{topic}-{partition}: broker {broker} is not registered and cannot be in sync.",
            )
    return PartitionChanged(topic, partition, with_leader(before, before.leader, wanted))


# -- elections on request --------------------------------------------------------------------------


def elect_preferred(image: ClusterImage, topic: str, partition: int) -> PartitionChanged:
    """Give leadership to the first replica of the list, if it is alive and in sync."""
    before = _existing(image, topic, partition)
    preferred = before.replicas[0]
    if before.leader == preferred:
        raise ClientFault(
            Error.ELECTION_NOT_NEEDED, f"{topic}-{partition} is already led by {preferred}."
        )
    if preferred not in before.isr or preferred not in image.brokers:
        raise ClientFault(
            Error.PREFERRED_LEADER_NOT_AVAILABLE,
            f"The preferred leader {preferred} of {topic}-{partition} is not alive and in sync.",
        )
    return PartitionChanged(topic, partition, with_leader(before, preferred, before.isr))


def elect_unclean(image: ClusterImage, topic: str, partition: int) -> PartitionChanged:
    """Give a partition without leader to any living replica, in sync if there is one."""
    before = _existing(image, topic, partition)
    if before.leader in image.brokers:
        raise ClientFault(
            Error.ELECTION_NOT_NEEDED, f"{topic}-{partition} is led by {before.leader}."
        )
    after = elect(before, image.brokers.keys(), unclean=True)
    if after.leader == NO_LEADER:
        raise ClientFault(
            Error.ELIGIBLE_LEADERS_NOT_AVAILABLE, f"No replica of {topic}-{partition} is alive."
        )
    return PartitionChanged(topic, partition, after)


def _existing(image: ClusterImage, topic: str, partition: int) -> PartitionImage:
    image_of_partition = image.partition(topic, partition)
    if image_of_partition is None:
        raise ClientFault(
            Error.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {topic}-{partition}."
        )
    return image_of_partition


def _first(replicas: Sequence[int], eligible: Collection[int]) -> int:
    return next((broker for broker in replicas if broker in eligible), NO_LEADER)
