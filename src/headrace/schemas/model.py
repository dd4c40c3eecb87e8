"""What a schema is to the rest of the platform, whatever its format.

The three formats share this surface and nothing else. It refuses to know how any of them is
parsed, and which subject or version a schema belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from headrace.errors import HeadraceError

MAX_SCHEMA_BYTES: Final = 10 * 1024 * 1024
"""The longest text (in UTF-8) that is parsed; a schema and its references are counted together."""
MAX_DEPTH: Final = 200
"""How deep a schema or a value may nest: far more than people write, less than the stack."""


class SchemaType(StrEnum):
    """The formats, under the names that the registry's API uses."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class Reference:
    """A name inside a schema that is defined by a version of another subject."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Resolved:
    """A reference with the text that it stands for.

    A schema is parsed with everything that it needs, directly and through others, as a tuple of
    these in which a text comes after all that it depends on.
    """

    reference: Reference
    text: str


class InvalidSchema(HeadraceError):
    """The text is not a schema of its format: the message says what is wrong, and where."""


class InvalidValue(HeadraceError):
    """A value or some bytes do not fit their schema: the message names the path and the reason."""


class ParsedSchema(Protocol):
    """One immutable schema, ready to be compared, printed and used on data."""

    @property
    def type(self) -> SchemaType:
        """The format."""
        ...

    @property
    def text(self) -> str:
        """The canonical text: what the registry stores and compares."""
        ...

    @property
    def name(self) -> str | None:
        """The full name of the record or message, or the title; None where there is none."""
        ...

    def normalized(self) -> str:
        """The text with `normalize=true`: equal for schemas that differ in spelling alone."""
        ...

    def formatted(self, form: str) -> str:
        """The text in another form, such as `resolved`; a form that is not known gives `text`."""
        ...

    def encode(self, value: object) -> bytes:
        """The payload, without the registry's header, of a value made of JSON's types."""
        ...

    def decode(self, data: bytes) -> object:
        """The value, made of JSON's types, of a payload without the registry's header."""
        ...
