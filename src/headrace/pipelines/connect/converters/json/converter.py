"""JsonConverter: values as JSON, with `schemas.enable` in an envelope with their schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.pipelines.connect.config.definition import Key, Kind, at_least, one_of
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.json import schemas as envelopes
from headrace.pipelines.connect.converters.json.parsing import (
    NotJson,
    end_of_blank,
    parse,
    value_at,
)
from headrace.pipelines.connect.converters.json.reading import value_of
from headrace.pipelines.connect.converters.json.writing import text_of
from headrace.pipelines.connect.converters.settings import BASIC
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.schema import Schema

DEFINITION: Final = BASIC.plus(
    Key(
        "schemas.enable",
        Kind.BOOLEAN,
        True,
        "Whether every value comes with its schema, in an envelope of both.",
        "HIGH",
        group="Schemas",
        width="MEDIUM",
        display_name="Enable Schemas",
    ),
    Key(
        "schemas.cache.size",
        Kind.INT,
        1000,
        "How many schemas are remembered.",
        "HIGH",
        at_least(0),
        group="Schemas",
        width="MEDIUM",
        display_name="Schema Cache Size",
    ),
    Key(
        "schema.content",
        Kind.STRING,
        None,
        "A schema, in JSON, of all values that are read: they then come without an envelope.",
        "HIGH",
        group="Schemas",
        width="MEDIUM",
        display_name="Schema Content",
    ),
    Key(
        "decimal.format",
        Kind.STRING,
        "BASE64",
        "How decimals are written: BASE64 of their digits' bytes, or NUMERIC. Both are read.",
        "LOW",
        one_of("BASE64", "NUMERIC", ignore_case=True),
        group="Serialization",
        width="MEDIUM",
        display_name="Decimal Format",
    ),
    Key(
        "replace.null.with.default",
        Kind.BOOLEAN,
        True,
        "Whether a null in a field that has a default stands for it.",
        "LOW",
        group="Serialization",
        width="MEDIUM",
        display_name="Replace null with default",
    ),
)
_NO_ENVELOPE: Final = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain '
    "additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false "
    "in your converter configuration."
)


class JsonConverter(Converter):
    """JSON with or without schemas."""

    def __init__(self, given: Mapping[str, object]) -> None:
        settings = DEFINITION.read(given)
        self._enveloped = bool(settings["schemas.enable"])
        self._numeric = str(settings["decimal.format"]).upper() == "NUMERIC"
        self._defaults = bool(settings["replace.null.with.default"])
        self._room = int(str(settings["schemas.cache.size"]))
        self._fixed = self._content(settings["schema.content"])
        self._heads: dict[Schema | None, str] = {}
        self._schemas: dict[str, Schema | None] = {}

    def _content(self, text: object) -> Schema | None:
        if not isinstance(text, str) or not text:
            return None
        try:
            value, _ = value_at(text, end_of_blank(text, 0))
        except NotJson as error:
            raise DataException(
                "Failed to parse schema in converter config due to serialization error: "
            ) from error
        return envelopes.schema_of(value, defaults=self._defaults)

    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The value as JSON; nothing at all is a tombstone."""
        if schema is None and value is None:
            return None
        text = text_of(schema, value, numeric=self._numeric, defaults=self._defaults)
        try:
            return (f"{self.head(schema)}{text}}}" if self._enveloped else text).encode()
        except UnicodeEncodeError as error:
            told = "Converting Kafka Connect data to byte[] failed due to serialization error: "
            raise DataException(f"{told}{error}") from error

    def head(self, schema: Schema | None) -> str:
        """What stands before the payload of an envelope."""
        head = self._heads.get(schema)
        if head is None:
            text = envelopes.text_of(schema, numeric=self._numeric, defaults=self._defaults)
            head = f'{{"schema":{text},"payload":'
            if len(self._heads) < self._room:
                self._heads[schema] = head
        return head

    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """The value that JSON says, and its schema where there is one."""
        if data is None:
            return None, None
        given = parse(data)
        if not self._enveloped:
            return None, value_of(None, given, defaults=self._defaults)
        if self._fixed is not None:
            return self._fixed, value_of(self._fixed, given, defaults=self._defaults)
        if not isinstance(given, dict) or given.keys() != {"schema", "payload"}:
            raise DataException(_NO_ENVELOPE)
        schema = envelopes.schema_of(given["schema"], defaults=self._defaults)
        return schema, value_of(schema, given["payload"], defaults=self._defaults)
