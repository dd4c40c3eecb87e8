"""A partition as clients are told of it: who leads it, who follows, who is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import Error
from headrace.types import NO_LEADER

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.image import TopicImage


class PartitionView(NamedTuple):
    error: Error
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]


def view(
    metadata: Metadata, storage: Storage, topic: TopicImage, index: int, listener: str
) -> PartitionView:
    """What a client that came by `listener` may know of a partition.

    A leader that this listener cannot reach is no leader for the client.
    """
    brokers = metadata.image.brokers
    partition = topic.partitions[index]
    offline = [each for each in partition.replicas if each not in brokers]
    if metadata.broker_id in partition.replicas and storage.is_offline(topic.name, index):
        offline.append(metadata.broker_id)
    leader = partition.leader
    error = Error.NONE
    if leader in offline or leader not in brokers:
        leader, error = NO_LEADER, Error.LEADER_NOT_AVAILABLE
    elif listener not in brokers[leader].endpoints:
        leader, error = NO_LEADER, Error.LISTENER_NOT_FOUND
    return PartitionView(
        error,
        leader,
        partition.leader_epoch,
        list(partition.replicas),
        list(partition.isr),
        offline,
    )
