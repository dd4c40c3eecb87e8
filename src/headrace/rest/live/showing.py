"""Records as clients read them: the same shape in which version 3 takes them.

A record that was read can be produced again as it is. A key or value has the type that the client
asked for; one that is not of that type is shown as BINARY with the reason beside it, so that one
poisonous record never hides those behind it. AUTO looks: a registry's frame, JSON, text, bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType
from starlette.datastructures import QueryParams

from headrace.client.registry import RegistryRefused, RegistryUnreachable, Serdes
from headrace.rest.formats import Header
from headrace.rest.v3 import faults
from headrace.rest.v3.record_requests import timestamp_text
from headrace.schemas.model import InvalidSchema, InvalidValue, SchemaType

TYPES: Final = ("AUTO", "BINARY", "JSON", "STRING", "AVRO", "JSONSCHEMA", "PROTOBUF")
_SCHEMA_TYPES: Final = {
    "AVRO": SchemaType.AVRO,
    "JSONSCHEMA": SchemaType.JSON,
    "PROTOBUF": SchemaType.PROTOBUF,
}
_TYPE_NAMES: Final = {kind: name for name, kind in _SCHEMA_TYPES.items()}
_KEY_HEADER: Final = "__key_schema_id"
_VALUE_HEADER: Final = "__value_schema_id"
_FRAME_HEADER_BYTES: Final = 5
_MAX_STRANGE: Final = 1000
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What nobody writes in a text: bytes that have it are only by chance valid UTF-8."""

_encode: Final = msgspec.json.Encoder().encode
_check_json: Final = msgspec.json.Decoder().decode


class Part(msgspec.Struct, kw_only=True):
    """A key or a value; BINARY is base64."""

    type: str
    schema_id: int | UnsetType = UNSET
    data: Any
    error: str | UnsetType = UNSET


class Record(msgspec.Struct):
    """A record as clients see it."""

    partition_id: int
    offset: int
    timestamp: str | None
    headers: list[Header]
    key: Part | None
    value: Part | None


class ReadRecord(NamedTuple):
    """A record of one topic, as bytes."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]

    @property
    def size(self) -> int:
        return len(self.key or b"") + len(self.value or b"")


class Formats(NamedTuple):
    """The types in which keys and values are wanted."""

    key: str = "AUTO"
    value: str = "AUTO"


def formats_of(query: QueryParams) -> Formats:
    """`format` for both, `key_format` and `value_format` for one of them."""
    both = query.get("format", "AUTO")
    chosen = []
    for name in ("key_format", "value_format"):
        text = query.get(name, both).upper()
        if text not in TYPES:
            raise faults.bad_request(f"{name}={text!r}: allowed are {', '.join(TYPES)}")
        chosen.append(text)
    return Formats(*chosen)


class Showing:
    """Shows the records of one reader; may ask the registry, so it belongs on a thread."""

    def __init__(self, formats: Formats, serdes: Serdes) -> None:
        self._formats = formats
        self._serdes = serdes
        self._strange: set[bytes] = set()

    def show(self, record: ReadRecord) -> bytes:
        """The record as JSON."""
        schemas = {name: value for name, value in record.headers if name in _SCHEMA_HEADERS}
        return _encode(
            Record(
                record.partition,
                record.offset,
                timestamp_text(record.timestamp),
                [Header(name, value) for name, value in record.headers],
                self._part(record.key, self._formats.key, schemas.get(_KEY_HEADER)),
                self._part(record.value, self._formats.value, schemas.get(_VALUE_HEADER)),
            )
        )

    def _part(self, data: bytes | None, wanted: str, header: bytes | None) -> Part | None:
        if data is None:
            return None
        if wanted == "AUTO":
            return self._recognised(data, header)
        try:
            return self._as(data, wanted, header)
        except _UNREADABLE as error:
            return Part(type="BINARY", data=data, error=f"not {wanted}: {error}")

    def _recognised(self, data: bytes, header: bytes | None) -> Part:
        framed = len(data) >= _FRAME_HEADER_BYTES and data[0] == 0
        frame = header if header is not None else data[:_FRAME_HEADER_BYTES]
        if (framed or header is not None) and frame not in self._strange:
            try:
                return self._by_schema(data, None, header)
            except _UNREADABLE:
                # Bytes that only look like a frame must not ask the registry again each time.
                if len(self._strange) < _MAX_STRANGE:
                    self._strange.add(frame)
        for kind in ("JSON",) if _CONTROL.search(data) else ("JSON", "STRING"):
            try:
                return self._as(data, kind, None)
            except _UNREADABLE:
                continue
        return Part(type="BINARY", data=data)

    def _as(self, data: bytes, kind: str, header: bytes | None) -> Part:
        if kind == "BINARY":
            return Part(type="BINARY", data=data)
        if kind == "STRING":
            return Part(type=kind, data=data.decode())
        if kind == "JSON":
            _check_json(data)
            return Part(type=kind, data=msgspec.Raw(data))
        return self._by_schema(data, _SCHEMA_TYPES[kind], header)

    def _by_schema(self, data: bytes, expected: SchemaType | None, header: bytes | None) -> Part:
        decoded = self._serdes.decode(data, header=header, expected=expected)
        return Part(
            type=_TYPE_NAMES[decoded.schema.type],
            schema_id=UNSET if decoded.schema_id is None else decoded.schema_id,
            data=decoded.value,
        )


_SCHEMA_HEADERS: Final = (_KEY_HEADER, _VALUE_HEADER)
_UNREADABLE: Final = (
    InvalidValue,
    InvalidSchema,
    RegistryRefused,
    RegistryUnreachable,
    UnicodeDecodeError,
    RecursionError,
    msgspec.DecodeError,
)
