"""Which partition of an internal topic is responsible for a group or a transactional id.

Clients never compute this, but Apache Kafka's tools and a broker that takes over a data folder do:
it is the absolute value of Java's `String.hashCode`, a hash of UTF-16 units in 32 bits with a sign,
modulo the partition count; the one integer that has no absolute value counts as 0.
"""

from __future__ import annotations

from struct import iter_unpack


def partition_for(name: str, partition_count: int) -> int:
    """The partition of `name` in an internal topic of `partition_count` partitions."""
    value = 0
    for (unit,) in iter_unpack("<H", name.encode("utf-16-le", "surrogatepass")):
        value = (31 * value + unit) & 0xFFFFFFFF
    if value >= 1 << 31:
        value = (1 << 32) - value
    return 0 if value == 1 << 31 else value % partition_count
