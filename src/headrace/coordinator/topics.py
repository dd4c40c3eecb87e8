"""What coordinators need to know of the cluster: which topics there are, and how large they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID


class Topics(Protocol):
    """A view of the cluster's topics as they are now."""

    @property
    def epoch(self) -> int:
        """Grows with every change of anything below."""

    def names(self) -> Iterable[str]:
        """The names of all topics."""

    def topic_id(self, name: str) -> UUID | None:
        """The id of a topic; None if there is none of this name."""

    def topic_name(self, topic_id: UUID) -> str | None:
        """The name of the topic with this id; None if there is none."""

    def partition_count(self, name: str) -> int:
        """How many partitions a topic has; 0 if it does not exist."""
