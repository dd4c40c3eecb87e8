"""AvroConverter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, cast

import pyarrow as pa

from headrace.client.registry.client import RegistryClient
from headrace.client.registry.faults import RegistryRefused, RegistryUnreachable
from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.converters.registry import avro_columns, avro_schemas
from headrace.pipelines.connect.converters.registry.avro_columns import AvroColumns
from headrace.pipelines.connect.converters.registry.avro_schemas import AvroOptions
from headrace.pipelines.connect.converters.registry.avro_values import from_avro, to_avro
from headrace.pipelines.connect.converters.registry.converter import COMMON, RegistryConverter
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.schema import Schema
from headrace.schemas.avro import AvroSchema
from headrace.schemas.avro.schema import Json
from headrace.schemas.model import InvalidSchema, InvalidValue, ParsedSchema, SchemaType

_FAULTS: Final = (
    RegistryRefused,
    RegistryUnreachable,
    InvalidSchema,
    InvalidValue,
    DataException,
)
"""Of a schema. They are reported with a record, which the record form knows."""

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
        self._columns: dict[tuple[str, int], tuple[Schema, AvroColumns | None]] = {}

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

    # -- by columns -------------------------------------------------------------------------------

    def decode_column(self, topic: str, data: pa.Array) -> Sequence[Column]:
        """Rows of one schema at a time, by a kernel if there is one for it."""
        found = avro_columns.runs(data)
        if found is None:
            return super().decode_column(topic, data)
        made: list[Column] = []
        for schema_id, rows in found:
            made += self._decoded(topic, schema_id, rows)
        return made

    def _decoded(self, topic: str, schema_id: int, rows: pa.Array) -> Sequence[Column]:
        if schema_id != avro_columns.NO_VALUE:
            try:
                schema, columns = self._columns_of(topic, schema_id)
            except _FAULTS:
                return super().decode_column(topic, rows)
            decoded = None if columns is None else columns.decode(rows)
            if decoded is not None:
                return [Column(schema, decoded)]
        return super().decode_column(topic, rows)

    def _columns_of(self, topic: str, schema_id: int) -> tuple[Schema, AvroColumns | None]:
        known = self._columns.get((topic, schema_id))
        if known is None:
            parsed = self._registry.parsed(schema_id)
            if not isinstance(parsed, AvroSchema):
                raise InvalidValue("a schema of another type")
            schema = self._known(topic, schema_id, parsed)
            columns = None
            if avro_columns.alike(parsed.root, schema):
                columns = AvroColumns(parsed.root, schema)
            known = self._columns[topic, schema_id] = (schema, columns)
        return known

    def encode_column(self, topic: str, column: Column) -> pa.Array:
        """Each value with the id of its schema, by a kernel if there is one for it."""
        made = None
        if column.schema is not None and column.arrow is not None and not column.arrow.null_count:
            made = self._encoded(topic, column.schema, column.arrow)
        return super().encode_column(topic, column) if made is None else made

    def _encoded(self, topic: str, schema: Schema, values: pa.Array) -> pa.Array | None:
        try:
            writer = self._writer(topic, schema)
        except _FAULTS:
            return None
        assert isinstance(writer.parsed, AvroSchema)
        if not avro_columns.alike(writer.parsed.root, schema):
            return None
        return avro_columns.encode(writer.parsed.root, writer.id, values)
