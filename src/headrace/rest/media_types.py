"""Media types of versions 1 and 2: what a request brings, and what its answer may be.

`application/vnd.kafka.v2+json` is for control and metadata; between `kafka` and the version stands
the format of embedded data, as in `application/vnd.kafka.avro.v2+json`. Only names live here.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.http.negotiation import negotiated
from headrace.rest import errors

if TYPE_CHECKING:
    from starlette.requests import Request


class EmbeddedFormat(StrEnum):
    """How keys and values are written in JSON, under the names of the API."""

    BINARY = "binary"
    JSON = "json"
    AVRO = "avro"
    JSONSCHEMA = "jsonschema"
    PROTOBUF = "protobuf"


class KafkaType(NamedTuple):
    """A media type of the proxy: version 1 or 2, and the embedded format if it names one."""

    version: int
    format: EmbeddedFormat | None


JSON: Final = "application/json"
V1: Final = "application/vnd.kafka.v1+json"
V2: Final = "application/vnd.kafka.v2+json"
V2_EMBEDDED: Final = tuple(f"application/vnd.kafka.{each}.v2+json" for each in EmbeddedFormat)
V1_EMBEDDED: Final = tuple(
    f"application/vnd.kafka.{each}.v1+json"
    for each in (EmbeddedFormat.BINARY, EmbeddedFormat.JSON, EmbeddedFormat.AVRO)
)
ANSWERS: Final = (V2, JSON, V1, *V2_EMBEDDED, *V1_EMBEDDED)
_KAFKA: Final = re.compile(
    rf"application/vnd\.kafka(?:\.({'|'.join(EmbeddedFormat)}))?\.v([12])\+json"
)


@lru_cache(maxsize=256)
def parse_kafka_type(text: str) -> KafkaType | None:
    """What a media type says, its parameters aside; None if it is not one of the proxy's."""
    match = _KAFKA.fullmatch(text.partition(";")[0].strip().lower())
    if match is None:
        return None
    return KafkaType(int(match[2]), EmbeddedFormat(match[1]) if match[1] else None)


def content_type(request: Request) -> KafkaType | None:
    """The type of a request's body; None without a header, 415 for a foreign one."""
    text = request.headers.get("content-type")
    if text is None:
        return None
    found = parse_kafka_type(text)
    if found is None:
        raise errors.unsupported_media_type()
    return found


def embedded_type(request: Request) -> tuple[int, EmbeddedFormat]:
    """Version and format of the records in a body; binary where the type names no format."""
    found = content_type(request)
    if found is None:
        raise errors.unsupported_media_type()
    if found.version == 1 and found.format in (EmbeddedFormat.JSONSCHEMA, EmbeddedFormat.PROTOBUF):
        raise errors.unsupported_media_type()
    return found.version, found.format or EmbeddedFormat.BINARY


def choose(accept: str | None, offers: tuple[str, ...] = ANSWERS) -> str:
    """The offer that an Accept header likes best, the first among equals; 406 for none."""
    chosen = negotiated(accept or "", offers)
    if chosen is None:
        raise errors.not_acceptable()
    return chosen
