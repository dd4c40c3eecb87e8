"""Which media type a request brings and which one its answer gets: Confluent's two, and JSON."""

from __future__ import annotations

from typing import Final

from headrace.http.negotiation import negotiated
from headrace.registry.errors import RegistryError
from headrace.registry.settings import MEDIA_TYPES

_BODY_TYPES: Final = (*MEDIA_TYPES, "application/octet-stream")


class Negotiation:
    """From an `Accept` header to the type of the answer."""

    def __init__(self, default: str) -> None:
        self._types = (default, *(each for each in MEDIA_TYPES if each != default))

    def media_type(self, accept: str) -> str:
        """The best type; 406 if none of ours is acceptable."""
        chosen = negotiated(accept, self._types)
        if chosen is None:
            raise RegistryError(406, "HTTP 406 Not Acceptable")
        return chosen


def check_body_type(content_type: str) -> None:
    """415 for a body that is not declared to be JSON."""
    if content_type.partition(";")[0].strip().lower() not in _BODY_TYPES:
        raise RegistryError(415, "HTTP 415 Unsupported Media Type")
