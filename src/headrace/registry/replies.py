"""Replies made of versions: the same schema as a version of a subject, or by its id.

They have the properties that Confluent's registry 8.1 sends: the type also of Avro, the GUID, and,
where a version is read and not found by its content, its time and whether it is deleted.
"""

from __future__ import annotations

from msgspec.structs import replace

from headrace.registry.entities import (
    RegisterSchemaResponse,
    Schema,
    SchemaReference,
    SchemaString,
    SchemaTags,
)
from headrace.registry.versions import Version


def _references_of(version: Version) -> list[SchemaReference] | None:
    return list(version.content.references) or None


def schema_entity(
    version: Version, text: str | None = None, tags: list[SchemaTags] | None = None
) -> Schema:
    """A version as a version of its subject."""
    content = version.content
    return Schema(
        subject=version.subject,
        version=version.version,
        id=version.id,
        guid=content.guid,
        schema_type=content.type.value,
        references=_references_of(version),
        metadata=content.metadata,
        rule_set=content.rule_set,
        schema=content.text if text is None else text,
        schema_tags=tags or None,
        ts=version.ts_ms,
        deleted=version.is_deleted,
    )


def found_by_content(version: Version, text: str | None = None) -> Schema:
    """A version as the reply to a look-up of its content."""
    return replace(schema_entity(version, text), ts=None, deleted=None)


def schema_string(
    version: Version,
    text: str | None = None,
    tags: list[SchemaTags] | None = None,
    *,
    with_subject: bool = False,
    max_id: int | None = None,
) -> SchemaString:
    """A version as what its id stands for."""
    content = version.content
    return SchemaString(
        subject=version.subject if with_subject else None,
        version=version.version if with_subject else None,
        guid=content.guid,
        schema_type=content.type.value,
        schema=content.text if text is None else text,
        references=_references_of(version),
        metadata=content.metadata,
        rule_set=content.rule_set,
        schema_tags=tags or None,
        max_id=max_id,
        ts=version.ts_ms,
        deleted=version.is_deleted,
    )


def registered(version: Version, text: str | None = None) -> RegisterSchemaResponse:
    """A version as the reply to its registration."""
    content = version.content
    return RegisterSchemaResponse(
        id=version.id,
        version=version.version,
        guid=content.guid,
        schema_type=content.type.value,
        references=_references_of(version),
        metadata=content.metadata,
        rule_set=content.rule_set,
        schema=content.text if text is None else text,
    )
