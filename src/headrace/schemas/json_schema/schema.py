"""A parsed JSON Schema: its texts, and values that are validated on their way in and out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from headrace.schemas.json_schema.checks import check_references, check_shapes
from headrace.schemas.json_schema.documents import Document, Documents, assemble, document
from headrace.schemas.json_schema.text import NotJson, compact, compact_sorted, is_deeper_than, load
from headrace.schemas.model import (
    MAX_DEPTH,
    InvalidSchema,
    InvalidValue,
    Resolved,
    SchemaType,
)


class JsonSchema:
    """One schema with everything that it refers to; immutable."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.text = compact(documents.root.schema)

    @property
    def type(self) -> SchemaType:
        """The format."""
        return SchemaType.JSON

    @property
    def name(self) -> str | None:
        """The title, which takes the place of a record's name in the naming strategies."""
        root = self.documents.root.schema
        title = root.get("title") if isinstance(root, dict) else None
        return title if isinstance(title, str) else None

    def normalized(self) -> str:
        """The text with the keys of every object in order."""
        return compact_sorted(self.documents.root.schema)

    def formatted(self, form: str) -> str:
        """`resolved` carries the references inside; any other form is the text itself."""
        if form == "resolved":
            from headrace.schemas.json_schema.bundle import bundled

            return compact(bundled(self.documents))
        return self.text

    def encode(self, value: object) -> bytes:
        """The value as compact JSON, if it fits."""
        if is_deeper_than(value, MAX_DEPTH):
            raise InvalidValue(f"the value nests deeper than {MAX_DEPTH} levels")
        self._check(value)
        try:
            return compact(value).encode()
        except (TypeError, ValueError) as error:
            raise InvalidValue(f"the value is not JSON: {error}") from None

    def decode(self, data: bytes) -> object:
        """The value that the bytes stand for, if it fits."""
        try:
            value = load(bytes(data).decode())
        except UnicodeDecodeError as error:
            raise InvalidValue(f"the bytes are not UTF-8: {error}") from None
        except NotJson as error:
            raise InvalidValue(f"the bytes are not JSON: {error}") from None
        self._check(value)
        return value

    def _check(self, value: object) -> None:
        from headrace.schemas.json_schema.validation import check_value

        check_value(self._validator, value)

    @cached_property
    def _validator(self) -> Any:
        from headrace.schemas.json_schema.validation import build_validator

        return build_validator(self.documents)


def parse(text: str, references: Sequence[Resolved] = ()) -> JsonSchema:
    """Read and check a schema; InvalidSchema says what is wrong, and where."""
    root = _read("", text)
    others = [_read(each.reference.name, each.text) for each in references]
    check_shapes([root, *others])
    documents = assemble(root, others)
    check_references(documents)
    return JsonSchema(documents)


def _read(name: str, text: str) -> Document:
    try:
        return document(name, load(text))
    except (NotJson, InvalidSchema) as error:
        where = f"the reference {name!r}" if name else "the schema"
        reason = f"it is not JSON: {error}" if isinstance(error, NotJson) else str(error)
        raise InvalidSchema(f"{where}: {reason}") from None
