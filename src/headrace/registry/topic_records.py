"""Records of the `_schemas` topic, byte for byte as Confluent's registry writes them.

The topic is compacted by the bytes of its keys, so the order of their properties is part of the
format. Records that others wrote with another order, or with fewer properties, are read as well;
`is_canonical` tells them apart, because a change must then delete the other spelling first.

What the records mean is the state's business.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from headrace.errors import CorruptData
from headrace.registry.contents import Content
from headrace.registry.entities import Config, Entity, Metadata, RuleSet, SchemaReference
from headrace.schemas.model import SchemaType

TENANT: Final = "default"


class KeyType(StrEnum):
    """What a record is about."""

    SCHEMA = "SCHEMA"
    CONFIG = "CONFIG"
    MODE = "MODE"
    NOOP = "NOOP"
    DELETE_SUBJECT = "DELETE_SUBJECT"
    CLEAR_SUBJECT = "CLEAR_SUBJECT"
    CONTEXT = "CONTEXT"
    ASSOC = "ASSOC"


# -- keys ------------------------------------------------------------------------------------------


class Key(Entity, frozen=True):
    """Every kind of key as it is read: absent properties are None."""

    keytype: str = ""
    tenant: str | None = None
    subject: str | None = None
    version: int | None = None
    context: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_type: str | None = None
    association_type: str | None = None


class _SchemaKey(msgspec.Struct):
    keytype: str
    subject: str
    version: int
    magic: int


class _SubjectKey(msgspec.Struct):
    keytype: str
    subject: str | None
    magic: int


class _ContextKey(msgspec.Struct):
    keytype: str
    tenant: str
    context: str
    magic: int


class _AssociationKey(msgspec.Struct, omit_defaults=True, rename="camel"):
    keytype: str
    tenant: str
    resource_name: str | None
    resource_namespace: str | None
    resource_type: str | None
    association_type: str | None
    magic: int


class _NoopKey(msgspec.Struct, omit_defaults=True):
    keytype: str
    magic: int
    context: str | None = None


def schema_key(subject: str, version: int) -> bytes:
    """The key of one version."""
    return msgspec.json.encode(_SchemaKey(KeyType.SCHEMA, subject, version, 1))


def config_key(scope: str | None) -> bytes:
    """The key of the settings of a subject, of a context (`:.c:`), or of all (None)."""
    return msgspec.json.encode(_SubjectKey(KeyType.CONFIG, scope, 0))


def mode_key(scope: str | None) -> bytes:
    """The key of a mode."""
    return msgspec.json.encode(_SubjectKey(KeyType.MODE, scope, 0))


def delete_subject_key(subject: str) -> bytes:
    """The key of a soft deletion."""
    return msgspec.json.encode(_SubjectKey(KeyType.DELETE_SUBJECT, subject, 0))


def clear_subject_key(scope: str | None) -> bytes:
    """The key that makes readers forget what was deleted softly."""
    return msgspec.json.encode(_SubjectKey(KeyType.CLEAR_SUBJECT, scope, 0))


def context_key(context: str) -> bytes:
    """The key of a context's existence."""
    return msgspec.json.encode(_ContextKey(KeyType.CONTEXT, TENANT, context, 0))


def association_key(
    resource_name: str, resource_namespace: str, resource_type: str, association_type: str
) -> bytes:
    """The key of one association."""
    names = (resource_name, resource_namespace, resource_type, association_type)
    return msgspec.json.encode(_AssociationKey(KeyType.ASSOC, TENANT, *names, 0))


def noop_key(context: str | None = None) -> bytes:
    """The key of a record that only moves the end of the log.

    With a context it carries the highest id that was ever used there. Readers that do not know this
    skip it, as they skip all of this type.
    """
    return msgspec.json.encode(_NoopKey(KeyType.NOOP, 0, context))


def canonical_key(key: Key) -> bytes | None:
    """How we write this key; None if its type is not ours or something is missing."""
    match key.keytype:
        case KeyType.SCHEMA if key.subject is not None and key.version is not None:
            return schema_key(key.subject, key.version)
        case KeyType.CONFIG:
            return config_key(key.subject)
        case KeyType.MODE:
            return mode_key(key.subject)
        case KeyType.DELETE_SUBJECT if key.subject is not None:
            return delete_subject_key(key.subject)
        case KeyType.CLEAR_SUBJECT:
            return clear_subject_key(key.subject)
        case KeyType.CONTEXT if key.context is not None:
            return context_key(key.context)
        case KeyType.ASSOC if key.resource_name is not None:
            return association_key(
                key.resource_name,
                key.resource_namespace or "",
                key.resource_type or "",
                key.association_type or "",
            )
        case KeyType.NOOP:
            return noop_key(key.context)
    return None


# -- values ----------------------------------------------------------------------------------------


