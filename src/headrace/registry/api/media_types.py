"""Which media type a request brings and which one its answer gets.

Confluent's two types and plain JSON are spoken. `Accept` is weighed as RFC 9110 says; equal weights
go to the more specific type and then to our own order. Clients send the same few headers all the
time, so results are remembered.
"""

from __future__ import annotations

from typing import Final

from headrace.registry.errors import RegistryError
from headrace.registry.settings import MEDIA_TYPES

_BODY_TYPES: Final = (*MEDIA_TYPES, "application/octet-stream")
_REMEMBERED: Final = 256
_MAX_RANGES: Final = 64


class Negotiation:
    """From an `Accept` header to the type of the answer."""

    def __init__(self, default: str) -> None:
        self._types = (default, *(each for each in MEDIA_TYPES if each != default))
        self._remembered: dict[str, str | None] = {}

    def media_type(self, accept: str) -> str:
        """The best type; 406 if none of ours is acceptable."""
        if accept not in self._remembered:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[accept] = self._choose(accept)
        chosen = self._remembered[accept]
        if chosen is None:
            raise RegistryError(406, "HTTP 406 Not Acceptable")
        return chosen

    def _choose(self, accept: str) -> str | None:
        if not accept.strip():
            return self._types[0]
        ranges = [_range(part) for part in accept.split(",")[:_MAX_RANGES]]
        best: tuple[float, int, int] | None = None
        chosen = None
        for position, media_type in enumerate(self._types):
            matching = [
                (specificity, weight)
                for pattern, weight in ranges
                if (specificity := _matches(pattern, media_type)) is not None
            ]
            if not matching:
                continue
            # The most specific range that names a type decides on its weight.
            specificity, weight = max(matching)
            rank = (weight, specificity, -position)
            if weight > 0 and (best is None or rank > best):
                best, chosen = rank, media_type
        return chosen


def check_body_type(content_type: str) -> None:
    """415 for a body that is declared to be something else than JSON."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type and media_type not in _BODY_TYPES:
        raise RegistryError(415, "HTTP 415 Unsupported Media Type")


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


def _matches(pattern: str, media_type: str) -> int | None:
    """How specific a range is that holds this type; None if it does not."""
    if pattern == media_type:
        return 2
    if pattern == "application/*":
        return 1
    return 0 if pattern in ("*/*", "*") else None
