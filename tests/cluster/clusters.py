"""Small clusters for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

from headrace.cluster.controller import Policy, decide
from headrace.cluster.image import (
    BrokerRegistered,
    BrokerRegistration,
    BrokerUnregistered,
    Change,
    Changes,
    ClusterImage,
    Endpoint,
    PartitionChanged,
    PartitionImage,
    TopicCreated,
)
from headrace.cluster.topics import NewTopic, TopicDefaults, create_topic


class Fixed:
    """Chance that always gives the same number (as far as the range allows)."""

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def randrange(self, stop: int, /) -> int:
        return self.value % stop


def ids(start: int = 1000) -> Callable[[], UUID]:
    """Topic ids 1000, 1001, …"""
    numbers = iter(range(start, start + 1_000_000))
    return lambda: UUID(int=next(numbers))


def broker(broker_id: int, rack: str | None = None) -> BrokerRegistration:
    endpoints = {"PLAINTEXT": Endpoint(f"host{broker_id}", 9092)}
    return BrokerRegistration(broker_id, endpoints, rack, epoch=broker_id + 1)


def cluster(broker_ids: Iterable[int] = (0, 1, 2)) -> ClusterImage:
    image = ClusterImage("cluster-of-tests", controller_id=0)
    image.apply(BrokerRegistered(broker(broker_id)) for broker_id in broker_ids)
    return image


def created(
    image: ClusterImage,
    request: NewTopic,
    defaults: TopicDefaults | None = None,
    *,
    chance: int = 0,
    new_id: Callable[[], UUID] | None = None,
) -> TopicCreated:
    return create_topic(
        image,
        request,
        defaults or TopicDefaults(),
        chance=Fixed(chance),
        new_id=new_id or ids(1000 + len(image.topics)),
    )


def with_topics(image: ClusterImage, *requests: NewTopic) -> ClusterImage:
    for request in requests:
        image.apply([created(image, request)])
    return image


CLEAN = Policy(unclean_allowed=lambda topic: False)
UNCLEAN = Policy(unclean_allowed=lambda topic: True)


def hear(image: ClusterImage, *news: Change, policy: Policy = CLEAN) -> Changes:
    """What a controller makes of some news, step by step until nothing is left to do."""
    made: Changes = []
    image.apply(news)
    for _ in range(20):
        changes = decide(image, news, policy)
        if not changes:
            return made
        image.apply(changes)
        made += changes
        news = tuple(changes)
    raise AssertionError(f"the controller never comes to an end: {news}")


def lose(image: ClusterImage, *broker_ids: int, policy: Policy = CLEAN) -> Changes:
    return hear(image, *map(BrokerUnregistered, broker_ids), policy=policy)


def bring(image: ClusterImage, *broker_ids: int, policy: Policy = CLEAN) -> Changes:
    return hear(image, *(BrokerRegistered(broker(each)) for each in broker_ids), policy=policy)


def partition_of(image: ClusterImage, topic: str = "t", number: int = 0) -> PartitionImage:
    partition = image.partition(topic, number)
    assert partition is not None
    return partition


def put(image: ClusterImage, number: int = 0, **fields: Any) -> PartitionImage:
    """Change fields of a partition of topic t, as if somebody had written them."""
    before = partition_of(image, number=number)
    after = replace(before, partition_epoch=before.partition_epoch + 1, **fields)
    image.apply([PartitionChanged("t", number, after)])
    return after
