"""Parsed schemas, kept while they are in use: parsing costs milliseconds, memory is short.

The cache is bounded by number and by the length of the texts, and several threads may use it. It
knows nothing of subjects: what a schema refers to is resolved before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import md5
from threading import Lock
from typing import Final

from headrace.registry import errors
from headrace.schemas import formats
from headrace.schemas.model import InvalidSchema, ParsedSchema, Resolved, SchemaType

MOST_SCHEMAS: Final = 1_000
MOST_CHARACTERS: Final = 8 * 1024 * 1024


class ParsedSchemas:
    """The schemas that were parsed last."""

    def __init__(self, most_schemas: int = MOST_SCHEMAS) -> None:
        self._most_schemas = most_schemas
        self._schemas: OrderedDict[bytes, ParsedSchema] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._schemas)

    def parse(
        self,
        type: SchemaType,  # noqa: A002  (the API's own word for it)
        text: str,
        references: Sequence[Resolved] = (),
        *,
        is_new: bool = False,
    ) -> ParsedSchema:
        """Parse, or recall; 42201 if it cannot be.

        One that is new is checked more strictly than one that was accepted once.
        """
        # Only Avro makes that difference; the others need not be parsed twice.
        is_strict = is_new and type is SchemaType.AVRO
        key = _key(type, text, references, is_strict)
        with self._lock:
            schema = self._schemas.get(key)
            if schema is not None:
                self._schemas.move_to_end(key)
                return schema
        try:
            schema = formats.parse(type, text, references, check_defaults=is_strict)
        except InvalidSchema as fault:
            raise errors.invalid_schema(
                f"Invalid schema of type {type}, details: {fault}"
            ) from fault
        with self._lock:
            self._keep(key, schema)
        return schema

    def _keep(self, key: bytes, schema: ParsedSchema) -> None:
        before = self._schemas.pop(key, None)
        self._characters += len(schema.text) - (0 if before is None else len(before.text))
        self._schemas[key] = schema
        while len(self._schemas) > self._most_schemas or self._characters > MOST_CHARACTERS:
            _, oldest = self._schemas.popitem(last=False)
            self._characters -= len(oldest.text)


def _key(
    type: SchemaType,  # noqa: A002
    text: str,
    references: Sequence[Resolved],
    is_new: bool,
) -> bytes:
    """A digest of all that decides how a schema is parsed; lengths keep the parts apart."""
    state = md5(f"{type}{is_new}{len(text)}:".encode(), usedforsecurity=False)
    state.update(text.encode())
    for needed in references:
        reference = needed.reference
        head = f"{reference.name}\0{reference.subject}\0{reference.version}\0{len(needed.text)}:"
        state.update(head.encode())
        state.update(needed.text.encode())
    return state.digest()
