"""Small clusters for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from uuid import UUID

from headrace.cluster.image import (
    BrokerRegistered,
    BrokerRegistration,
    ClusterImage,
    Endpoint,
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
