"""Records as JSON objects: what `consume --output json` prints, `produce --format json` reads.

The module refuses to know where records come from or go to.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.record_text import (
    Encoding,
    Faces,
    Header,
    Record,
    compact_json,
    from_text,
    parse_json,
    shorten,
    to_text,
)


def to_json(record: Record, faces: Faces) -> dict[str, object]:
    """The record as plain data, in the shape that `from_json` reads back."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "timestamp_type": record.timestamp_type,
        "key": _as_json(record.key, faces.key),
        "value": _as_json(record.value, faces.value),
        "headers": [
            {"key": name, "value": _as_json(value, Encoding.TEXT)} for name, value in record.headers
        ],
    }


def _as_json(data: bytes | None, encoding: Encoding) -> object:
    if data is None:
        return None
    if encoding is Encoding.JSON:
        return parse_json(data)
    return to_text(data, encoding).decode("utf-8", "backslashreplace")


class Draft(NamedTuple):
    """A record before it has a place in a log."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]
    partition: int | None = None
    timestamp_ms: int | None = None


def from_json(line: bytes, faces: Faces) -> Draft:
    """One line of `produce --format json`. Offset, topic and timestamp type are read over."""
    entry = parse_json(line)
    if not isinstance(entry, dict):
        raise Failure(f"{shorten(line)} is not a JSON object", 'write {"key": …, "value": …}')
    return Draft(
        key=_from_json(entry.get("key"), faces.key),
        value=_from_json(entry.get("value"), faces.value),
        headers=_headers_from_json(entry.get("headers")),
        partition=_integer(entry, "partition"),
        timestamp_ms=_integer(entry, "timestamp"),
    )


def _from_json(value: object, encoding: Encoding) -> bytes | None:
    if value is None:
        return None
    if encoding is Encoding.JSON or not isinstance(value, str):
        return compact_json(value).encode()
    return from_text(value.encode(), encoding)


def _headers_from_json(headers: object) -> list[Header]:
    """A list of {"key", "value"}, or a mapping where no name comes twice."""
    if headers is None:
        return []
    if isinstance(headers, dict):
        return [(name, _from_json(value, Encoding.TEXT)) for name, value in headers.items()]
    if isinstance(headers, list) and all(
        isinstance(header, dict) and isinstance(header.get("key"), str) for header in headers
    ):
        return [
            (header["key"], _from_json(header.get("value"), Encoding.TEXT)) for header in headers
        ]
    raise Failure(
        f"headers {shorten(compact_json(headers).encode())} cannot be read",
        'write {"name": "value"} or [{"key": "name", "value": "value"}]',
    )


def _integer(entry: dict[str, object], name: str) -> int | None:
    value = entry.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise Failure(f'"{name}" must be an integer, not {compact_json(value)}')
