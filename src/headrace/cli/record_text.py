"""Records as text: encodings of keys and values, and format strings.

`record_json` gives records the form of JSON objects, `schema_values` decodes what a schema
describes. Where records come from or go to does not matter here.

A format string holds text, the escapes \\n \\t \\r \\0 \\\\ \\xHH, and these fields:

    %t topic          %k key            %K size of the key, -1 for null
    %p partition      %v or %s value    %V or %S size of the value, -1 for null
    %o offset         %h headers        %T timestamp in ms, %d as ISO 8601
    %% percent
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.cli.failures import Failure, WrongUsage

Header: TypeAlias = tuple[str, bytes | None]


class Record(NamedTuple):
    """What a consumer sees of one record."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


class Encoding(StrEnum):
    """How bytes that no schema describes appear as text."""

    TEXT = "text"
    HEX = "hex"
    BASE64 = "base64"
    JSON = "json"


class Json(NamedTuple):
    """A key or value that has a structure, as plain data."""

    value: object


Shown: TypeAlias = bytes | Json
"""A key or value for a person: text, or data that is printed as JSON."""
Face: TypeAlias = Callable[[Record, bytes], Shown]
"""How the keys or the values of one run are shown; the bytes are those of the record."""
Pack: TypeAlias = Callable[[Shown], bytes]
"""The bytes of a record for what a person wrote: the text of a line, or a part of a JSON object."""


def plain_face(encoding: Encoding) -> Face:
    """Keys or values that no schema describes."""

    def show(_record: Record, data: bytes) -> Shown:
        return Json(parse_json(data)) if encoding is Encoding.JSON else to_text(data, encoding)

    return show


def plain_pack(encoding: Encoding) -> Pack:
    """The inverse of `plain_face`; data that is not a string is written as JSON."""

    def pack(given: Shown) -> bytes:
        if isinstance(given, Json):
            if encoding is Encoding.JSON or not isinstance(given.value, str):
                return compact_json(given.value).encode()
            given = given.value.encode()
        return from_text(given, encoding)

    return pack


class Faces(NamedTuple):
    """How keys and values of one run are shown, and what stands for null."""

    key: Face = plain_face(Encoding.TEXT)
    value: Face = plain_face(Encoding.TEXT)
    null_marker: bytes = b""


def to_text(data: bytes, encoding: Encoding) -> bytes:
    """Bytes for a terminal or a pipe. Text passes through untouched, so nothing is lost."""
    if encoding is Encoding.HEX:
        return data.hex().encode()
    if encoding is Encoding.BASE64:
        return base64.b64encode(data)
    if encoding is Encoding.JSON:
        return compact_json(parse_json(data)).encode()
    return data


def from_text(text: bytes, encoding: Encoding) -> bytes:
    """The inverse of `to_text`."""
    try:
        if encoding is Encoding.HEX:
            return binascii.unhexlify(text)
        if encoding is Encoding.BASE64:
            return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise Failure(f"{shorten(text)} is not {encoding.value} ({error})") from None
    if encoding is Encoding.JSON:
        return compact_json(parse_json(text)).encode()
    return text


def parse_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise Failure(f"{shorten(data)} is not JSON ({error})", "use --value-format text") from None


def compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shorten(data: bytes) -> str:
    text = data[:40].decode("utf-8", "backslashreplace")
    return f'"{text}…"' if len(data) > 40 else f'"{text}"'


def iso_timestamp(timestamp_ms: int) -> str:
    """`2026-05-01T10:00:00.000Z`; years that the calendar does not have stay numbers."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_Field: TypeAlias = Callable[[Record, Faces], bytes]


def _shown(record: Record, data: bytes | None, face: Face, faces: Faces) -> bytes:
    if data is None:
        return faces.null_marker
    shown = face(record, data)
    return compact_json(shown.value).encode() if isinstance(shown, Json) else shown


def _size(data: bytes | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)


def _headers(record: Record, faces: Faces) -> bytes:
    shown = (
        name.encode() + b"=" + (faces.null_marker if value is None else value)
        for name, value in record.headers
    )
    return b",".join(shown)


FIELDS: Final[dict[str, _Field]] = {
    "t": lambda record, faces: record.topic.encode(),
    "p": lambda record, faces: b"%d" % record.partition,
    "o": lambda record, faces: b"%d" % record.offset,
    "T": lambda record, faces: b"%d" % record.timestamp_ms,
    "d": lambda record, faces: iso_timestamp(record.timestamp_ms).encode(),
    "k": lambda record, faces: _shown(record, record.key, faces.key, faces),
    "v": lambda record, faces: _shown(record, record.value, faces.value, faces),
    "s": lambda record, faces: _shown(record, record.value, faces.value, faces),
    "K": lambda record, faces: _size(record.key),
    "V": lambda record, faces: _size(record.value),
    "S": lambda record, faces: _size(record.value),
    "h": _headers,
    "%": lambda record, faces: b"%",
}

_PIECE = re.compile(r"%(.?)|\\x([0-9A-Fa-f]{2})|\\(.?)|([^%\\]+)", re.DOTALL)
_ESCAPES: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def compile_format(text: str, faces: Faces) -> Callable[[Record], bytes]:
    """A function that renders one record; a wrong format is refused here, before any reading."""
    pieces: list[_Field] = []
    for field, byte, escape, plain in _PIECE.findall(text):
        if plain:
            pieces.append(_literal(plain.encode()))
        elif byte:
            pieces.append(_literal(bytes.fromhex(byte)))
        elif escape in _ESCAPES:
            pieces.append(_literal(_ESCAPES[escape]))
        elif field in FIELDS:
            pieces.append(FIELDS[field])
        else:
            wrong = f"%{field}" if field else f"\\{escape}"
            known = " ".join(f"%{name}" for name in FIELDS)
            raise WrongUsage(
                f'"{wrong}" is not known in --format "{text}"',
                f"use {known} and the escapes \\n \\t \\r \\0 \\\\ \\xHH",
            )
    return lambda record: b"".join([piece(record, faces) for piece in pieces])


def _literal(data: bytes) -> _Field:
    return lambda record, faces: data


def unescape(text: str) -> bytes:
    """Plain text with the escapes of a format string, for separators and markers."""
    return compile_format(text.replace("%", "%%"), Faces())(_NO_RECORD)


_NO_RECORD = Record("", 0, 0, 0, "", None, None)
