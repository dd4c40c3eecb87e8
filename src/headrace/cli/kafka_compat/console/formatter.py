"""A record as a line, by the properties of Kafka's `DefaultMessageFormatter`.

    CreateTime:1 | Partition:0 | Offset:7 | Delivery:1 | Epoch:0 | h1:v1,h2:v2 | key | value

What is asked for stands there, in this order, with `key.separator` between. How keys, values and
headers are shown is the matter of whoever makes the formatter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from headrace.cli.kafka_compat.clients import is_true, unescaped

_TIMESTAMPS: Final = (b"NO_TIMESTAMP", b"CreateTime:%d", b"LogAppendTime:%d")
_ABSENT: Final = b"NOT_PRESENT"

Show: TypeAlias = Callable[[Any, bytes], bytes]
"""The bytes to print for a key or value of a message."""


class Formatter(Protocol):
    """What the consuming tools print with."""

    def line(self, message: Any) -> bytes:
        """All that is printed for one message; nothing at all is an answer."""
        ...


class Shows(NamedTuple):
    """How the parts that a record's writer chose are shown."""

    key: Show
    value: Show
    header: Show


def as_it_is(_message: Any, data: bytes) -> bytes:
    return data


class DefaultFormatter:
    """The parts that are asked for, in the order that the Java tool has."""

    def __init__(self, properties: Mapping[str, str], shows: Shows) -> None:
        self._separator = _bytes(properties, "key.separator", "\t")
        self._headers_separator = _bytes(properties, "headers.separator", ",")
        self._end = _bytes(properties, "line.separator", "\n")
        self._null = _bytes(properties, "null.literal", "null")
        self._shows = shows
        parts: dict[str, Callable[[Any], bytes]] = {
            "timestamp": _timestamp,
            "partition": lambda message: b"Partition:%d" % message.partition(),
            "offset": lambda message: b"Offset:%d" % message.offset(),
            "delivery": lambda message: b"Delivery:" + _number(message.delivery_count()),
            "epoch": lambda message: b"Epoch:" + _number(message.leader_epoch()),
            "headers": self._headers,
            "key": lambda message: self._shown(message, message.key(), shows.key),
            "value": lambda message: self._shown(message, message.value(), shows.value),
        }
        self._parts = [
            part
            for name, part in parts.items()
            if is_true(properties, f"print.{name}", default=name == "value")
        ]

    def line(self, message: Any) -> bytes:
        if not self._parts:
            return b""
        return self._separator.join([part(message) for part in self._parts]) + self._end

    def _shown(self, message: Any, data: bytes | None, show: Show) -> bytes:
        return self._null if data is None else show(message, data)

    def _headers(self, message: Any) -> bytes:
        headers = message.headers()
        if not headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            name.encode() + b":" + self._shown(message, value, self._shows.header)
            for name, value in headers
        )


def _timestamp(message: Any) -> bytes:
    kind, timestamp_ms = message.timestamp()
    return _TIMESTAMPS[kind] % timestamp_ms if kind else _TIMESTAMPS[0]


def _number(value: int | None) -> bytes:
    return _ABSENT if value is None or value < 0 else b"%d" % value


def _bytes(properties: Mapping[str, str], name: str, default: str) -> bytes:
    return unescaped(properties.get(name, default)).encode()
