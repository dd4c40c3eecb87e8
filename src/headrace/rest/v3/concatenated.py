"""Concatenated JSON: objects one after the other, cut out of chunks as they arrive.

Chunks end anywhere, also within a string or an escape. An object is handed on as soon as its last
brace is here; at most one is held in memory. What is inside is for a JSON decoder: only strings and
brackets are followed, with a bound on size and nesting. An object that is too large is skipped to
its end and told as `None`, so that the stream goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from headrace.errors import HeadraceError

MAX_DEPTH: Final = 200

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_BRACKET_OR_STRING: Final = re.compile(rb'["{}\[\]]')
_STRING_END: Final = re.compile(rb'["\\]')
_OPENING: Final = b"{["
_QUOTE: Final = ord('"')


class MalformedStream(HeadraceError):
    """From here on nobody can tell where an object begins."""


class ObjectSplitter:
    """Feed it chunks; it yields objects."""

    def __init__(self, max_object_bytes: int) -> None:
        self._max_bytes = max_object_bytes
        self._held = bytearray()
        self._size = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._before = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """The objects that end in this chunk, in order; None in place of one too large."""
        position = 0
        while position < len(chunk):
            if self._depth == 0:
                position = self._begin(chunk, position)
                if position == len(chunk):
                    break
            end = self._scan(chunk, position)
            self._hold(memoryview(chunk)[position:end])
            if self._depth == 0:
                yield self._take()
            position = end
        self._before += len(chunk)

    def finish(self) -> None:
        """The stream has ended: it must not have ended within an object."""
        if self._depth:
            raise MalformedStream(
                f"the stream ends at byte {self._before}, inside an object of {self._size} bytes"
            )

    def _begin(self, chunk: bytes, position: int) -> int:
        """Where the next object begins in the chunk; its end if nothing does."""
        match = _SPACE.match(chunk, position)
        assert match is not None, "the pattern matches nothing as well"
        start = match.end()
        if start < len(chunk) and chunk[start : start + 1] != b"{":
            found = chunk[start : start + 1].decode(errors="replace")
            raise MalformedStream(
                f"unexpected {found!r} at byte {self._before + start}: records are JSON objects, "
                "one after the other"
            )
        return start

    def _scan(self, chunk: bytes, position: int) -> int:
        """Follow strings and brackets to the end of the object, or of the chunk."""
        while position < len(chunk):
            if self._escaped:
                self._escaped = False
                position += 1
                continue
            pattern = _STRING_END if self._in_string else _BRACKET_OR_STRING
            match = pattern.search(chunk, position)
            if match is None:
                return len(chunk)
            position = match.end()
            found = chunk[position - 1]
            if self._in_string:
                self._in_string = found != _QUOTE
                self._escaped = found != _QUOTE
            elif found == _QUOTE:
                self._in_string = True
            elif found in _OPENING:
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    raise MalformedStream(f"an object is nested deeper than {MAX_DEPTH} levels")
            else:
                self._depth -= 1
                if self._depth == 0:
                    return position
        return position

    def _hold(self, part: memoryview) -> None:
        self._size += len(part)
        if self._size > self._max_bytes:
            self._held.clear()
        else:
            self._held += part

    def _take(self) -> bytes | None:
        taken = bytes(self._held) if self._size <= self._max_bytes else None
        self._held.clear()
        self._size = 0
        return taken
