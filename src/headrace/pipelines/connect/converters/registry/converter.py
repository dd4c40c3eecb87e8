"""What the three converters of a registry share: finding schemas, registering them, framing values.

A subclass maps schemas and values of its format. Faults of the registry are RetriableException if
another attempt may pass, DataException if not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from headrace.client.registry.client import RegistryClient
from headrace.client.registry.faults import RegistryRefused, RegistryUnreachable
from headrace.client.registry.settings import registry_settings
from headrace.errors import ConfigError
from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.settings import CONVERTER_TYPE, KEY
from headrace.pipelines.connect.faults import (
    ConfigException,
    DataException,
    RetriableException,
)
from headrace.pipelines.connect.model.schema import Schema
from headrace.schemas.formats import parse
from headrace.schemas.framing import frame, unframe
from headrace.schemas.model import InvalidSchema, InvalidValue, ParsedSchema, SchemaType
from headrace.schemas.naming import TOPIC_NAME, subject_name

_TRANSIENT: Final = (408, 429, 500, 502, 503, 504)


def _flag(name: str, default: bool, doc: str) -> Key:
    return Key(name, Kind.BOOLEAN, default, doc, "MEDIUM")


COMMON: Final = Definition(
    (
        CONVERTER_TYPE,
        Key("schema.registry.url", Kind.LIST, doc="Where the registry is.", importance="HIGH"),
        _flag("auto.register.schemas", True, "Whether schemas of values are registered."),
        _flag("use.latest.version", False, "Whether values are written by the latest schema."),
        _flag("normalize.schemas", False, "Whether schemas are registered in normal form."),
        Key(
            "key.subject.name.strategy",
            Kind.STRING,
            TOPIC_NAME,
            "How the subject of a key's schema is named.",
        ),
        Key(
            "value.subject.name.strategy",
            Kind.STRING,
            TOPIC_NAME,
            "How the subject of a value's schema is named.",
        ),
        Key("schemas.cache.config", Kind.INT, 1000, "How many schemas are remembered.", "LOW"),
    )
)


@dataclass(frozen=True, slots=True)
class Written:
    """A schema under which values are written."""

    parsed: ParsedSchema
    id: int


class RegistryConverter(Converter):
    """A format whose schemas are in a registry."""

    type: ClassVar[SchemaType]
    name: ClassVar[str]
    definition: ClassVar[Definition] = COMMON

    def __init__(self, given: Mapping[str, object], registry: RegistryClient | None = None) -> None:
        self.settings = self.definition.read(given)
        self._is_key = self.settings["converter.type"] == KEY
        self._strategy = str(
            self.settings[f"{'key' if self._is_key else 'value'}.subject.name.strategy"]
        )
        try:
            subject_name(self._strategy, "topic", self._is_key, "name")
            texts = {name: str(value) for name, value in given.items()}
            self._registry = registry or RegistryClient(registry_settings(texts))
        except ConfigError as error:
            raise ConfigException(str(error)) from error
        self._writers: dict[tuple[str, Schema], Written] = {}
        self._schemas: dict[tuple[str, object], Schema] = {}

    @abstractmethod
    def text_of(self, schema: Schema) -> str:
        """The schema's text in the format."""

    @abstractmethod
    def schema_of(self, parsed: ParsedSchema) -> Schema:
        """The Connect schema of one of the registry."""

    @abstractmethod
    def payload_of(self, parsed: ParsedSchema, schema: Schema, value: object) -> bytes:
        """A value written by a schema of the registry."""

    @abstractmethod
    def value_of(self, parsed: ParsedSchema, schema: Schema, payload: bytes) -> object:
        """The value that was written by a schema of the registry."""

    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The id of the schema and the value; nothing at all is a tombstone."""
        if schema is None and value is None:
            return None
        if schema is None:
            raise DataException(
                f"{self.name} cannot write a value without a schema to topic {topic}: "
                "give it one, or use JsonConverter with schemas.enable=false"
            )
        try:
            writer = self._writer(topic, schema)
            return self.framed(writer, self.payload_of(writer.parsed, schema, value))
        except (RegistryRefused, RegistryUnreachable, InvalidSchema, InvalidValue) as error:
            raise self._fault(f"Failed to serialize {self.name} data to", topic, error) from error

    def framed(self, writer: Written, payload: bytes) -> bytes:
        """The header and the payload."""
        return frame(writer.id, payload)

    def _writer(self, topic: str, schema: Schema) -> Written:
        known = self._writers.get((topic, schema))
        if known is not None:
            return known
        text = self.text_of(schema)
        parsed = parse(self.type, text)
        subject = subject_name(self._strategy, topic, self._is_key, parsed.name)
        normal = bool(self.settings["normalize.schemas"])
        if self.settings["auto.register.schemas"]:
            found = Written(
                parsed, self._registry.register(subject, self.type, text, normalize=normal)
            )
        elif self.settings["use.latest.version"]:
            latest = self._registry.latest(subject)
            return Written(self._registry.parse(latest), latest.id)
        else:
            there = self._registry.lookup(subject, self.type, text, normalize=normal)
            found = Written(parsed, there.id)
        self._writers[topic, schema] = found
        return found

    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """The value, and the schema that it was written with."""
        if data is None:
            return None, None
        try:
            framed = unframe(data)
            if framed.guid is not None:
                parsed = self._registry.parse(self._registry.by_guid(framed.guid))
            else:
                assert framed.schema_id is not None, "a frame has an id or a GUID"
                parsed = self._registry.parsed(framed.schema_id)
            if parsed.type is not self.type:
                raise InvalidValue(f"its schema is of type {parsed.type}, not {self.type}")
            schema = self._known(topic, framed.schema_id or framed.guid, parsed)
            return schema, self.value_of(parsed, schema, bytes(framed.payload))
        except (RegistryRefused, RegistryUnreachable, InvalidSchema, InvalidValue) as error:
            raise self._fault(f"Failed to deserialize {self.name} data of", topic, error) from error

    def _known(self, topic: str, identity: object, parsed: ParsedSchema) -> Schema:
        known = self._schemas.get((topic, identity))
        if known is not None:
            return known
        schema = self.schema_of(parsed)
        if schema.version is None:
            schema = schema.but(version=self._version(topic, parsed))
        self._schemas[topic, identity] = schema
        return schema

    def _version(self, topic: str, parsed: ParsedSchema) -> int | None:
        """The number of the schema among those of its subject."""
        try:
            subject = subject_name(self._strategy, topic, self._is_key, parsed.name)
            return self._registry.lookup(subject, self.type, parsed.text).version
        except (RegistryRefused, InvalidSchema):
            return None

    def _fault(self, told: str, topic: str, error: Exception) -> Exception:
        transient = isinstance(error, RegistryUnreachable) or (
            isinstance(error, RegistryRefused) and error.http_status in _TRANSIENT
        )
        kind = RetriableException if transient else DataException
        return kind(f"{told} topic {topic}: {error}")

    def close(self) -> None:
        """Close the connections to the registry."""
        self._registry.close()
