"""AvroConverter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, cast

from headrace.client.registry.client import RegistryClient
from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.converters.registry import avro_schemas
from headrace.pipelines.connect.converters.registry.avro_schemas import AvroOptions
from headrace.pipelines.connect.converters.registry.avro_values import from_avro, to_avro
from headrace.pipelines.connect.converters.registry.converter import COMMON, RegistryConverter
from headrace.pipelines.connect.model.schema import Schema
from headrace.schemas.avro import AvroSchema
from headrace.schemas.avro.schema import Json
from headrace.schemas.model import ParsedSchema, SchemaType

DEFINITION: Final = COMMON.plus(
    Key(
        "enhanced.avro.schema.support",
        Kind.BOOLEAN,
        False,
        "Whether the types of a union keep their full names.",
    ),
    Key(
        "connect.meta.data",
        Kind.BOOLEAN,
        True,
        "Whether Avro schemas carry what only Connect's say.",
        "LOW",
    ),
)


class AvroConverter(RegistryConverter):
    """Avro."""

    type = SchemaType.AVRO
    name = "Avro"
    definition: ClassVar[Definition] = DEFINITION

    def __init__(self, given: Mapping[str, object], registry: RegistryClient | None = None) -> None:
        super().__init__(given, registry)
        self._options = AvroOptions(
            bool(self.settings["connect.meta.data"]),
            bool(self.settings["enhanced.avro.schema.support"]),
        )

    def text_of(self, schema: Schema) -> str:
        """The Avro schema."""
        return avro_schemas.text_of(schema, self._options)

    def schema_of(self, parsed: ParsedSchema) -> Schema:
        """The Connect schema."""
        assert isinstance(parsed, AvroSchema)
        return avro_schemas.schema_of(parsed.root, self._options)

    def payload_of(self, parsed: ParsedSchema, schema: Schema, value: object) -> bytes:
        """Avro's binary encoding."""
        assert isinstance(parsed, AvroSchema)
        return parsed.encode(to_avro(parsed.root, schema, value))

    def value_of(self, parsed: ParsedSchema, schema: Schema, payload: bytes) -> object:
        """The value of Avro's binary encoding."""
        assert isinstance(parsed, AvroSchema)
        return from_avro(parsed.root, schema, cast(Json, parsed.decode(payload)))
