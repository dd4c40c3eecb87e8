"""The topics of the simulated cluster. They outlive every crash, as those in the cluster's tree do.

It is what coordinators need to know of the cluster, and what handlers ask of the image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

from headrace.types import TopicPartition


class Topic(NamedTuple):
    topic_id: UUID
    partition_count: int


class Catalogue:
    """Topics by name."""

    def __init__(self, new_uuid: Callable[[], UUID]) -> None:
        self.epoch = 0
        self.topics: dict[str, Topic] = {}
        self._new_uuid = new_uuid

    def create(self, name: str, partition_count: int) -> None:
        self.epoch += 1
        self.topics[name] = Topic(self._new_uuid(), partition_count)

    def grow(self, name: str) -> None:
        self.epoch += 1
        topic = self.topics[name]
        self.topics[name] = topic._replace(partition_count=topic.partition_count + 1)

    def delete(self, name: str) -> None:
        self.epoch += 1
        del self.topics[name]

    def partitions(self, name: str) -> list[TopicPartition]:
        return [TopicPartition(name, index) for index in range(self.partition_count(name))]

    # What coordinators ask.

    def names(self) -> Iterable[str]:
        return self.topics

    def topic_id(self, name: str) -> UUID | None:
        topic = self.topics.get(name)
        return None if topic is None else topic.topic_id

    def topic_name(self, topic_id: UUID) -> str | None:
        return next((name for name, topic in self.topics.items() if topic[0] == topic_id), None)

    def partition_count(self, name: str) -> int:
        topic = self.topics.get(name)
        return 0 if topic is None else topic.partition_count

    # What handlers ask of the image.

    def partition(self, name: str, index: int) -> Topic | None:
        topic = self.topics.get(name)
        return topic if topic is not None and 0 <= index < topic.partition_count else None

    def feature_level(self, _name: str) -> int:
        return 2
