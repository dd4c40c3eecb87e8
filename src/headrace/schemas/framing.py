"""How a record says which schema its bytes were written with.

Two forms exist. In the classic one the value begins with a zero byte and the id of the schema as
a big-endian int32; Protobuf adds the path of message indexes. In the newer one a byte 1 and the 16
bytes of the schema's GUID stand in the record's header `__key_schema_id` or `__value_schema_id`
(or, rarely, before the value), and the value is the bare payload. Nothing here knows what a schema
is, or whether the id exists.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from headrace.schemas.model import InvalidValue

KEY_SCHEMA_ID_HEADER: Final = "__key_schema_id"
VALUE_SCHEMA_ID_HEADER: Final = "__value_schema_id"

MAX_MESSAGE_INDEXES: Final = 64
"""How deeply messages are nested in real files is a handful; a hostile count must not loop."""

_MAGIC_ID: Final = 0
_MAGIC_GUID: Final = 1
_ID: Final = struct.Struct(">bi")
_GUID_BYTES: Final = 16
_MAX_VARINT_BYTES: Final = 5
_FIRST_MESSAGE: Final = b"\x00"
"""The path `[0]`, by far the most usual, is written as one byte."""


@dataclass(frozen=True, slots=True)
class Framed:
    """What the frame of a record said; exactly one of `schema_id` and `guid` is set."""

    schema_id: int | None
    guid: UUID | None
    message_indexes: tuple[int, ...] | None
    payload: memoryview


def frame(schema_id: int, payload: bytes, message_indexes: tuple[int, ...] | None = None) -> bytes:
    """The value of a record in the classic form; Protobuf alone gives `message_indexes`."""
    head = _ID.pack(_MAGIC_ID, schema_id)
    if message_indexes is None:
        return head + payload
    return head + write_message_indexes(message_indexes) + payload


def frame_guid_header(guid: UUID, message_indexes: tuple[int, ...] | None = None) -> bytes:
    """The value of the header that names the schema of a bare payload."""
    head = bytes((_MAGIC_GUID,)) + guid.bytes
    return head if message_indexes is None else head + write_message_indexes(message_indexes)


def unframe(
    data: bytes | memoryview, *, indexed: bool = False, header: bytes | None = None
) -> Framed:
    """Take a record apart; with `header`, the frame is there and `data` is all payload.

    `indexed` says that message indexes follow the id, which only the type of the schema can tell:
    a caller that does not know it yet reads them afterwards with `read_message_indexes`.
    """
    source = memoryview(data if header is None else header)
    schema_id, guid, rest = _read_id(source)
    indexes = None
    if indexed:
        indexes, rest = read_message_indexes(rest)
    return Framed(schema_id, guid, indexes, rest if header is None else memoryview(data))


def write_message_indexes(indexes: tuple[int, ...]) -> bytes:
    """The path to a message inside its file: a count and that many indexes, as zig-zag varints."""
    if indexes == (0,):
        return _FIRST_MESSAGE
    return b"".join((_zigzag(len(indexes)), *map(_zigzag, indexes)))


def read_message_indexes(payload: bytes | memoryview) -> tuple[tuple[int, ...], memoryview]:
    """The path to a message, and what follows it."""
    view = memoryview(payload)
    count, position = _unzigzag(view, 0)
    if count == 0:
        return (0,), view[position:]
    if not 0 < count <= MAX_MESSAGE_INDEXES:
        raise InvalidValue(
            f"The record says that {count} message indexes follow; "
            f"1 to {MAX_MESSAGE_INDEXES} can be: it was not written by a Protobuf serializer"
        )
    indexes = []
    for _ in range(count):
        index, position = _unzigzag(view, position)
        if index < 0:
            raise InvalidValue(f"The record has the message index {index}; they count from 0")
        indexes.append(index)
    return tuple(indexes), view[position:]


def _read_id(source: memoryview) -> tuple[int | None, UUID | None, memoryview]:
    if not source:
        raise InvalidValue("The record is empty: it has no schema id in front of its data")
    magic = source[0]
    if magic == _MAGIC_ID:
        if len(source) < _ID.size:
            raise InvalidValue(f"The record ends inside its schema id, after {len(source)} bytes")
        return _ID.unpack_from(source)[1], None, source[_ID.size :]
    if magic == _MAGIC_GUID:
        end = 1 + _GUID_BYTES
        if len(source) < end:
            raise InvalidValue(f"The record ends inside its schema GUID, after {len(source)} bytes")
        return None, UUID(bytes=bytes(source[1:end])), source[end:]
    raise InvalidValue(
        f"Unknown magic byte {magic}: 0 (schema id) or 1 (schema GUID) is expected; "
        "the record was not written by a serializer of a schema registry"
    )


def _zigzag(value: int) -> bytes:
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _unzigzag(view: memoryview, position: int) -> tuple[int, int]:
    result = 0
    for index, byte in enumerate(view[position : position + _MAX_VARINT_BYTES]):
        result |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), position + index + 1
    raise InvalidValue("The record ends inside its message indexes, or one is longer than 5 bytes")
