"""The head of an envelope: what stands before the payload, equal for all values of a producer.

A head that was seen before is recognised by its bytes, so that its schema is read once and only the
payload is parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.converters.json.parsing import (
    Json,
    NotJson,
    decoded,
    end_of_blank,
    value_at,
)
from headrace.pipelines.connect.converters.json.reading import Read, reader_of
from headrace.pipelines.connect.converters.json.schemas import schema_of
from headrace.pipelines.connect.model.schema import Schema

_OPENING: Final = re.compile(r'[ \t\r\n]*\{[ \t\r\n]*"schema"[ \t\r\n]*:[ \t\r\n]*')
_PAYLOAD: Final = re.compile(r'[ \t\r\n]*,[ \t\r\n]*"payload"[ \t\r\n]*:')


@dataclass(frozen=True, slots=True)
class Head:
    """The bytes before a payload, the schema that they say, and what reads values of it."""

    data: bytes
    schema: Schema | None
    read: Read

    def payload(self, data: bytes) -> tuple[bool, Json]:
        """Whether this is the head of `data` with only a payload behind it, and the payload."""
        if not data.startswith(self.data):
            return False, None
        try:
            text = data[len(self.data) :].decode()
            value, end = value_at(text, end_of_blank(text, 0))
        except (NotJson, UnicodeDecodeError):
            return False, None
        return text[end_of_blank(text, end) :][:1] == "}", value


class Heads:
    """The heads that were seen, at most `room` of them."""

    def __init__(self, room: int, *, defaults: bool) -> None:
        self._room = room
        self._defaults = defaults
        self._known: dict[bytes, Head] = {}
        self._last: Head | None = None

    def of(self, data: bytes) -> Head | None:
        """The head of an envelope in the order in which Connect writes it; None of any other."""
        if self._last is not None and data.startswith(self._last.data):
            return self._last
        found = _head_bytes(data)
        if found is None:
            return None
        head = self._known.get(found[0])
        if head is None:
            schema = schema_of(found[1], defaults=self._defaults)
            head = Head(found[0], schema, reader_of(schema, defaults=self._defaults))
            if len(self._known) >= self._room:
                self._known.clear()
            self._known[head.data] = head
        self._last = head
        return head


def _head_bytes(data: bytes) -> tuple[bytes, Json] | None:
    try:
        text = decoded(data)
        opening = _OPENING.match(text)
        if opening is None:
            return None
        schema, end = value_at(text, opening.end())
    except NotJson:
        return None
    behind = _PAYLOAD.match(text, end)
    if (
        behind is None
        or text[: behind.end()].encode() != data[: len(text[: behind.end()].encode())]
    ):
        return None
    return text[: behind.end()].encode(), schema
