"""Decisions about leaders: who leads a partition when brokers come and go.

A leader is taken from the in-sync replicas in the order of the replica list, because they alone
hold every committed record. A partition whose in-sync replicas are all dead stays without a leader,
unless its topic allows an unclean election: then the first live replica leads and what it lacks is
lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from headrace.cluster.image import (
    NO_LEADER,
    BrokerRegistered,
    BrokerRegistration,
    BrokerUnregistered,
    Changes,
    ClusterImage,
    PartitionChanged,
    PartitionImage,
)
from headrace.errors import ClientFault, Error

UncleanAllowed = Callable[[str], bool]


def broker_lost(image: ClusterImage, broker_id: int, unclean_allowed: UncleanAllowed) -> Changes:
    """A broker's registration is gone: it leaves every ISR, and its partitions get new leaders."""
    alive = image.brokers.keys() - {broker_id}
    changes: Changes = [BrokerUnregistered(broker_id)]
    for name, topic in image.topics.items():
        for number, partition in enumerate(topic.partitions):
            if broker_id in partition.isr or partition.leader == broker_id:
                after = elect(partition, alive, unclean=unclean_allowed(name))
                if after != partition:
                    changes.append(PartitionChanged(name, number, after))
    return changes


def broker_registered(
    image: ClusterImage, broker: BrokerRegistration, unclean_allowed: UncleanAllowed
) -> Changes:
    """A broker has come: partitions that waited for it, and have no living leader, get one."""
    alive = {*image.brokers, broker.id}
    changes: Changes = [BrokerRegistered(broker)]
    for name, topic in image.topics.items():
        for number, partition in enumerate(topic.partitions):
            if broker.id in partition.replicas and partition.leader not in alive:
                after = elect(partition, alive, unclean=unclean_allowed(name))
                if after != partition:
                    changes.append(PartitionChanged(name, number, after))
    return changes


def elect(
    partition: PartitionImage, alive: Collection[int], *, unclean: bool = False
) -> PartitionImage:
    """The partition after dead brokers have left its ISR, with a leader if there can be one.

    The last in-sync replicas stay in the ISR even when they are dead: only they are known to have
    every committed record, and one of them leads again when it returns.
    """
    isr = tuple(broker for broker in partition.isr if broker in alive)
    if isr:
        if partition.leader in isr:
            leader = partition.leader
        else:
            leader = next(broker for broker in partition.replicas if broker in isr)
        return _changed(partition, leader, isr)
    if unclean:
        for broker in partition.replicas:
            if broker in alive:
                return _changed(partition, broker, (broker,))
    return _changed(partition, NO_LEADER, partition.isr)


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
    return PartitionChanged(topic, partition, _changed(before, preferred, before.isr))


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


def _changed(partition: PartitionImage, leader: int, isr: tuple[int, ...]) -> PartitionImage:
    """The partition with this leader and ISR; epochs grow only if something really changes."""
    if leader == partition.leader and isr == partition.isr:
        return partition
    return replace(
        partition,
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + (leader != partition.leader),
        partition_epoch=partition.partition_epoch + 1,
    )
