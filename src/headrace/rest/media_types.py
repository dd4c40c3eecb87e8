"""Media types of versions 1 and 2: what a request brings, and what its answer may be.

`application/vnd.kafka.v2+json` is for control and metadata; between `kafka` and the version stands
the format of embedded data, as in `application/vnd.kafka.avro.v2+json`. Only names live here.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from headrace.http.negotiation import JSON


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


V1: Final = "application/vnd.kafka.v1+json"
V2: Final = "application/vnd.kafka.v2+json"
V2_EMBEDDED: Final = tuple(f"application/vnd.kafka.{each}.v2+json" for each in EmbeddedFormat)
V1_EMBEDDED: Final = tuple(
    f"application/vnd.kafka.{each}.v1+json"
    for each in (EmbeddedFormat.BINARY, EmbeddedFormat.JSON, EmbeddedFormat.AVRO)
)
KAFKA_TYPES: Final = (V2, V1, *V2_EMBEDDED, *V1_EMBEDDED)
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


def format_of(media_type: str) -> EmbeddedFormat:
    """The format of the records in a body of this type; binary where it names none."""
    found = parse_kafka_type(media_type)
    return (found and found.format) or EmbeddedFormat.BINARY
