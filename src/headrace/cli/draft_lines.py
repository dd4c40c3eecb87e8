"""Lines of text into drafts of records: a line is a value, a key and a value, or a JSON object."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, Final, NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.record_json import Draft, from_json
from headrace.cli.record_text import Pack

MAX_LINE_BYTES: Final = 64 << 20


class Form(StrEnum):
    """What a line is."""

    LINE = "line"
    JSON = "json"


class LineReader(NamedTuple):
    """How the lines of one run are read.

    `defaults` fills in what a line does not say; without a `null_marker` no text means null.
    """

    form: Form
    key: Pack
    value: Pack
    defaults: Draft
    separator: bytes | None = None
    null_marker: bytes | None = None

    def read_files(self, paths: list[Path]) -> Iterator[Draft]:
        """The drafts of all files in turn, or of standard input when none is named."""
        if not paths:
            yield from self.read(sys.stdin.buffer, "standard input")
        for path in paths:
            try:
                stream = path.open("rb")
            except OSError as error:
                raise Failure(f"{path} cannot be read ({error.strerror})") from None
            with stream:
                yield from self.read(stream, str(path))

    def read(self, stream: IO[bytes], name: str) -> Iterator[Draft]:
        """The drafts of one stream; a line that cannot be read ends the run with its number."""
        number = 0
        while line := stream.readline(MAX_LINE_BYTES):
            number += 1
            try:
                if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                    raise Failure(f"it is longer than {MAX_LINE_BYTES} bytes")
                yield self.parse(line.removesuffix(b"\n").removesuffix(b"\r"))
            except Failure as failure:
                raise Failure(f"{name} line {number}: {failure}") from None

    def parse(self, line: bytes) -> Draft:
        if self.form is Form.JSON:
            return self._complete(from_json(line, self.key, self.value))
        if self.separator is None:
            return self.defaults._replace(value=self._decode(line, self.value))
        key, found, value = line.partition(self.separator)
        if not found:
            raise Failure("the key separator is missing", "correct the line or --key-separator")
        return self.defaults._replace(
            key=self._decode(key, self.key),
            value=self._decode(value, self.value),
        )

    def _complete(self, draft: Draft) -> Draft:
        defaults = self.defaults
        return Draft(
            key=defaults.key if draft.key is None else draft.key,
            value=draft.value,
            headers=defaults.headers + draft.headers,
            partition=defaults.partition if draft.partition is None else draft.partition,
            timestamp_ms=defaults.timestamp_ms
            if draft.timestamp_ms is None
            else draft.timestamp_ms,
        )

    def _decode(self, text: bytes, pack: Pack) -> bytes | None:
        return None if text == self.null_marker else pack(text)
