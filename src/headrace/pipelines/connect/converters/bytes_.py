"""ByteArrayConverter: bytes as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from headrace.pipelines.connect.config.definition import Definition
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.settings import BASIC
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.schema import OPTIONAL_BYTES, Schema, Type

DEFINITION: Final[Definition] = BASIC


class ByteArrayConverter(Converter):
    """Bytes."""

    def __init__(self, given: Mapping[str, object]) -> None:
        DEFINITION.read(given)

    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The bytes."""
        if schema is not None and schema.type is not Type.BYTES:
            told = f"Invalid schema type for ByteArrayConverter: {schema.type.name}"
            raise DataException(f"{told}; it takes BYTES alone, another converter takes more")
        if value is None or isinstance(value, bytes):
            return value
        raise DataException(
            f"ByteArrayConverter is not compatible with objects of type {type(value).__name__}"
        )

    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """The bytes."""
        return OPTIONAL_BYTES, data

    def encode_column(self, topic: str, column: Column) -> pa.Array:
        """The column itself, where Arrow has it as bytes."""
        plain = column.schema is not None and column.schema.type is Type.BYTES
        if plain and column.arrow is not None and pa.types.is_binary(column.arrow.type):
            return column.arrow
        return super().encode_column(topic, column)

    def decode_column(self, topic: str, data: pa.Array) -> Sequence[Column]:
        """The column itself."""
        return [Column(OPTIONAL_BYTES, data)] if len(data) else []
