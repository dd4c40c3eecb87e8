"""Records as clients send them in version 3, and the bytes that become of them.

A key or value says its type (BINARY, JSON, STRING, or one that has a schema); without a type it has
the latest schema of its subject. Whatever does not fit is a `RestError` that tells of this record
alone. JSON is passed on as it was written, without white space, so no number loses a digit.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from headrace.client.registry import SchemaChoice, Writer
from headrace.rest import errors
from headrace.rest.context import Proxy
from headrace.rest.formats import compact, raw_null
from headrace.rest.numbers import Digits, number_of
from headrace.rest.producing import OutRecord
from headrace.rest.v3 import faults
from headrace.schemas.model import InvalidSchema, InvalidValue, SchemaType
from headrace.schemas.naming import subject_name

T = TypeVar("T")

MAX_HEADERS: Final = 1000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_INT32: Final = 0x7FFFFFFF
_MAX_TIMESTAMP_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999, behind which no timestamp can be written as a date."""
_SCHEMA_TYPES: Final = {
    "AVRO": SchemaType.AVRO,
    "JSONSCHEMA": SchemaType.JSON,
    "PROTOBUF": SchemaType.PROTOBUF,
}
_TYPE_NAMES: Final = {kind: name for name, kind in _SCHEMA_TYPES.items()}
_WANTED: Final = {"BINARY": "a string of base64", "JSON": "JSON", "STRING": "a string"}
_NULL: Final = b"null"
_STRATEGY: Final = "TOPIC_NAME"


class RecordHeader(msgspec.Struct):
    """A header; its value is base64."""

    name: str
    value: bytes | None = None


class RecordData(msgspec.Struct):
    """A key or a value."""

    type: Literal["BINARY", "JSON", "STRING", "AVRO", "JSONSCHEMA", "PROTOBUF"] | None = None
    subject: str | None = None
    subject_name_strategy: Literal["TOPIC_NAME", "RECORD_NAME", "TOPIC_RECORD_NAME"] | None = None
    schema_id: int | Digits | None = None
    schema_version: int | Digits | None = None
    schema: str | None = None
    data: msgspec.Raw = msgspec.field(default_factory=raw_null)


class RecordRequest(msgspec.Struct):
    """One record to produce."""

    partition_id: int | Digits | None = None
    headers: list[RecordHeader] = []
    key: RecordData | None = None
    value: RecordData | None = None
    timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | int | None = None


class DataReport(msgspec.Struct, kw_only=True):
    """What is told of a key or value that was written."""

    type: str
    subject: str | UnsetType = UNSET
    schema_id: int | UnsetType = UNSET
    schema_version: int | UnsetType = UNSET
    size: int


class Encoded(NamedTuple):
    """The bytes of a key or value and what is told of them afterwards."""

    data: bytes | None
    told: DataReport | UnsetType


NOTHING: Final = Encoded(None, UNSET)


class Prepared(NamedTuple):
    """A record that is ready to be sent."""

    record: OutRecord
    key: Encoded
    value: Encoded


async def prepare(proxy: Proxy, topic: str, request: RecordRequest) -> Prepared:
    """Bytes for everything in the request; waits only where a schema is met for the first time."""
    partition = number_of(request.partition_id)
    if partition is not None and not 0 <= partition <= _MAX_INT32:
        raise errors.partition_not_found()
    key = await _encode(proxy, topic, True, request.key)
    value = await _encode(proxy, topic, False, request.value)
    record = OutRecord(
        partition=partition,
        key=key.data,
        value=value.data,
        headers=_headers(request.headers),
        timestamp=_timestamp_ms(request.timestamp),
    )
    return Prepared(record, key, value)


