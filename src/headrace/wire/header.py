"""Request and response headers, and whole frames made of header and message.

    REQUEST HEADER                               RESPONSE HEADER
    OFFSET  SIZE  TYPE    MEANING                OFFSET  SIZE  TYPE   MEANING
         0     2  int16   api key                     0     4  int32  correlation id
         2     2  int16   api version                 4  tags         v1 only
         4     4  int32   correlation id
         8   2+n  string  client id, nullable
      10+n  tags          v2 only

A flexible message version has request header v2 and response header v1. Two exceptions: the client
id keeps its old int16 length in v2, and ApiVersions is answered with header v0 in every version,
because its reader does not know yet what the broker speaks. Tags of headers carry nothing that
this broker knows; they are read over.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Any

from headrace.types import Buffer

from .compiler import encoder
from .faults import malformed
from .primitives import DECODE_FAULTS, skip_tags
from .schema import info

_KEY_VERSION_CORRELATION = Struct(">hhi")
_REQUEST_HEAD = Struct(">hhih")
_SIZED_REQUEST_HEAD = Struct(">ihhih")
_CORRELATION = Struct(">i")
_SIZED_RESPONSE_HEAD_V0 = Struct(">ii")
_SIZED_RESPONSE_HEAD_V1 = Struct(">iix")

_new = object.__new__


class RequestHeader:
    """What leads every request."""

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id")

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None

    def __init__(
        self, *, api_key: int, api_version: int, correlation_id: int, client_id: str | None
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id

    def __repr__(self) -> str:
        return (
            f"RequestHeader(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r})"
        )


def peek(buf: Buffer, pos: int = 0) -> tuple[int, int, int]:
    """Api key, api version and correlation id: all that can be read of a version never heard of."""
    try:
        key, version, correlation_id = _KEY_VERSION_CORRELATION.unpack_from(buf, pos)
    except error as fault:
        raise malformed("request header", None, fault) from fault
    return key, version, correlation_id


def decode_request_header(
    buf: bytes | bytearray, pos: int, request_class: type[Any]
) -> tuple[RequestHeader, int]:
    """The header of a request whose class is known by `peek`; and the position of its body."""
    header = _new(RequestHeader)
    try:
        key, version, correlation_id, size = _REQUEST_HEAD.unpack_from(buf, pos)
        pos += 10
        if size < 0:
            if size != -1:
                raise ValueError(f"the client id has length {size}")
            header.client_id = None
        else:
            end = pos + size
            header.client_id = buf[pos:end].decode()
            pos = end
        if version >= request_class.__wire__.flexible:
            pos = skip_tags(buf, pos) if buf[pos] else pos + 1
        if pos > len(buf):
            raise IndexError(pos)
    except DECODE_FAULTS as fault:
        raise malformed("request header", None, fault) from fault
    header.api_key = key
    header.api_version = version
    header.correlation_id = correlation_id
    return header, pos


def encode_response(correlation_id: int, version: int, message: Any) -> list[Buffer]:
    """A whole response frame, size included, as chunks for one gathering write."""
    cls = type(message)
    chunks = encoder(cls, version)(message)
    size = len(chunks[0]) if len(chunks) == 1 else sum(map(len, chunks))
    # The first chunk never holds records, so growing it by the header copies next to nothing.
    if version >= info(cls).response_header_flexible:
        chunks[0] = _SIZED_RESPONSE_HEAD_V1.pack(size + 5, correlation_id) + chunks[0]
    else:
        chunks[0] = _SIZED_RESPONSE_HEAD_V0.pack(size + 4, correlation_id) + chunks[0]
    return chunks


def decode_response_header(
    buf: bytes | bytearray, pos: int, version: int, response_class: type
) -> tuple[int, int]:
    """The correlation id of a response, and the position of its body."""
    try:
        (correlation_id,) = _CORRELATION.unpack_from(buf, pos)
        pos += 4
        if version >= info(response_class).response_header_flexible:
            pos = skip_tags(buf, pos)
        if pos > len(buf):
            raise IndexError(pos)
    except DECODE_FAULTS as fault:
        raise malformed("response header", None, fault) from fault
    return correlation_id, pos


def encode_request(
    correlation_id: int, client_id: str | None, version: int, message: Any
) -> list[Buffer]:
    """A whole request frame, size included, as chunks for one gathering write."""
    cls = type(message)
    chunks = encoder(cls, version)(message)
    declared = info(cls)
    name = b"" if client_id is None else client_id.encode()
    tags = b"\0" if version >= declared.flexible else b""
    head = _SIZED_REQUEST_HEAD.pack(
        10 + len(name) + len(tags) + sum(map(len, chunks)),
        declared.key,
        version,
        correlation_id,
        -1 if client_id is None else len(name),
    )
    chunks[0] = head + name + tags + chunks[0]
    return chunks
