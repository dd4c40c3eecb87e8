"""From the name of a format to the package that implements it.

Imports are made on first use: a process that only ever sees Avro never loads a JSON Schema
validator or a Protobuf compiler. This module refuses to know anything about any format besides
where it lives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from headrace.schemas.incompatible import DIFFERENT_TYPES, Incompatibility
from headrace.schemas.model import (
    MAX_SCHEMA_BYTES,
    InvalidSchema,
    ParsedSchema,
    Resolved,
    SchemaType,
)

if TYPE_CHECKING:
    from headrace.schemas.avro import AvroSchema
    from headrace.schemas.json_schema import JsonSchema
    from headrace.schemas.protobuf import ProtobufSchema


def parse(
    type: SchemaType,  # noqa: A002  (the API's own word for it)
    text: str,
    references: Sequence[Resolved] = (),
    *,
    check_defaults: bool = False,
) -> ParsedSchema:
    """Parse `text` with everything that it refers to; InvalidSchema says what is wrong, and where.

    `check_defaults` is for a schema that is about to be registered: default values that do not fit
    their type are then refused, while one that is already stored stays readable (Avro alone has
    this distinction).
    """
    size = sum(_size(each) for each in (text, *(needed.text for needed in references)))
    if size > MAX_SCHEMA_BYTES:
        raise InvalidSchema(
            f"The schema and its references are {size} bytes long; "
            f"at most {MAX_SCHEMA_BYTES} bytes are parsed"
        )
    if type is SchemaType.AVRO:
        from headrace.schemas import avro

        return avro.parse(text, references, check_defaults=check_defaults)
    if type is SchemaType.JSON:
        from headrace.schemas import json_schema

        return json_schema.parse(text, references)
    from headrace.schemas import protobuf

    return protobuf.parse(text, references)


def incompatibilities(
    reader: ParsedSchema, writer: ParsedSchema, *, lenient: bool = False
) -> list[Incompatibility]:
    """What stops `reader` from reading the data of `writer`; an empty list means compatible."""
    if reader.type is not writer.type:
        text = "Incompatible because of different schema type"
        return [Incompatibility(DIFFERENT_TYPES, "/", text, str(writer.type), str(reader.type))]
    if reader.type is SchemaType.AVRO:
        from headrace.schemas import avro

        return avro.incompatibilities(
            cast("AvroSchema", reader), cast("AvroSchema", writer), lenient=lenient
        )
    if reader.type is SchemaType.JSON:
        from headrace.schemas import json_schema

        return json_schema.incompatibilities(
            cast("JsonSchema", reader), cast("JsonSchema", writer), lenient=lenient
        )
    from headrace.schemas import protobuf

    return protobuf.incompatibilities(
        cast("ProtobufSchema", reader), cast("ProtobufSchema", writer), lenient=lenient
    )


def _size(text: str) -> int:
    """Bytes of UTF-8; a lone surrogate, which JSON can smuggle in, must not raise here."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
