"""Records as JSON objects: what `consume --output json` prints, `produce --format json` reads.

Where records come from or go to does not matter here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.record_text import (
    Encoding,
    Face,
    Faces,
    Header,
    Json,
    Pack,
    Record,
    compact_json,
    parse_json,
    plain_face,
    plain_pack,
    shorten,
)

_TEXT_FACE: Final = plain_face(Encoding.TEXT)
_TEXT_PACK: Final = plain_pack(Encoding.TEXT)


def to_json(record: Record, faces: Faces) -> dict[str, object]:
    """The record as plain data, in the shape that `from_json` reads back."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "timestamp_type": record.timestamp_type,
        "key": _as_json(record, record.key, faces.key),
        "value": _as_json(record, record.value, faces.value),
        "headers": [
            {"key": name, "value": _as_json(record, value, _TEXT_FACE)}
            for name, value in record.headers
        ],
    }


def _as_json(record: Record, data: bytes | None, face: Face) -> object:
    if data is None:
        return None
    shown = face(record, data)
    return shown.value if isinstance(shown, Json) else shown.decode("utf-8", "backslashreplace")


class Draft(NamedTuple):
    """A record before it has a place in a log."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]
    partition: int | None = None
    timestamp_ms: int | None = None


def from_json(line: bytes, key: Pack, value: Pack) -> Draft:
    """One line of `produce --format json`. Offset, topic and timestamp type are ignored."""
    entry = parse_json(line)
    if not isinstance(entry, dict):
        raise Failure(f"{shorten(line)} is not a JSON object", 'write {"key": …, "value": …}')
    return Draft(
        key=_from_json(entry.get("key"), key),
        value=_from_json(entry.get("value"), value),
        headers=_headers_from_json(entry.get("headers")),
        partition=_integer(entry, "partition"),
        timestamp_ms=_integer(entry, "timestamp"),
    )


def _from_json(value: object, pack: Pack) -> bytes | None:
    return None if value is None else pack(Json(value))


def _headers_from_json(headers: object) -> list[Header]:
    """A list of {"key", "value"}, or a mapping where no name comes twice."""
    if headers is None:
        return []
    if isinstance(headers, dict):
        return [(name, _from_json(value, _TEXT_PACK)) for name, value in headers.items()]
    if isinstance(headers, list) and all(
        isinstance(header, dict) and isinstance(header.get("key"), str) for header in headers
    ):
        return [(header["key"], _from_json(header.get("value"), _TEXT_PACK)) for header in headers]
    raise Failure(
        f"headers {shorten(compact_json(headers).encode())} cannot be read",
        'write {"name": "value"} or [{"key": "name", "value": "value"}]',
    )


def _integer(entry: dict[str, object], name: str) -> int | None:
    value = entry.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise Failure(f'"{name}" must be an integer, not {compact_json(value)}')
