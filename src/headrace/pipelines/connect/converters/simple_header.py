"""SimpleHeaderConverter: headers as text, and what text in headers seems to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.pipelines.connect.config.definition import Definition
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.model import values
from headrace.pipelines.connect.model.java_text import utf8_text
from headrace.pipelines.connect.model.schema import Schema

DEFINITION: Final = Definition()


class SimpleHeaderConverter(Converter):
    """Text whose type is guessed."""

    def __init__(self, given: Mapping[str, object]) -> None:
        DEFINITION.read(given)

    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The value's text."""
        return None if value is None else values.text_of(value, schema).encode("utf-8", "replace")

    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """What the text says."""
        return (None, None) if data is None else values.parsed(utf8_text(data))
