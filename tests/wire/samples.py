"""A message that has everything, which no real one has."""

from __future__ import annotations

from headrace.types import ZERO_UUID
from headrace.wire.schema import request, response, struct, tagged, v
from headrace.wire.types import (
    Bool,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    UInt16,
    UInt32,
    Uuid,
)


@struct
class Inner:
    """A struct that can be empty."""

    label: str = ""
    number: Int32 = 0
    since_two: Int32 = v(2, default=-1)


@request(key=1000, versions="0-3", flexible=2)
class EverythingRequest:
    """v1 nullable fields may be null · v2 flexible · v3 a field leaves."""

    int8: Int8
    int16: Int16
    uint16: UInt16
    int32: Int32
    uint32: UInt32
    int64: Int64
    float64: Float64
    flag: Bool
    uuid: Uuid
    text: str
    blob: bytes
    records: Records
    inner: Inner
    int8s: list[Int8]
    int64s: list[Int64]
    float64s: list[Float64]
    flags: list[Bool]
    uuids: list[Uuid]
    texts: list[str]
    blobs: list[bytes]
    inners: list[Inner]
    maybe_text: str | None = v(nullable=1)
    maybe_blob: bytes | None = v(nullable=1)
    maybe_records: Records | None = v(nullable=1)
    maybe_inner: Inner | None = v(nullable=1)
    maybe_int32s: list[Int32] | None = v(nullable=1)
    maybe_uuids: list[Uuid] | None = v(nullable=1)
    maybe_inners: list[Inner] | None = v(nullable=1)
    until_two: Int16 = v(0, 2, default=7)
    tag_int: Int32 = tagged(0, since=2, default=-1)
    tag_text: str | None = tagged(1, since=2, default=None)
    tag_inner: Inner | None = tagged(2, since=2, default=None)
    tag_inners: list[Inner] = tagged(3, since=3, default=[])
    tag_uuid: Uuid = tagged(5, since=2, default=ZERO_UUID)
    tag_bytes: bytes = tagged(300, since=2, default=b"")


@response(key=1000, versions="0-3", flexible=2)
class SmallResponse:
    """v1 the message."""

    error_code: Int16 = 0
    message: str | None = v(1, default=None)
    inners: list[Inner] = v(default=[])
    records: Records | None = None
