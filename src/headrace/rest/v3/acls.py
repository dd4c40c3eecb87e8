"""Access control lists: search, create one or several, delete.

The broker decides and answers; a broker without an authorizer, or that does not know the requests
at all, has security disabled and is quoted so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from headrace.admin import acls
from headrace.admin.acls import Acl, Operation, PatternType, Permission, ResourceType
from headrace.admin.client import Admin
from headrace.client.connection import Unsupported
from headrace.errors import Error
from headrace.http.endpoint import Query
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.resources import Links, Listing, ListMetadata, Metadata, Resource, enter

_ACLS: Final = "/v3/clusters/{cluster_id}/acls"
table: Final = v3_table(tag="ACLs")

_RESOURCE_TYPES: Final = ("ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID")
_PATTERN_TYPES: Final = ("ANY", "MATCH", "LITERAL", "PREFIXED")
_OPERATIONS: Final = (
    "ANY",
    "ALL",
    "READ",
    "WRITE",
    "CREATE",
    "DELETE",
    "ALTER",
    "DESCRIBE",
    "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS",
    "IDEMPOTENT_WRITE",
)
_PERMISSIONS: Final = ("ANY", "DENY", "ALLOW")
_CHOICES: Final = {
    "resource_type": _RESOURCE_TYPES,
    "pattern_type": _PATTERN_TYPES,
    "operation": _OPERATIONS,
    "permission": _PERMISSIONS,
}
_NAMES: Final = ("resource_name", "principal", "host")
_SEARCHABLE: Final = (
    *(Query(name, Literal[allowed]) for name, allowed in _CHOICES.items()),
    *map(Query, _NAMES),
)
_DELETABLE: Final = tuple(
    replace(query, is_required=query.name in _CHOICES) for query in _SEARCHABLE
)
T = TypeVar("T")


class CreateAcl(msgspec.Struct):
    """One binding of an operation to a principal."""

    resource_type: Literal["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"]
    resource_name: str
    pattern_type: Literal["LITERAL", "PREFIXED"]
    principal: str
    host: str
    operation: Literal[
        "ALL",
        "READ",
        "WRITE",
        "CREATE",
        "DELETE",
        "ALTER",
        "DESCRIBE",
        "CLUSTER_ACTION",
        "DESCRIBE_CONFIGS",
        "ALTER_CONFIGS",
        "IDEMPOTENT_WRITE",
    ]
    permission: Literal["DENY", "ALLOW"]


class CreateAcls(msgspec.Struct):
    """Several bindings."""

    data: list[CreateAcl]


class KafkaAcl(Resource, kw_only=True):
    """A binding as the cluster has it."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


class KafkaAclList(Listing[KafkaAcl]):
    """The bindings that were found."""


class DeletedAcls(msgspec.Struct):
    """The bindings that were there."""

    data: list[KafkaAcl]


@table.get(_ACLS, "Search ACLs", query=_SEARCHABLE, reply=KafkaAclList)
async def search_acls(call: Call) -> KafkaAclList:
    _, links = await enter(call)
    wanted = _filter(call)
    found = await _ask(call, lambda admin: acls.find_acls(admin, wanted))
    query = f"?{call.request.url.query}" if call.request.url.query else ""
    return KafkaAclList(
        ListMetadata(links.url("acls") + query), [_shown(links, each) for each in found]
    )


@table.post(_ACLS, "Create an ACL", body=CreateAcl, status=201)
async def create_acl(call: Call) -> None:
    await enter(call)
    await _create(call, [call.body])


@table.post(f"{_ACLS}:batch", "Create several ACLs", body=CreateAcls, status=201)
async def create_acls(call: Call) -> None:
    await enter(call)
    if not call.body.data:
        raise faults.bad_request("data is empty: give at least one ACL")
    await _create(call, call.body.data)


async def _create(call: Call, asked: list[CreateAcl]) -> None:
    wanted = [_acl(msgspec.structs.asdict(one)) for one in asked]
    await _ask(call, lambda admin: acls.create_acls(admin, wanted))


@table.delete(_ACLS, "Delete ACLs", query=_DELETABLE, reply=DeletedAcls)
async def delete_acls(call: Call) -> DeletedAcls:
    _, links = await enter(call)
    wanted = _filter(call)
    found = await _ask(call, lambda admin: acls.delete_acls(admin, wanted))
    return DeletedAcls([_shown(links, each) for each in found])


async def _ask(call: Call, question: Callable[[Admin], T]) -> T:
    def ask(admin: Admin) -> T:
        try:
            return question(admin)
        except Unsupported:
            raise faults.of_code(Error.SECURITY_DISABLED) from None

    return await call.service.calls.ask(ask)


def _filter(call: Call) -> Acl:
    query = call.request.query_params
    values: dict[str, str | None] = {name: query.get(name) for name in _NAMES}
    for name, allowed in _CHOICES.items():
        text = query.get(name)
        if text is None and call.endpoint.method == "DELETE":
            raise faults.bad_request(f"{name} is required: one of {', '.join(allowed)}")
        values[name] = (text or "ANY").upper()
        if values[name] not in allowed:
            raise faults.bad_request(f"{name}={text!r}: allowed are {', '.join(allowed)}")
    return _acl(values)


def _acl(values: Mapping[str, Any]) -> Acl:
    return Acl(
        ResourceType[values["resource_type"]],
        values["resource_name"],
        PatternType[values["pattern_type"]],
        values["principal"],
        values["host"],
        Operation[values["operation"]],
        Permission[values["permission"]],
    )


def _shown(links: Links, acl: Acl) -> KafkaAcl:
    fields = {
        "resource_type": acl.resource_type.name,
        "resource_name": acl.resource_name or "",
        "pattern_type": acl.pattern_type.name,
        "principal": acl.principal or "",
        "host": acl.host or "",
        "operation": acl.operation.name,
        "permission": acl.permission.name,
    }
    self_url = f"{links.url('acls')}?{urlencode(fields)}"
    return KafkaAcl(metadata=Metadata(self_url), cluster_id=links.cluster_id, **fields)
