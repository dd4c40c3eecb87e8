"""Access control lists: search, create one or several, delete.

The broker decides and answers; a broker without an authorizer, or that does not know the requests
at all, has security disabled and is quoted so. Everything goes through librdkafka's admin client,
which speaks these requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, Literal
from urllib.parse import urlencode

import msgspec

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
# librdkafka has one list of resource types for settings and for ACLs; in it, 4 is the broker.
_TO_LIBRDKAFKA: Final = {"CLUSTER": "BROKER"}
_FROM_LIBRDKAFKA: Final = {"BROKER": "CLUSTER"}


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
    found = await _call(call, lambda admin: admin.describe_acls(wanted))
    query = f"?{call.request.url.query}" if call.request.url.query else ""
    data = [_acl(links, binding) for bindings in found for binding in bindings]
    return KafkaAclList(ListMetadata(links.url("acls") + query), data)


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
    bindings = [_binding(one) for one in asked]
    await _call(call, lambda admin: admin.create_acls(bindings))


@table.delete(_ACLS, "Delete ACLs", query=_DELETABLE, reply=DeletedAcls)
async def delete_acls(call: Call) -> DeletedAcls:
    _, links = await enter(call)
    wanted = _filter(call)
    found = await _call(call, lambda admin: admin.delete_acls([wanted]))
    return DeletedAcls([_acl(links, binding) for deleted in found for binding in deleted])


async def _call(call: Call, ask: Callable[[Any], Any]) -> list[Any]:
    """What each future of librdkafka brings; its errors as a broker would give them."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        # In a list the futures come back as they are, with errors that still have their codes.
        futures = await call.proxy.admin.call(lambda admin: _listed(ask(admin)))
        return await asyncio.gather(*map(asyncio.wrap_future, futures))
    except KafkaException as failure:
        error: KafkaError = failure.args[0]
        if error.code() == KafkaError._UNSUPPORTED_FEATURE:
            raise faults.of_code(Error.SECURITY_DISABLED) from None
        raise faults.of_librdkafka(error.code(), error.str()) from None
    except (ValueError, TypeError) as refused:
        raise faults.bad_request(str(refused)) from None


def _listed(answer: Any) -> list[Any]:
    return list(answer.values()) if isinstance(answer, dict) else [answer]


# -- to and from librdkafka -----------------------------------------------------------------------


def _filter(call: Call) -> Any:
    query = call.request.query_params
    values: dict[str, str] = {}
    for name, allowed in _CHOICES.items():
        text = query.get(name)
        if text is None and call.endpoint.method == "DELETE":
            raise faults.bad_request(f"{name} is required: one of {', '.join(allowed)}")
        values[name] = (text or "ANY").upper()
        if values[name] not in allowed:
            raise faults.bad_request(f"{name}={text!r}: allowed are {', '.join(allowed)}")
    names = {name: query.get(name) for name in _NAMES}
    return _make("AclBindingFilter", values, names)


def _binding(asked: CreateAcl) -> Any:
    values = {name: getattr(asked, name) for name in _CHOICES}
    return _make("AclBinding", values, {name: getattr(asked, name) for name in _NAMES})


def _make(kind: str, values: Mapping[str, str], names: Mapping[str, str | None]) -> Any:
    admin = import_module("confluent_kafka.admin")
    resource_type = values["resource_type"]
    return getattr(admin, kind)(
        admin.ResourceType[_TO_LIBRDKAFKA.get(resource_type, resource_type)],
        names["resource_name"],
        admin.ResourcePatternType[values["pattern_type"]],
        names["principal"],
        names["host"],
        admin.AclOperation[values["operation"]],
        admin.AclPermissionType[values["permission"]],
    )


def _acl(links: Links, binding: Any) -> KafkaAcl:
    kind = binding.restype.name
    fields = {
        "resource_type": _FROM_LIBRDKAFKA.get(kind, kind),
        "resource_name": binding.name,
        "pattern_type": binding.resource_pattern_type.name,
        "principal": binding.principal,
        "host": binding.host,
        "operation": binding.operation.name,
        "permission": binding.permission_type.name,
    }
    self_url = f"{links.url('acls')}?{urlencode(fields)}"
    return KafkaAcl(metadata=Metadata(self_url), cluster_id=links.cluster_id, **fields)
