"""Replies made of versions: the same schema as a version of a subject, or by its id.

GUID, time and deletion came late to Confluent's API. Clients that do not send
`Confluent-Accept-Unknown-Properties: true` may fail on them, so they get `plain` replies.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from headrace.registry.entities import (
    RegisterSchemaResponse,
    Schema,
    SchemaReference,
    SchemaString,
    SchemaTags,
)
from headrace.registry.versions import Version
from headrace.schemas.model import SchemaType

Reply = TypeVar("Reply", Schema, SchemaString, RegisterSchemaResponse)


def plain(reply: Reply) -> Reply:
    """A reply without the properties that older clients do not know."""
    return replace(reply, guid=None, ts=None, deleted=None)


def _type_of(version: Version) -> str | None:
    """Avro goes without saying."""
    kind = version.content.type
    return None if kind is SchemaType.AVRO else kind.value


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
        schema_type=_type_of(version),
        references=_references_of(version),
        metadata=content.metadata,
        rule_set=content.rule_set,
        schema=content.text if text is None else text,
        schema_tags=tags or None,
        ts=version.ts_ms,
        deleted=version.is_deleted or None,
    )


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
        schema_type=_type_of(version),
        schema=content.text if text is None else text,
        references=_references_of(version),
        metadata=content.metadata,
        rule_set=content.rule_set,
        schema_tags=tags or None,
        max_id=max_id,
        ts=version.ts_ms,
        deleted=version.is_deleted or None,
    )


def registered(version: Version, text: str | None = None) -> RegisterSchemaResponse:
    """A version as the reply to its registration."""
    content = version.content
    return RegisterSchemaResponse(
        id=version.id,
        version=version.version,
        guid=content.guid,
        schema_type=_type_of(version),
        references=_references_of(version),
        metadata=content.metadata,
        rule_set=content.rule_set,
        schema=content.text if text is None else text,
        ts=version.ts_ms,
    )