async def _encode(proxy: Proxy, topic: str, is_key: bool, asked: RecordData | None) -> Encoded:
    if asked is None:
        return NOTHING
    if asked.type is not None and asked.type not in _SCHEMA_TYPES:
        if asked.schema_id is not None or asked.schema_version is not None or asked.schema:
            raise faults.bad_request(f"{asked.type} takes no schema")
        data = _plain(asked.type, asked.data)
        return Encoded(data, DataReport(type=asked.type, size=len(data or b"")))
    choice = _choice(asked)
    writer = await proxy.writer(topic, is_key, choice)
    raw = bytes(asked.data)
    encoded = None if raw == _NULL else _by_schema(writer, raw)
    told = DataReport(
        type=_TYPE_NAMES[writer.schema.type],
        subject=_known(_subject(topic, is_key, choice, writer)),
        schema_id=_known(writer.schema_id),
        schema_version=_known(writer.version),
        size=len(encoded or b""),
    )
    return Encoded(encoded, told)


def _known(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value


def _plain(kind: str, raw: msgspec.Raw) -> bytes | None:
    try:
        if kind == "JSON":
            return compact(raw)
        if bytes(raw) == _NULL:
            return None
        text = msgspec.json.decode(raw, type=str)
        return b64decode(text, validate=True) if kind == "BINARY" else text.encode()
    except (msgspec.MsgspecError, binascii.Error, ValueError, RecursionError) as error:
        raise faults.bad_request(f"data of type {kind} must be {_WANTED[kind]}: {error}") from None


def _by_schema(writer: Writer, raw: bytes) -> bytes:
    try:
        return writer.encode(msgspec.json.decode(raw))
    except (InvalidValue, RecursionError) as error:
        raise faults.bad_request(str(error)) from None


def _choice(asked: RecordData) -> SchemaChoice:
    given = [
        name
        for name in ("schema_id", "schema_version", "schema")
        if getattr(asked, name) is not None
    ]
    if len(given) > 1:
        raise faults.bad_request(f"only one of {' and '.join(given)} can be given")
    if asked.schema is not None and asked.type is None:
        raise faults.bad_request("a schema needs its type: AVRO, JSONSCHEMA or PROTOBUF")
    if asked.subject is not None and asked.subject_name_strategy is not None:
        raise faults.bad_request("only one of subject and subject_name_strategy can be given")
    for name in ("schema_id", "schema_version"):
        number = number_of(getattr(asked, name))
        if number is not None and not 0 <= number <= _MAX_INT32:
            raise faults.bad_request(f"{name} is {number}: allowed is 0 to {_MAX_INT32}")
    return SchemaChoice(
        type=None if asked.type is None else _SCHEMA_TYPES[asked.type],
        schema_id=number_of(asked.schema_id),
        text=asked.schema,
        subject=asked.subject,
        version=number_of(asked.schema_version),
        strategy=asked.subject_name_strategy or _STRATEGY,
    )


def _subject(topic: str, is_key: bool, choice: SchemaChoice, writer: Writer) -> str | None:
    if writer.subject or choice.subject:
        return writer.subject or choice.subject
    try:
        return subject_name(choice.strategy, topic, is_key, writer.schema.name)
    except InvalidSchema:
        return None


def _headers(asked: list[RecordHeader]) -> list[tuple[str, bytes | None]]:
    if len(asked) > MAX_HEADERS:
        raise faults.bad_request(f"{len(asked)} headers: at most {MAX_HEADERS} are allowed")
    return [(header.name, header.value) for header in asked]


def _timestamp_ms(asked: datetime | int | None) -> int | None:
    if asked is None:
        return None
    if isinstance(asked, datetime):
        asked = (asked - _EPOCH) // timedelta(milliseconds=1)
    if not 0 <= asked <= _MAX_TIMESTAMP_MS:
        raise faults.bad_request(f"timestamp {asked} is not between 1970 and 9999")
    return asked


def timestamp_text(timestamp_ms: int) -> str | None:
    """A timestamp as clients read it: 2021-02-05T19:14:42.123Z, without zeros for no fraction."""
    if not 0 <= timestamp_ms <= _MAX_TIMESTAMP_MS:
        return None
    seconds, milliseconds = divmod(timestamp_ms, 1000)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{milliseconds:03}Z" if milliseconds else f"{whole}Z"
