"""StringConverter: values as their text in Java's words, text as an optional string."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from headrace.pipelines.connect.config.definition import Key, Kind
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.settings import BASIC
from headrace.pipelines.connect.faults import SerializationException
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.java_text import text_of, utf8_text
from headrace.pipelines.connect.model.schema import OPTIONAL_STRING, Schema

DEFINITION: Final = BASIC.plus(
    Key(
        "converter.encoding",
        Kind.STRING,
        "UTF-8",
        "The character set of the text, by its name in Java.",
        "HIGH",
        width="MEDIUM",
        display_name="Encoding",
    )
)


class StringConverter(Converter):
    """Text."""

    def __init__(self, given: Mapping[str, object]) -> None:
        self._charset = _Charset(str(DEFINITION.read(given)["converter.encoding"]))

    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The value's text."""
        if value is None:
            return None
        text = value if isinstance(value, str) else text_of(value, schema)
        return self._charset.encode(text)

    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """The text; what is none in this character set becomes U+FFFD."""
        return OPTIONAL_STRING, None if data is None else self._charset.decode(data)

    def encode_column(self, topic: str, column: Column) -> pa.Array:
        """Arrow's strings are UTF-8 already."""
        data = column.arrow
        if self._charset.is_utf8 and data is not None and pa.types.is_string(data.type):
            return data.cast(pa.binary())
        return super().encode_column(topic, column)

    def decode_column(self, topic: str, data: pa.Array) -> Sequence[Column]:
        """Bytes that are UTF-8 are Arrow's strings already."""
        if self._charset.is_utf8 and len(data):
            try:
                return [Column(OPTIONAL_STRING, data.cast(pa.string()))]
            except pa.ArrowInvalid:
                pass  # some row is no UTF-8: it is mended by the record form
        return super().decode_column(topic, data)


class _Charset:
    """A character set as Java uses it: what it has no bytes for is a question mark."""

    def __init__(self, name: str) -> None:
        try:
            self._name = codecs.lookup(name).name
        except LookupError as error:
            raise SerializationException(
                f"Unsupported encoding {name}: name a character set that Java and Python know"
            ) from error
        self.is_utf8 = self._name == "utf-8"

    def encode(self, text: str) -> bytes:
        if self._name == "utf-16":
            return codecs.BOM_UTF16_BE + text.encode("utf-16-be", "replace") if text else b""
        return text.encode(_UNMARKED.get(self._name, self._name), "replace")

    def decode(self, data: bytes) -> str:
        if self.is_utf8:
            return utf8_text(data)
        marked = data[:4].startswith(
            (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE)
        )
        return data.decode(
            self._name if marked else _UNMARKED.get(self._name, self._name), "replace"
        )


_UNMARKED: Final = {"utf-16": "utf-16-be", "utf-32": "utf-32-be"}
