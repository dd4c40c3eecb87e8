"""Which schema a console producer writes with, and how a line becomes the bytes of a record.

The schema is given as text, as a file, or as an id of the registry; or it is the latest of its
subject (`use.latest.version=true`). A text is registered, unless `auto.register=false`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.kafka_compat.clients import is_true
from headrace.cli.schema.files import MAX_SCHEMA_BYTES
from headrace.cli.small_files import read_text
from headrace.schemas.formats import parse
from headrace.schemas.framing import frame
from headrace.schemas.model import InvalidValue, ParsedSchema, Reference, SchemaType
from headrace.schemas.naming import TOPIC_NAME, subject_name

if TYPE_CHECKING:
    from headrace.client.registry import RegistryClient

Write: TypeAlias = Callable[[str], bytes | None]


def find_writer(
    registry: RegistryClient,
    schema_type: SchemaType,
    topic: str,
    properties: Mapping[str, str],
    *,
    is_key: bool,
) -> Write:
    """The function that turns a text into the framed bytes of a key or value."""
    side = "key" if is_key else "value"
    schema, schema_id = _find(registry, schema_type, topic, properties, is_key=is_key)
    if schema.type is not schema_type:
        raise Failure(
            f"schema {schema_id} is of type {schema.type}, not {schema_type}",
            f"use the console producer for {schema.type}",
        )
    encode: Callable[[object], bytes] = schema.encode
    indexes: tuple[int, ...] | None = None
    if schema_type is SchemaType.PROTOBUF:
        message: Any = schema
        indexes = _message_indexes(message, properties.get(f"{side}.schema.full.name"))
        chosen = indexes
        encode = lambda value: message.encode(value, message_indexes=chosen)  # noqa: E731

    def write(text: str) -> bytes | None:
        try:
            value = json.loads(text)
        except ValueError as error:
            raise InvalidValue(f"the {side} is not JSON ({error})") from None
        payload = encode(value)
        # As in Java: what is null by its schema is no record of that schema, but a tombstone.
        return None if value is None else frame(schema_id, payload, indexes)

    return write


def _find(
    registry: RegistryClient,
    schema_type: SchemaType,
    topic: str,
    properties: Mapping[str, str],
    *,
    is_key: bool,
) -> tuple[ParsedSchema, int]:
    side = "key" if is_key else "value"
    if schema_id := properties.get(f"{side}.schema.id"):
        if not schema_id.strip().isdecimal():
            raise WrongUsage(f'{side}.schema.id "{schema_id}" is not an id', "give a number")
        return registry.parsed(int(schema_id)), int(schema_id)
    text = _text(properties, side)
    strategy = properties.get(f"{side}.subject.name.strategy", TOPIC_NAME)
    given = properties.get(f"{side}.subject")
    if text is None:
        if not is_true(properties, "use.latest.version"):
            raise WrongUsage(
                f"no schema is given for the {side}",
                f"give --property {side}.schema='…', {side}.schema.file=… or {side}.schema.id=…",
            )
        found = registry.latest(given or subject_name(strategy, topic, is_key, None))
        return registry.parse(found), found.id
    references = _references(properties.get(f"{side}.refs"), side)
    schema = parse(schema_type, text, registry.resolve(references))
    subject = given or subject_name(strategy, topic, is_key, schema.name)
    normalize = is_true(properties, "normalize.schemas")
    if is_true(properties, "auto.register", default=True) and is_true(
        properties, "auto.register.schemas", default=True
    ):
        return schema, registry.register(
            subject, schema_type, text, references, normalize=normalize
        )
    registered = registry.lookup(subject, schema_type, text, references, normalize=normalize)
    return schema, registered.id


def _text(properties: Mapping[str, str], side: str) -> str | None:
    if path := properties.get(f"{side}.schema.file"):
        return read_text(path, f"{side}.schema.file {path}", max_bytes=MAX_SCHEMA_BYTES)
    return properties.get(f"{side}.schema")


def _references(text: str | None, side: str) -> tuple[Reference, ...]:
    if not text:
        return ()
    try:
        return tuple(
            Reference(each["name"], each["subject"], int(each["version"]))
            for each in json.loads(text)
        )
    except (ValueError, TypeError, KeyError):
        raise WrongUsage(
            f"{side}.refs is not a list of references",
            'write [{"name": "…", "subject": "…", "version": 1}]',
        ) from None


def _message_indexes(schema: Any, full_name: str | None) -> tuple[int, ...]:
    if full_name is None:
        return (0,)
    known: Mapping[str, tuple[int, ...]] = schema.message_names()
    if full_name not in known:
        raise WrongUsage(
            f'the schema has no message "{full_name}"', f"it has {', '.join(sorted(known))}"
        )
    return known[full_name]
