"""Embedded formats: how keys and values stand in JSON, on the way in and on the way out.

binary is base64; json any value; avro, jsonschema and protobuf are values by a schema of the
registry. The structs are the bodies of version 2, with headers and a timestamp as additions that
may be left out. Where a schema comes from is `Proxy.writer`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from headrace.client.registry import Writer
from headrace.rest.media_types import (
    V1,
    V1_EMBEDDED,
    V2,
    V2_EMBEDDED,
    EmbeddedFormat,
    format_of,
)
from headrace.rest.numbers import Whole, number_of
from headrace.rest.producing import Headers, OutRecord
from headrace.schemas.model import InvalidValue, SchemaType

Timestamp = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
MAX_RECORDS: Final = 100_000

SCHEMA_TYPES: Final = {
    EmbeddedFormat.AVRO: SchemaType.AVRO,
    EmbeddedFormat.JSONSCHEMA: SchemaType.JSON,
    EmbeddedFormat.PROTOBUF: SchemaType.PROTOBUF,
}
_NULL: Final = msgspec.Raw(b"null")


def raw_null() -> msgspec.Raw:
    """A default that JSON Schema does not show, because it cannot."""
    return _NULL


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """A header of a record; its value is base64."""

    name: str
    value: bytes | None = None


class _Record(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    partition: Whole | None = None
    headers: list[Header] | None = None
    timestamp: Timestamp | None = None


class BinaryRecord(_Record):
    key: bytes | None = None
    value: bytes | None = None


class JsonRecord(_Record):
    key: msgspec.Raw = msgspec.field(default_factory=raw_null)
    value: msgspec.Raw = msgspec.field(default_factory=raw_null)


class SchemaRecord(_Record):
    key: Any = None
    value: Any = None


class _ProduceRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    key_schema: str | None = None
    key_schema_id: Whole | None = None
    value_schema: str | None = None
    value_schema_id: Whole | None = None


class BinaryProduceRequest(_ProduceRequest):
    records: Annotated[list[BinaryRecord], msgspec.Meta(min_length=1, max_length=MAX_RECORDS)]


class JsonProduceRequest(_ProduceRequest):
    records: Annotated[list[JsonRecord], msgspec.Meta(min_length=1, max_length=MAX_RECORDS)]


class SchemaProduceRequest(_ProduceRequest):
    records: Annotated[list[SchemaRecord], msgspec.Meta(min_length=1, max_length=MAX_RECORDS)]


_REQUESTS: Final = {
    EmbeddedFormat.BINARY: BinaryProduceRequest,
    EmbeddedFormat.JSON: JsonProduceRequest,
    EmbeddedFormat.AVRO: SchemaProduceRequest,
    EmbeddedFormat.JSONSCHEMA: SchemaProduceRequest,
    EmbeddedFormat.PROTOBUF: SchemaProduceRequest,
}
PRODUCE_REQUESTS: Final = {
    name: _REQUESTS[format_of(name)] for name in (V2, *V2_EMBEDDED, V1, *V1_EMBEDDED)
}
"""What a body has to be, by its media type."""


def headers_of(record: _Record) -> Headers | None:
    """The headers of a record as the producer wants them."""
    if not record.headers:
        return None
    return [(header.name, header.value) for header in record.headers]


def encode_binary(records: Sequence[BinaryRecord], partition: int | None) -> list[OutRecord]:
    """Records whose bytes are already there; the partition of the path wins."""
    return [
        OutRecord(
            number_of(record.partition) if partition is None else partition,
            record.key,
            record.value,
            headers_of(record),
            record.timestamp,
        )
        for record in records
    ]


def encode_json(records: Sequence[JsonRecord], partition: int | None) -> list[OutRecord]:
    """Records whose key and value are written as JSON, without white space."""
    return [
        OutRecord(
            number_of(record.partition) if partition is None else partition,
            compact(record.key),
            compact(record.value),
            headers_of(record),
            record.timestamp,
        )
        for record in records
    ]


def compact(raw: msgspec.Raw) -> bytes | None:
    """JSON without white space, numbers untouched; null is no value at all."""
    text = bytes(raw)
    if text == b"null":
        return None
    text.decode()  # what is no UTF-8 must not reach the log as JSON
    return msgspec.json.format(text, indent=-1)


def encode_by_schema(
    records: Sequence[SchemaRecord],
    partition: int | None,
    key: Writer | None,
    value: Writer | None,
) -> list[OutRecord]:
    """Records by the schemas of key and value; null is no value, unless a schema takes it."""
    encoded = []
    for index, record in enumerate(records):
        try:
            encoded.append(
                OutRecord(
                    number_of(record.partition) if partition is None else partition,
                    None if key is None or record.key is None else key.encode(record.key),
                    None if value is None or record.value is None else value.encode(record.value),
                    headers_of(record),
                    record.timestamp,
                )
            )
        except InvalidValue as error:
            raise InvalidValue(f"records[{index}]: {error}") from None
    return encoded


# -- on the way out --------------------------------------------------------------------------------


class ConsumedRecord(msgspec.Struct):
    """A record as versions 1 and 2 give it; the last two for those who ask."""

    topic: str
    key: Any
    value: Any
    partition: int
    offset: int
    headers: list[Header] | UnsetType = UNSET
    timestamp: int | UnsetType | None = UNSET


Render = Callable[[bytes, bytes | None], Any]
"""From the bytes of a key or value, and the header that names its schema, to what JSON shows."""


def render_binary(data: bytes, header: bytes | None) -> Any:
    return data


def render_json(data: bytes, header: bytes | None) -> Any:
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidValue(f"not JSON: {error}") from None
    return msgspec.Raw(data)
