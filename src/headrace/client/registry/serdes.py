"""From values to the bytes of records and back, by schemas of a registry.

A `Writer` is found once for a topic and a choice of schema, and then encodes without asking
anybody. `decode` asks the registry for an id that it meets for the first time. Values have the
shape of JSON, as `ParsedSchema` says. Sending and receiving belong to others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from headrace.client.registry.cache import Cache
from headrace.client.registry.client import RegisteredSchema, RegistryClient
from headrace.client.registry.faults import RegistryRefused
from headrace.schemas.formats import parse
from headrace.schemas.framing import frame, read_message_indexes, unframe
from headrace.schemas.model import InvalidSchema, InvalidValue, ParsedSchema, Reference, SchemaType
from headrace.schemas.naming import subject_name

FIRST_MESSAGE = (0,)


@dataclass(frozen=True, slots=True)
class SchemaChoice:
    """Which schema a request means: an id, or a text, or a version of a subject (None: latest).

    With a text, or where `subject` is not given, the strategy names the subject. `type` is
    expected of the schema that is found; None takes any.
    """

    type: SchemaType | None = None
    schema_id: int | None = None
    text: str | None = None
    references: tuple[Reference, ...] = ()
    subject: str | None = None
    version: int | None = None
    strategy: str = "TopicNameStrategy"


@dataclass(frozen=True, slots=True)
class Writer:
    """Encodes values by one registered schema."""

    schema: ParsedSchema
    schema_id: int
    subject: str | None = None
    version: int | None = None

    def encode(self, value: object) -> bytes:
        """The header and the payload; `InvalidValue` if the value does not fit."""
        payload = self.schema.encode(value)
        if self.schema.type is SchemaType.PROTOBUF:
            return frame(self.schema_id, payload, FIRST_MESSAGE)
        return frame(self.schema_id, payload)


class Decoded(NamedTuple):
    """A value, and the schema that it was written with."""

    value: object
    schema: ParsedSchema
    schema_id: int | None
    guid: UUID | None


class Serdes:
    """Writers and readers over one registry; safe for many threads."""

    def __init__(self, registry: RegistryClient) -> None:
        self.registry = registry
        self._writers: Cache[tuple[str, bool, SchemaChoice], Writer] = Cache(
            registry.settings.cache_capacity
        )

    def known(self, topic: str, is_key: bool, choice: SchemaChoice) -> Writer | None:
        """The writer if it was found before: an answer without any wait."""
        return self._writers.get((topic, is_key, choice))

    def writer(self, topic: str, is_key: bool, choice: SchemaChoice) -> Writer:
        """The writer for a choice; registers a text that the subject does not have yet."""
        known = self.known(topic, is_key, choice)
        if known is not None:
            return known
        if choice.text is not None:
            found = self._registered(topic, is_key, choice, choice.text)
        elif choice.schema_id is not None:
            found = self._by_id(topic, is_key, choice, choice.schema_id)
        else:
            found = self._by_subject(topic, is_key, choice)
        if choice.type is not None and found.schema.type is not choice.type:
            raise InvalidSchema(
                f"schema {found.schema_id} is of type {found.schema.type}, not {choice.type}"
            )
        changes = choice.text is None and choice.schema_id is None and choice.version is None
        ttl_s = self.registry.settings.latest_ttl_s if changes else math.inf
        return self._writers.put((topic, is_key, choice), found, ttl_s)

    def decode(
        self, data: bytes, *, header: bytes | None = None, expected: SchemaType | None = None
    ) -> Decoded:
        """The value in a record; `header` is its `__key_schema_id` or `__value_schema_id`."""
        framed = unframe(data, header=header)
        if framed.guid is not None:
            schema = self.registry.parse(self.registry.by_guid(framed.guid))
        else:
            assert framed.schema_id is not None, "a frame has an id or a GUID"
            schema = self.registry.parsed(framed.schema_id)
        if expected is not None and schema.type is not expected:
            raise InvalidValue(f"written with a schema of type {schema.type}, not {expected}")
        value = decode_payload(schema, framed.payload, framed.message_indexes)
        return Decoded(value, schema, framed.schema_id, framed.guid)

    def _registered(self, topic: str, is_key: bool, choice: SchemaChoice, text: str) -> Writer:
        type_ = choice.type or SchemaType.AVRO
        resolved = self.registry.resolve(choice.references)
        schema = parse(type_, text, resolved)
        subject = choice.subject or subject_name(choice.strategy, topic, is_key, schema.name)
        schema_id = self.registry.register(subject, type_, text, choice.references)
        try:
            version = self.registry.lookup(subject, type_, text, choice.references).version
        except RegistryRefused:
            # The version is only told to the curious; the record does not need it.
            version = None
        return Writer(schema, schema_id, subject, version)

    def _by_id(self, topic: str, is_key: bool, choice: SchemaChoice, schema_id: int) -> Writer:
        """The schema of an id, which must also be registered under the subject of the record."""
        found = self.registry.schema(schema_id)
        schema = self.registry.parse(found)
        subject = choice.subject or subject_name(choice.strategy, topic, is_key, schema.name)
        try:
            known = self.registry.lookup(subject, found.type, found.text, found.references)
        except RegistryRefused as error:
            raise RegistryRefused(
                error.http_status,
                error.error_code,
                f"schema {schema_id} is not registered under the subject {subject}: "
                f"{error.message}",
            ) from None
        return Writer(schema, schema_id, subject, known.version)

    def _by_subject(self, topic: str, is_key: bool, choice: SchemaChoice) -> Writer:
        subject = choice.subject or subject_name(choice.strategy, topic, is_key, None)
        found: RegisteredSchema = (
            self.registry.latest(subject)
            if choice.version is None
            else self.registry.version(subject, choice.version)
        )
        return Writer(self.registry.parse(found), found.id, found.subject, found.version)


def decode_payload(
    schema: ParsedSchema,
    payload: memoryview,
    message_indexes: tuple[int, ...] | None = None,
) -> object:
    """A value from what follows the header; Protobuf's indexes are read first where not known."""
    if schema.type is not SchemaType.PROTOBUF:
        return schema.decode(bytes(payload))
    if message_indexes is None:
        message_indexes, payload = read_message_indexes(payload)
    several: Any = schema
    value: object = several.decode(bytes(payload), message_indexes=message_indexes)
    return value
