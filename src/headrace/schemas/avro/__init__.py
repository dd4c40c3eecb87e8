"""Avro: parsing as strict as Java's, text as Java prints it, resolution as the specification says.

`schema` is the tree that a text becomes, `parsing` builds it, `printing` writes it back,
`resolution` finds how a reader's schema reads what a writer's wrote, `writing` and `reading` turn
JSON into Avro's binary encoding and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.schemas.avro.parsing import Parser
from headrace.schemas.avro.printing import to_text
from headrace.schemas.avro.reading import compile_reader
from headrace.schemas.avro.resolution import resolve
from headrace.schemas.avro.schema import AvroType, Record, tag
from headrace.schemas.avro.writing import compile_writer
from headrace.schemas.incompatible import Incompatibility
from headrace.schemas.model import InvalidSchema, Resolved, SchemaType


class AvroSchema:
    """One parsed schema; the functions for its values are made when they are first needed."""

    __slots__ = ("_decode", "_encode", "_referenced", "root", "text")

    type = SchemaType.AVRO

    def __init__(self, root: AvroType, referenced: tuple[str, ...]) -> None:
        self.root = root
        self._referenced = referenced
        self.text = to_text(root, referenced)
        self._encode: Callable[[object], bytes] | None = None
        self._decode: Callable[[bytes], object] | None = None

    @property
    def name(self) -> str | None:
        """The full name of a record; other types have none that a subject could be named after."""
        return self.root.name.full if isinstance(self.root, Record) else None

    def normalized(self) -> str:
        """The text with everything ordered that has no meaning."""
        return to_text(self.root, self._referenced, normal=True)

    def formatted(self, form: str) -> str:
        """`resolved` has the referenced types in it; all other forms are the text."""
        return to_text(self.root) if form == "resolved" else self.text

    def encode(self, value: object) -> bytes:
        """Avro's binary encoding of a value in Avro's JSON encoding."""
        if self._encode is None:
            self._encode = compile_writer(self.root)
        return self._encode(value)

    def decode(self, data: bytes) -> object:
        """The inverse of `encode`."""
        if self._decode is None:
            self._decode = compile_reader(self.root)
        return self._decode(data)


def parse(
    text: str, references: Sequence[Resolved] = (), *, check_defaults: bool = False
) -> AvroSchema:
    """Parse a schema after those that it refers to, in their order."""
    try:
        schema = _parse(text, references, check_defaults)
        schema.text.encode()
    except UnicodeEncodeError:
        raise InvalidSchema(
            "The schema has a lone surrogate in it, which no text can hold"
        ) from None
    except RecursionError:
        raise InvalidSchema("The schema is nested too deeply") from None
    return schema


def _parse(text: str, references: Sequence[Resolved], check_defaults: bool) -> AvroSchema:
    parser = Parser()
    referenced: dict[str, None] = {}
    for needed in {each.text: each for each in references}.values():
        try:
            referenced[tag(parser.parse(needed.text))] = None
        except InvalidSchema as fault:
            subject, version = needed.reference.subject, needed.reference.version
            raise InvalidSchema(
                f"The reference {needed.reference.name!r} "
                f"(subject {subject!r}, version {version}) is not usable: {fault}"
            ) from None
    return AvroSchema(parser.parse(text, check_defaults=check_defaults), tuple(referenced))


def incompatibilities(
    reader: AvroSchema, writer: AvroSchema, *, lenient: bool = False
) -> list[Incompatibility]:
    """What stops `reader` from reading the data of `writer`; Avro has no lenient rules."""
    return resolve(writer.root, reader.root).faults
