"""The order in which Java's hash maps hand out their keys: Kafka's tools print in it.

It looks like chance and is none: it follows from the characters of the keys and the size of the
table, so that the same topics and settings are always printed in the same order, by both.
"""

from __future__ import annotations

from collections.abc import Iterable

_DEFAULT_CAPACITY = 16


def java_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number of 32 bits."""
    value = 0
    units = text.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value


def hash_map_order(keys: Iterable[str], capacity: int | None = None) -> list[str]:
    """The keys as a `HashMap` iterates over them that they were put into in this order.

    `capacity` is what the map was made with. Buckets with more than eight keys become trees in
    Java; nobody here has so many that are so much alike.
    """
    found = list(dict.fromkeys(keys))
    size = _DEFAULT_CAPACITY if capacity is None else _power_of_two(capacity)
    while len(found) > size * 3 // 4:
        size *= 2
    return sorted(found, key=lambda key: _bucket(key, size))


def _bucket(key: str, size: int) -> int:
    value = java_hash(key)
    return (value ^ value >> 16) & (size - 1)


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
