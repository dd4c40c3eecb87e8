"""`/schemas`: schemas by id and by GUID, whatever subjects they belong to."""

from __future__ import annotations

from typing import Final

from headrace.http.endpoint import Query
from headrace.registry import lists, look_up
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import (
    DELETED,
    FIND_TAGS,
    FORMAT,
    LIMIT,
    OFFSET,
    REFERENCE_FORMAT,
    SUBJECT_PREFIX,
    Kind,
    new_table,
)
from headrace.registry.entities import ContextId, ExtendedSchema, SchemaString, SubjectVersion

table: Final = new_table()

_SUBJECT: Final = Query("subject", str, "The subject, or the context, in which to look")


@table.get(
    "/schemas",
    "All schemas",
    kind=Kind.COMPUTE,
    query=(
        SUBJECT_PREFIX,
        Query("aliases", bool, "Whether to look at aliases too"),
        DELETED,
        Query("latestOnly", bool, "Whether to return the newest version of each subject only"),
        Query("ruleType", list[str], "Only schemas with rules of this type"),
        Query("resourceType", str, "Only schemas associated with resources of this type"),
        Query("associationType", list[str], "Only schemas with associations of this type"),
        Query("lifecycle", str, "Only schemas with associations of this life cycle"),
        OFFSET,
        LIMIT,
    ),
    reply=list[ExtendedSchema],
)
def list_schemas(call: Call) -> list[ExtendedSchema]:
    settings = call.settings
    return lists.list_schemas(
        call.state,
        prefix=call.text("subjectPrefix", "subject") or "",
        aliases=call.flag("aliases"),
        deleted=call.flag("deleted"),
        latest_only=call.flag("latestOnly"),
        rule_types=call.texts("ruleType"),
        resource_type=call.text("resourceType"),
        association_types=call.texts("associationType"),
        lifecycle=call.text("lifecycle"),
        **call.page(settings.schema_search_default_limit, settings.schema_search_max_limit),
    )


@table.get("/schemas/types", "The formats of schemas", reply=list[str])
def list_types(call: Call) -> list[str]:
    return ["JSON", "PROTOBUF", "AVRO"]


@table.get(
    "/schemas/ids/{id}",
    "A schema by its id",
    query=(
        _SUBJECT,
        FORMAT,
        REFERENCE_FORMAT,
        FIND_TAGS,
        Query("fetchMaxId", bool, "Whether to return the highest id too"),
    ),
    reply=SchemaString,
    errors=(40403,),
)
def get_schema(call: Call) -> SchemaString:
    return look_up.get_schema_by_id(
        call.state,
        call.id(),
        subject=call.text("subject"),
        format=call.form,
        find_tags=call.texts("findTags"),
        fetch_max_id=call.flag("fetchMaxId"),
    )


@table.get(
    "/schemas/ids/{id}/schema",
    "The text of a schema by its id",
    query=(_SUBJECT, FORMAT),
    reply=str,
    is_raw=True,
    errors=(40403,),
)
def get_schema_text(call: Call) -> str:
    return look_up.get_schema_text(
        call.state, call.id(), subject=call.text("subject"), format=call.form
    )


@table.get(
    "/schemas/ids/{id}/subjects",
    "The subjects that have a schema",
    query=(_SUBJECT, DELETED, OFFSET, LIMIT),
    reply=list[str],
    errors=(40403,),
)
def list_subjects(call: Call) -> list[str]:
    return lists.list_subjects_of_id(
        call.state,
        call.id(),
        subject=call.text("subject"),
        deleted=call.flag("deleted"),
        **call.page_of_subjects(),
    )


@table.get(
    "/schemas/ids/{id}/versions",
    "The versions of subjects that have a schema",
    query=(_SUBJECT, DELETED, OFFSET, LIMIT),
    reply=list[SubjectVersion],
    errors=(40403,),
)
def list_versions(call: Call) -> list[SubjectVersion]:
    return lists.list_versions_of_id(
        call.state,
        call.id(),
        subject=call.text("subject"),
        deleted=call.flag("deleted"),
        **call.page_of_subjects(),
    )


@table.get(
    "/schemas/guids/{guid}",
    "A schema by its GUID",
    query=(FORMAT,),
    reply=SchemaString,
    errors=(40403,),
)
def get_schema_by_guid(call: Call) -> SchemaString:
    return look_up.get_schema_by_guid(call.state, call.name("guid"), format=call.form)


@table.get(
    "/schemas/guids/{guid}/ids",
    "The ids of a schema in all contexts",
    reply=list[ContextId],
    errors=(40403,),
)
def list_ids(call: Call) -> list[ContextId]:
    return look_up.ids_of_guid(call.state, call.name("guid"))
