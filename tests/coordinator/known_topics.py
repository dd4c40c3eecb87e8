"""A cluster's topics as a table that tests fill."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID


class KnownTopics:
    """Topics by name; ids are numbered in the order of creation."""

    def __init__(self, **partition_counts: int) -> None:
        self.epoch = 0
        self._topics: dict[str, tuple[UUID, int]] = {}
        for name, partition_count in partition_counts.items():
            self.create(name, partition_count)

    def create(self, name: str, partition_count: int) -> UUID:
        self.epoch += 1
        topic_id = UUID(int=self.epoch)
        self._topics[name] = (topic_id, partition_count)
        return topic_id

    def delete(self, name: str) -> None:
        self.epoch += 1
        del self._topics[name]

    def names(self) -> Iterable[str]:
        return self._topics.keys()

    def topic_id(self, name: str) -> UUID | None:
        return self._topics[name][0] if name in self._topics else None

    def topic_name(self, topic_id: UUID) -> str | None:
        return next((name for name, (id_, _) in self._topics.items() if id_ == topic_id), None)

    def partition_count(self, name: str) -> int:
        return self._topics[name][1] if name in self._topics else 0
