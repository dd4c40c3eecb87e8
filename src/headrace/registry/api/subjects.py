"""`/subjects`: register, look up, read and delete the versions of a subject."""

from __future__ import annotations

from typing import Any, Final

from headrace.http.endpoint import Query
from headrace.registry import deletion, lists, look_up, register
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import (
    DELETED,
    DELETED_ONLY,
    EXAMPLE,
    FIND_TAGS,
    FORMAT,
    LIMIT,
    NORMALIZE,
    OFFSET,
    PERMANENT,
    REFERENCE_FORMAT,
    SUBJECT_PREFIX,
    Kind,
    new_table,
)
from headrace.registry.entities import (
    RegisterSchemaRequest,
    RegisterSchemaResponse,
    Schema,
    TagSchemaRequest,
)
from headrace.registry.errors import RegistryError
from headrace.registry.instance import Decide
from headrace.registry.subjects import EVERY_CONTEXT
from headrace.security.users import Role

table: Final = new_table()

_REGISTER_ERRORS: Final = (409, 42201, 42205, 42207, 42208, 42209, 42210)


@table.get(
    "/subjects",
    "All subjects",
    query=(SUBJECT_PREFIX, DELETED, DELETED_ONLY, OFFSET, LIMIT),
    reply=list[str],
)
def list_subjects(call: Call) -> list[str]:
    prefix = call.text("subjectPrefix", "subject")
    return lists.list_subjects(
        call.state,
        prefix=EVERY_CONTEXT if prefix is None else prefix,
        deleted=call.flag("deleted"),
        deleted_only=call.flag("deletedOnly"),
        **call.page_of_subjects(),
    )


@table.post(
    "/subjects/{subject}",
    "Look up a schema under a subject",
    kind=Kind.COMPUTE,
    role=Role.READ_ONLY,
    query=(NORMALIZE, FORMAT, DELETED),
    body=RegisterSchemaRequest,
    example=EXAMPLE,
    reply=Schema,
    errors=(40401, 40403, 42201),
)
def look_up_schema(call: Call) -> Schema:
    return look_up.look_up(
        call.state,
        call.subject,
        call.body,
        normalize=call.flag("normalize"),
        deleted=call.flag("deleted"),
        format=call.form,
    )


@table.delete(
    "/subjects/{subject}",
    "Delete a subject",
    permanent_role=Role.ADMIN,
    query=(PERMANENT,),
    reply=list[int],
    errors=(40401, 40404, 40405, 42205, 42206),
)
def delete_subject(call: Call) -> Decide:
    permanent = call.flag("permanent")
    return lambda state: deletion.delete_subject(state, call.subject, permanent=permanent)


@table.get(
    "/subjects/{subject}/versions",
    "The versions of a subject",
    query=(DELETED, DELETED_ONLY, OFFSET, LIMIT),
    reply=list[int],
    errors=(40401,),
)
def list_versions(call: Call) -> list[int]:
    return lists.list_versions(
        call.state,
        call.subject,
        deleted=call.flag("deleted"),
        deleted_only=call.flag("deletedOnly"),
        **call.page_of_subjects(),
    )


@table.post(
    "/subjects/{subject}/versions",
    "Register a schema under a subject",
    query=(NORMALIZE, FORMAT),
    body=RegisterSchemaRequest,
    example=EXAMPLE,
    reply=RegisterSchemaResponse,
    errors=_REGISTER_ERRORS,
    may_be_known=True,
)
def register_schema(call: Call) -> Decide:
    normalize = call.flag("normalize")
    return lambda state: register.register(
        state, call.subject, call.body, normalize=normalize, format=call.form
    )


@table.get(
    "/subjects/{subject}/versions/{version}",
    "A version of a subject",
    query=(FORMAT, REFERENCE_FORMAT, DELETED, FIND_TAGS),
    reply=Schema,
    errors=(40401, 40402, 42202),
)
def get_version(call: Call) -> Schema:
    return look_up.get_version(
        call.state,
        call.subject,
        call.version,
        deleted=call.flag("deleted"),
        format=call.form,
        find_tags=call.texts("findTags"),
    )


@table.get(
    "/subjects/{subject}/versions/{version}/schema",
    "The text of a version",
    query=(FORMAT, DELETED),
    reply=str,
    is_raw=True,
    errors=(40401, 40402, 42202),
)
def get_version_text(call: Call) -> str:
    return look_up.get_version_text(
        call.state, call.subject, call.version, deleted=call.flag("deleted"), format=call.form
    )


@table.get(
    "/subjects/{subject}/versions/{version}/referencedby",
    "The ids of the schemas that refer to a version",
    query=(DELETED, OFFSET, LIMIT),
    reply=list[int],
    errors=(40401, 40402, 42202),
)
def list_referers(call: Call) -> list[int]:
    return lists.list_referers(call.state, call.subject, call.version, **call.page_of_subjects())


@table.post(
    "/subjects/{subject}/versions/{version}/tags",
    "Register a version that differs in its tags, metadata or rules",
    body=TagSchemaRequest,
    reply=RegisterSchemaResponse,
    errors=(40401, 40402, 42202, *_REGISTER_ERRORS),
)
def tag_version(call: Call) -> Decide:
    return lambda state: register.modify_tags(state, call.subject, call.version, call.body)


@table.delete(
    "/subjects/{subject}/versions/{version}",
    "Delete a version of a subject",
    permanent_role=Role.ADMIN,
    query=(PERMANENT,),
    reply=int,
    errors=(40401, 40402, 40406, 40407, 42202, 42205, 42206),
)
def delete_version(call: Call) -> Decide:
    permanent = call.flag("permanent")
    return lambda state: deletion.delete_version(
        state, call.subject, call.version, permanent=permanent
    )


@table.get(
    "/subjects/{subject}/metadata",
    "The newest version with these properties in its metadata",
    query=(
        Query("key", list[str], "Name of a property; given as often as values"),
        Query("value", list[str], "Value of the property at the same place"),
        FORMAT,
        DELETED,
    ),
    reply=Schema,
    errors=(40401, 40403),
)
def get_by_metadata(call: Call) -> Any:
    keys, values = call.texts("key"), call.texts("value")
    if len(keys) != len(values):
        raise RegistryError(400, "The parameters key and value must be given equally often")
    return look_up.get_by_metadata(
        call.state,
        call.subject,
        dict(zip(keys, values, strict=True)),
        deleted=call.flag("deleted"),
        format=call.form,
    )
