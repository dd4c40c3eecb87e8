"""The records that every client writes and reads back, made the same way each time.

They hold what clients and brokers have lost before: null and empty keys and values, headers
twice under one name, null and empty header values, every byte value, records that compress
well and records that do not, equal timestamps and timestamps that go backwards.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST_TIMESTAMP_MS = 1_700_000_000_000
TIMESTAMP_STEP_MS = 1_000
# Topics for these records keep them, although their timestamps lie far in the past.
KEEP_FOREVER = {"retention.ms": "-1"}

Headers = tuple[tuple[str, bytes | None], ...]


def incompressible(length: int) -> bytes:
    """Bytes that no codec makes smaller, the same in every run."""
    blocks = (hashlib.sha256(str(number).encode()).digest() for number in range(length // 32 + 1))
    return b"".join(blocks)[:length]


EVERY_BYTE = bytes(range(256))
NEITHER_KEY_NOR_VALUE = "neither key nor value"
NULL_HEADER = "null header"
SHAPES: dict[str, tuple[bytes | None, bytes | None, Headers]] = {
    "plain": (b"key", b"value", ()),
    "no key": (None, b"no key", ()),
    "tombstone": (b"tombstone", None, ()),
    NEITHER_KEY_NOR_VALUE: (None, None, ()),
    "empty value": (b"empty value", b"", ()),
    "empty key": (b"", b"empty key", ()),
    "every byte": (EVERY_BYTE, EVERY_BYTE, (("bytes", EVERY_BYTE),)),
    "other letters": ("Grüße".encode(), "κόσμε".encode(), (("größe", "ñ".encode()),)),
    "duplicate headers": (b"h", b"", (("a", b"1"), ("b", b"2"), ("a", b"3"), ("a", b"1"))),
    "empty headers": (b"h", b"", (("empty", b""), ("", b"empty name"))),
    NULL_HEADER: (b"h", b"", (("null", None), ("then", b"not"))),
    "compressible": (b"c", b"The same again. " * 4_096, ()),
    "incompressible": (b"i", incompressible(20_000), ()),
    "same time as the one before": (b"s", b"", ()),
    "earlier than the one before": (b"e", b"", ()),
}


@dataclass(frozen=True, slots=True)
class Record:
    """What a producer gives to its client."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "key": _encoded(self.key),
            "value": _encoded(self.value),
            "timestamp_ms": self.timestamp_ms,
            "headers": [[name, _encoded(value)] for name, value in self.headers],
        }


@dataclass(frozen=True, slots=True)
class Stored:
    """What a consumer gets back: the record and where it lies."""

    offset: int
    record: Record

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Stored:
        headers = tuple((name, _decoded(value)) for name, value in fields["headers"])
        key, value = _decoded(fields["key"]), _decoded(fields["value"])
        return Stored(fields["offset"], Record(key, value, fields["timestamp_ms"], headers))


def sample_records(*, without: Collection[str] = ()) -> list[Record]:
    """One record for everything that has been lost before.

    `without` names the shapes that a client itself refuses to write.
    """
    wanted = {name: shape for name, shape in SHAPES.items() if name not in without}
    steps = {name: step for step, name in enumerate(wanted)}
    steps["same time as the one before"] = steps["incompressible"]
    steps["earlier than the one before"] = steps["compressible"]
    return [
        Record(key, value, FIRST_TIMESTAMP_MS + steps[name] * TIMESTAMP_STEP_MS, headers)
        for name, (key, value, headers) in wanted.items()
    ]


def numbered_records(count: int, *, value_bytes: int = 100) -> list[Record]:
    """Records whose values say their number, one timestamp step apart."""
    return [
        Record(
            str(number).encode(),
            str(number).encode().ljust(value_bytes, b"."),
            FIRST_TIMESTAMP_MS + number * TIMESTAMP_STEP_MS,
        )
        for number in range(count)
    ]


def stored_from(offset: int, records: Iterable[Record]) -> list[Stored]:
    """`records` as a reader should see them, the first at `offset`."""
    return [Stored(offset + index, record) for index, record in enumerate(records)]


def _encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
