"""Media types: which of those on offer an `Accept` header asks for, and which one a body states.

Offers are weighed as RFC 9110 says: the most specific range that holds a type decides on its
weight; equal weights go to the more specific range and then to the order of the offers. `*/x` is
read as `*/*`, as JVM services do. Clients send the same few headers all the time, so results are
remembered; long headers are not, because the caller is not authenticated yet and the cache is
shared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

JSON: Final = "application/json"
_MAX_RANGES: Final = 64
_MAX_REMEMBERED: Final = 1_000
"""Characters of a header whose result is remembered."""


def negotiated(accept: str, offers: tuple[str, ...]) -> str | None:
    """The best of the offers, which are full media types in lower case; None if none will do."""
    return (_remembered if len(accept) <= _MAX_REMEMBERED else _chosen)(accept, offers)


def matching(content_type: str, taken: Collection[str]) -> str | None:
    """Which of the types that are taken a body states; a `*` in them matches any characters."""
    stated = content_type.partition(";")[0].strip().lower()
    if stated in taken:
        return stated
    return next((each for each in taken if "*" in each and fnmatchcase(stated, each)), None)


def _chosen(accept: str, offers: tuple[str, ...]) -> str | None:
    if not accept.strip() or accept == "*/*":
        return offers[0]
    ranges = [_range(part) for part in accept.split(",")[:_MAX_RANGES] if part.strip()]
    best: tuple[float, int, int] | None = None
    chosen = None
    for position, offer in enumerate(offers):
        matching = [(kind, weight) for pattern, weight in ranges for kind in _kind(pattern, offer)]
        specificity, weight = max(matching, default=(0, 0.0))
        rank = (weight, specificity, -position)
        if weight > 0 and (best is None or rank > best):
            best, chosen = rank, offer
    return chosen


_remembered: Final = lru_cache(maxsize=512)(_chosen)


def _range(part: str) -> tuple[str, float]:
    pattern, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weight = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = min(1.0, max(0.0, float(value)))
            except ValueError:
                weight = 0.0
    return pattern, weight if weight == weight else 0.0


def _kind(pattern: str, offer: str) -> Iterator[int]:
    """How specific a range is that holds this offer; nothing if it does not."""
    if pattern == offer:
        yield 2
    elif pattern == offer.partition("/")[0] + "/*":
        yield 1
    elif pattern == "*" or pattern.startswith("*/"):
        yield 0
