"""Which key belongs to which partition: golden vectors that clients of all languages share.

The Java client hashes a key's bytes with murmur2, drops the sign and takes the rest by the number
of partitions. The vectors were printed by real runs of it and computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PartitionerCase:
    """Keys of one kind on a topic of so many partitions."""

    name: str
    partitions: int
    vectors: tuple[tuple[bytes, int], ...]

    def __str__(self) -> str:
        return self.name

    @property
    def keys(self) -> list[bytes]:
        return [key for key, _ in self.vectors]

    @property
    def expected(self) -> list[int]:
        return [partition for _, partition in self.vectors]


def _long(number: int) -> bytes:
    """A key as the Java client's LongSerializer writes it."""
    return number.to_bytes(8, "big")


PARTITIONER_CASES = (
    PartitionerCase(
        "words-on-3-partitions",
        3,
        ((b"ABC", 0), (b"GOOG", 0), (b"IBM", 2), (b"INEL", 0), (b"UBER", 2), (b"SUN", 2)),
    ),
    PartitionerCase(
        "longs-on-13-partitions",
        13,
        (
            (_long(1495042369509), 6),
            (_long(1495042369487), 9),
            (_long(1495042369486), 12),
            (_long(1495042369488), 0),
            (_long(1495042369494), 2),
        ),
    ),
)
