"""Lines of standard input as records, by the properties of Kafka's `LineMessageReader`.

    headers.delimiter      between the headers and the rest     "h1:v1,h2:v2<TAB>key<TAB>value"
    headers.separator      between two headers (an expression)
    headers.key.separator  between the name of a header and its value
    key.separator          between key and value

How a key or a value becomes bytes is the matter of whoever makes the reader.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from headrace.cli.failures import Failure
from headrace.cli.kafka_compat.clients import is_true, unescaped
from headrace.cli.record_json import Draft
from headrace.cli.record_text import Header
from headrace.schemas.model import InvalidValue

MAX_LINE_BYTES: Final = 32 << 20
_DEFAULTS: Final = {
    "key.separator": "\t",
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
}
_APART: Final = (
    ("headers.delimiter", "headers.separator"),
    ("headers.delimiter", "headers.key.separator"),
    ("headers.separator", "headers.key.separator"),
    ("null.marker", "key.separator"),
    ("null.marker", "headers.separator"),
    ("null.marker", "headers.delimiter"),
    ("null.marker", "headers.key.separator"),
)

Encode: TypeAlias = Callable[[bytes], bytes | None]


class Encoders(NamedTuple):
    """How keys and values become bytes; `skips_blank` where an empty line is no record."""

    key: Encode
    value: Encode
    skips_blank: bool = False
    skips_faulty: bool = False


def plain(data: bytes) -> bytes:
    return data


class LineReader:
    """Reads records from lines; a line that cannot be read ends the command, or is forgiven."""

    def __init__(self, properties: Mapping[str, str], encoders: Encoders) -> None:
        texts = {
            name: unescaped(properties.get(name, default)) for name, default in _DEFAULTS.items()
        }
        if (marker := properties.get("null.marker")) is not None:
            texts["null.marker"] = marker
        for one, other in _APART:
            if one in texts and texts[one] == texts[other]:
                raise Failure(f"{one} and {other} may not be equal")
        self._encoders = encoders
        self._parses_key = is_true(properties, "parse.key")
        self._parses_headers = is_true(properties, "parse.headers")
        self._forgives = is_true(properties, "ignore.error")
        self._key_separator = texts["key.separator"].encode()
        self._delimiter = texts["headers.delimiter"].encode()
        self._headers_separator = re.compile(texts["headers.separator"])
        self._headers_key_separator = texts["headers.key.separator"]
        self._marker = None if marker is None else marker.encode()
        self._number = 0

    def read(self, stream: BinaryIO) -> Iterator[Draft]:
        """Every record of the stream, with a prompt before each line that a person types."""
        prompts = stream.isatty() and sys.stdout.isatty()
        while True:
            if prompts:
                print(">", end="", flush=True)
            raw = stream.readline(MAX_LINE_BYTES + 1)
            if not raw:
                return
            self._number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise Failure(f"line {self._number} has more than {MAX_LINE_BYTES} bytes")
            text = raw.removesuffix(b"\n").removesuffix(b"\r")
            if self._encoders.skips_blank and not text.strip():
                continue
            try:
                yield self._parse(text)
            except InvalidValue as fault:
                if not (self._forgives and self._encoders.skips_faulty):
                    raise Failure(str(fault)) from None
                print(f"headrace: {fault}", file=sys.stderr)

    def _parse(self, text: bytes) -> Draft:
        line = text
        headers: list[Header] = []
        if self._parses_headers:
            head, text = self._split(line, text, self._delimiter, "headers delimiter")
            if head is not None and head != self._marker:
                headers = self._headers(head.decode(errors="replace"))
        key = None
        if self._parses_key:
            head, text = self._split(line, text, self._key_separator, "key separator")
            key = None if head is None else self._encoded(self._encoders.key, head)
        return Draft(key, self._encoded(self._encoders.value, text), headers)

    def _split(
        self, line: bytes, text: bytes, separator: bytes, what: str
    ) -> tuple[bytes | None, bytes]:
        head, found, rest = text.partition(separator)
        if found:
            return head, rest
        if self._forgives:
            return None, text
        shown = line.decode(errors="replace")
        raise InvalidValue(f"No {what} found on line number {self._number}: '{shown}'")

    def _encoded(self, encode: Encode, text: bytes) -> bytes | None:
        if text == self._marker:
            return None
        try:
            return encode(text)
        except UnicodeDecodeError:
            raise InvalidValue(f"line {self._number}: it is not UTF-8") from None
        except InvalidValue as fault:
            raise InvalidValue(f"line {self._number}: {fault}") from None

    def _headers(self, text: str) -> list[Header]:
        pairs = self._headers_separator.split(text)
        while len(pairs) > 1 and not pairs[-1]:
            pairs.pop()  # as Java's split
        return [self._header(pair) for pair in pairs]

    def _header(self, pair: str) -> Header:
        name, found, value = pair.partition(self._headers_key_separator)
        if not found:
            if self._forgives:
                return pair, None
            raise InvalidValue(
                f"No header key separator found in pair '{pair}' on line number {self._number}"
            )
        data = value.encode()
        if name.encode() == self._marker:
            raise InvalidValue(
                f"Header keys should not be equal to the null marker '{name}' as they can't be null"
            )
        return name, None if data == self._marker else data
