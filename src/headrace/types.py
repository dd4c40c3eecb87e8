"""The nouns that every room shares. Plain values: no behaviour, no imports from other rooms."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

Offset: TypeAlias = int
LeaderEpoch: TypeAlias = int
ProducerId: TypeAlias = int
BrokerId: TypeAlias = int

Buffer: TypeAlias = bytes | bytearray | memoryview

NO_OFFSET: Final = -1
NO_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_SEQUENCE: Final = -1

ZERO_UUID: Final = UUID(int=0)


class TopicPartition(NamedTuple):
    """The name of one log: `orders-3` on disk."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
