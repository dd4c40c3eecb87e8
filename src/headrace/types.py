"""The nouns that every room shares. Plain values: no behaviour, no imports from other rooms."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
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
NO_LEADER: Final = -1

ZERO_UUID: Final = UUID(int=0)


class TopicPartition(NamedTuple):
    """The name of one log: `orders-3` on disk."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class SharePartitionKey(NamedTuple):
    """A partition as one share group sees it."""

    group_id: str
    topic_id: UUID
    partition: int


def uuid_to_text(value: UUID) -> str:
    """Kafka writes ids as 22 characters of URL-safe base64 without padding."""
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def uuid_from_text(text: str) -> UUID:
    """The id behind `uuid_to_text`; ValueError if the text is none."""
    if (
        len(text) != 22
        or not text.isascii()
        or not text.replace("-", "").replace("_", "").isalnum()
    ):
        raise ValueError(f"{text!r} is not an id: 22 characters of URL-safe base64 are expected")
    return UUID(bytes=urlsafe_b64decode(text + "=="))