def _not_deleted() -> bool:
    """Written even when false, which a literal default would not be."""
    return False


class SchemaValue(Entity, frozen=True):
    """One version of a subject."""

    subject: str
    version: int
    id: int
    md5: str | None = None
    schema_type: str | None = None
    references: list[SchemaReference] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    schema: str = ""
    deleted: bool = msgspec.field(default_factory=_not_deleted)


class ConfigValue(Entity, frozen=True):
    """The settings of a scope."""

    subject: str | None = None
    alias: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    compatibility_level: str | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None


class ModeValue(Entity, frozen=True):
    """The mode of a scope."""

    subject: str | None = None
    mode: str | None = None


class DeleteSubjectValue(Entity, frozen=True):
    """All versions up to this one were deleted softly."""

    subject: str
    version: int


class ClearSubjectValue(Entity, frozen=True):
    """What was deleted softly is forgotten."""

    subject: str | None = None


class ContextValue(Entity, frozen=True):
    """A context exists."""

    tenant: str
    context: str


class HighestIdValue(Entity, frozen=True):
    """Ids up to this one were used, even if their schemas are gone."""

    max_id: int


class AssociationValue(Entity, frozen=True):
    """A resource, such as a topic, uses a subject."""

    guid: str | None = None
    tenant: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    association_type: str | None = None
    subject: str | None = None
    lifecycle: str | None = None
    frozen: bool = msgspec.field(default_factory=_not_deleted)


Value = (
    SchemaValue
    | ConfigValue
    | ModeValue
    | DeleteSubjectValue
    | ClearSubjectValue
    | ContextValue
    | HighestIdValue
    | AssociationValue
)

_read_key = msgspec.json.Decoder(Key).decode
_readers: Final[dict[KeyType, Callable[[bytes], Value]]] = {
    KeyType.SCHEMA: msgspec.json.Decoder(SchemaValue).decode,
    KeyType.CONFIG: msgspec.json.Decoder(ConfigValue).decode,
    KeyType.MODE: msgspec.json.Decoder(ModeValue).decode,
    KeyType.DELETE_SUBJECT: msgspec.json.Decoder(DeleteSubjectValue).decode,
    KeyType.CLEAR_SUBJECT: msgspec.json.Decoder(ClearSubjectValue).decode,
    KeyType.CONTEXT: msgspec.json.Decoder(ContextValue).decode,
    KeyType.NOOP: msgspec.json.Decoder(HighestIdValue).decode,
    KeyType.ASSOC: msgspec.json.Decoder(AssociationValue).decode,
}


def read_key(data: bytes) -> Key:
    """A key in any order of its properties; CorruptData if it is none."""
    try:
        return _read_key(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise CorruptData(f"not a key of the registry's topic: {fault}") from fault


def read_value(keytype: KeyType, data: bytes) -> Value:
    """The value that belongs to keys of this type."""
    try:
        return _readers[keytype](data)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise CorruptData(f"not a value of type {keytype}: {fault}") from fault


def schema_value(
    subject: str, version: int, schema_id: int, content: Content, *, deleted: bool
) -> bytes:
    """The value of one version."""
    return msgspec.json.encode(
        SchemaValue(
            subject=subject,
            version=version,
            id=schema_id,
            md5=content.stored_md5,
            schema_type=None if content.type is SchemaType.AVRO else content.type.value,
            references=list(content.references) or None,
            metadata=content.metadata,
            rule_set=content.rule_set,
            schema=content.text,
            deleted=deleted,
        )
    )


def config_value(scope: str | None, config: Config) -> bytes:
    """The value of a scope's settings."""
    settings = {name: getattr(config, name) for name in Config.__struct_fields__}
    return msgspec.json.encode(ConfigValue(subject=scope, **settings))


def mode_value(scope: str | None, mode: str) -> bytes:
    """The value of a mode."""
    return msgspec.json.encode(ModeValue(subject=scope, mode=mode))


def delete_subject_value(subject: str, version: int) -> bytes:
    """The value of a soft deletion up to a version."""
    return msgspec.json.encode(DeleteSubjectValue(subject, version))


def clear_subject_value(scope: str | None) -> bytes:
    """The value that goes with `clear_subject_key`."""
    return msgspec.json.encode(ClearSubjectValue(scope))


def context_value(context: str) -> bytes:
    """The value of a context's existence."""
    return msgspec.json.encode(ContextValue(TENANT, context))


def highest_id_value(max_id: int) -> bytes:
    """The value that goes with `noop_key` of a context."""
    return msgspec.json.encode(HighestIdValue(max_id))


def association_record(value: AssociationValue) -> tuple[bytes, bytes]:
    """Key and value of an association."""
    key = association_key(
        value.resource_name or "",
        value.resource_namespace or "",
        value.resource_type or "",
        value.association_type or "",
    )
    return key, msgspec.json.encode(value)
