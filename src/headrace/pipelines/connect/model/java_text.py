"""What Java's text and its collections do that results depend on.

Kafka's connectors print and order things by Java's rules: the order of a HashMap's keys becomes the
order of a table's columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_BUCKETS: Final = 16
_LOAD: Final = 0.75


def java_hash_order(names: Iterable[str]) -> list[str]:
    """Distinct names in the order in which a HashMap that got them one by one gives them back."""
    distinct = list(dict.fromkeys(names))
    buckets = _BUCKETS
    while len(distinct) > buckets * _LOAD:
        buckets *= 2
    return sorted(distinct, key=lambda name: _spread(_hash(name)) & (buckets - 1))


def _hash(text: str) -> int:
    """String.hashCode as an unsigned number: over UTF-16's units."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for place in range(0, len(units), 2):
        code = (31 * code + (units[place] << 8 | units[place + 1])) & 0xFFFFFFFF
    return code


def _spread(code: int) -> int:
    return code ^ code >> 16
