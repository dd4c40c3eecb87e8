"""JsonSchemaConverter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from headrace.client.registry.client import RegistryClient
from headrace.pipelines.connect.config.definition import Definition, Key, Kind, one_of
from headrace.pipelines.connect.converters.json.parsing import parse
from headrace.pipelines.connect.converters.json.reading import value_of
from headrace.pipelines.connect.converters.json.writing import text_of
from headrace.pipelines.connect.converters.registry import json_schemas
from headrace.pipelines.connect.converters.registry.converter import COMMON, RegistryConverter
from headrace.pipelines.connect.converters.registry.json_schemas import (
    JsonSchemaOptions,
    pairs_of,
    pairs_value,
    value_from_pairs,
)
from headrace.pipelines.connect.model.schema import Schema
from headrace.schemas.json_schema import JsonSchema
from headrace.schemas.model import ParsedSchema, SchemaType

DEFINITION: Final = COMMON.plus(
    Key(
        "object.additional.properties",
        Kind.BOOLEAN,
        True,
        "Whether objects may have properties that their schema does not name.",
    ),
    Key(
        "use.optional.for.nonrequired",
        Kind.BOOLEAN,
        False,
        "Whether a property that is not required is an optional field.",
    ),
    Key(
        "decimal.format",
        Kind.STRING,
        "BASE64",
        "How decimals are written: BASE64 of their digits' bytes, or NUMERIC. Both are read.",
        "LOW",
        one_of("BASE64", "NUMERIC", ignore_case=True),
    ),
    Key(
        "json.fail.invalid.schema",
        Kind.BOOLEAN,
        False,
        "Whether values that do not fit their schema are rejected.",
    ),
)


class JsonSchemaConverter(RegistryConverter):
    """JSON whose schema is in the registry."""

    type = SchemaType.JSON
    name = "JSON Schema"
    definition: ClassVar[Definition] = DEFINITION

    def __init__(self, given: Mapping[str, object], registry: RegistryClient | None = None) -> None:
        super().__init__(given, registry)
        self._strict = bool(self.settings["json.fail.invalid.schema"])
        self._options = JsonSchemaOptions(
            not self.settings["object.additional.properties"],
            bool(self.settings["use.optional.for.nonrequired"]),
            str(self.settings["decimal.format"]).upper() == "NUMERIC",
        )

    def text_of(self, schema: Schema) -> str:
        """The JSON Schema."""
        return json_schemas.text_of(schema, self._options)

    def schema_of(self, parsed: ParsedSchema) -> Schema:
        """The Connect schema."""
        assert isinstance(parsed, JsonSchema)
        return json_schemas.schema_of(parsed.documents.root.schema, self._options)

    def payload_of(self, parsed: ParsedSchema, schema: Schema, value: object) -> bytes:
        """The value as JSON."""
        plain = pairs_value(schema, value)
        numeric = self._options.numeric
        data = text_of(pairs_of(schema), plain, numeric=numeric, defaults=True).encode()
        if self._strict:
            parsed.decode(data)
        return data

    def value_of(self, parsed: ParsedSchema, schema: Schema, payload: bytes) -> object:
        """The value of JSON."""
        if self._strict:
            parsed.decode(payload)
        plain = value_of(pairs_of(schema), parse(payload), defaults=True)
        return value_from_pairs(schema, plain)
