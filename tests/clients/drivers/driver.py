"""What a client must be able to do in the tests, whatever language it is written in.

A driver is the thinnest possible wrapper around one client library: it hides how the library
spells an operation and nothing else. Consumers are assigned partitions by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tests.clients.records import Record, Stored

TIMEOUT_SECONDS = 30


class Refused(Exception):
    """The broker refused, with this error code of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Writer(Protocol):
    """A client that can write and read."""

    codecs: frozenset[str]
    refuses: frozenset[str]
    """Names of the sample records that the client itself does not accept."""

    def produce(
        self,
        topic: str,
        partition: int,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        """Write `records` in order; returns their offsets as the client learned them."""
        ...

    def read(self, topic: str, partition: int, offset: int, count: int) -> list[Stored]:
        """Read `count` records from `offset` on."""
        ...


class Driver(Writer, Protocol):
    """A client that can also look around and administer."""

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None: ...

    def create_partitions(self, topic: str, total: int) -> None: ...

    def delete_topic(self, topic: str) -> None: ...

    def partition_counts(self) -> dict[str, int]:
        """Every topic of the cluster and its number of partitions."""
        ...

    def topic_config(self, topic: str) -> dict[str, str | None]:
        """Every config of the topic with its value in force."""
        ...

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """Where the first record at or after that time lies; None when there is none."""
        ...


class RecordDeleter(Driver, Protocol):
    """A driver whose client can also delete records."""

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        """Forget what lies before an offset; returns the new first offset."""
        ...
