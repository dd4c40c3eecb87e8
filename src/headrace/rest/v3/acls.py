"""Access control lists: search, create one or several, delete.

The broker decides and answers; a broker without an authorizer, or that does not know the requests
at all, has security disabled and is quoted so. Everything goes through librdkafka's admin client,
which speaks these requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, Literal
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headrace.errors import Error
from headrace.rest.openapi import Endpoint, Parameter
from headrace.rest.v3 import faults, schemas
from headrace.rest.v3.access import enter, proxy_of
from headrace.rest.v3.request_bodies import read_json
from headrace.rest.v3.resources import Body, Links, listing, no_content, reply

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


async def search_acls(request: Request) -> Response:
    _, links = await enter(request)
    wanted = _filter(request, required=())
    found = await _call(request, lambda admin: admin.describe_acls(wanted))
    query = f"?{request.url.query}" if request.url.query else ""
    data = [_acl(links, binding) for bindings in found for binding in bindings]
    return reply(listing("KafkaAclList", links.url("acls") + query, data))


async def create_acl(request: Request) -> Response:
    await enter(request)
    asked = await read_json(request, CreateAcl)
    await _create(request, [asked])
    return no_content(201)


async def create_acls(request: Request) -> Response:
    await enter(request)
    asked = await read_json(request, CreateAcls)
    if not asked.data:
        raise faults.bad_request("data is empty: give at least one ACL")
    await _create(request, asked.data)
    return no_content(201)


async def _create(request: Request, asked: list[CreateAcl]) -> None:
    bindings = [_binding(one) for one in asked]
    await _call(request, lambda admin: admin.create_acls(bindings))


async def delete_acls(request: Request) -> Response:
    _, links = await enter(request)
    wanted = _filter(request, required=tuple(_CHOICES))
    found = await _call(request, lambda admin: admin.delete_acls([wanted]))
    bindings = [binding for deleted in found for binding in deleted]
    return reply({"data": [_acl(links, binding) for binding in bindings]})


async def _call(request: Request, ask: Callable[[Any], Any]) -> list[Any]:
    """What each future of librdkafka brings; its errors as a broker would give them."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        # In a list the futures come back as they are, with errors that still have their codes.
        futures = await proxy_of(request).admin.call(lambda admin: _listed(ask(admin)))
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


def _filter(request: Request, required: tuple[str, ...]) -> Any:
    query = request.query_params
    values: dict[str, str] = {}
    for name, allowed in _CHOICES.items():
        text = query.get(name)
        if text is None and name in required:
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


def _acl(links: Links, binding: Any) -> Body:
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
    return links.resource("KafkaAcl", self_url, None, **fields)


_ACLS: Final = "/v3/clusters/{cluster_id}/acls"
_FIELDS: Final[dict[str, dict[str, Any]]] = {
    **{name: {"enum": list(allowed)} for name, allowed in _CHOICES.items()},
    **dict.fromkeys(_NAMES, schemas.STRING),
}
_SCHEMA: Final = schemas.resource("KafkaAcl", **_FIELDS)
_DELETABLE: Final = tuple(
    Parameter(name, schema, required=name in _CHOICES) for name, schema in _FIELDS.items()
)
_SEARCHABLE: Final = tuple(Parameter(name, schema) for name, schema in _FIELDS.items())
ENDPOINTS: Final = (
    Endpoint(
        _ACLS,
        "GET",
        search_acls,
        "Search ACLs",
        "ACLs",
        parameters=_SEARCHABLE,
        responses={200: schemas.listing(_SCHEMA)},
        errors=(400, 404),
    ),
    Endpoint(
        _ACLS,
        "POST",
        create_acl,
        "Create an ACL",
        "ACLs",
        request=schemas.struct(_FIELDS),
        responses={201: None},
        errors=(400, 404, 413, 415),
    ),
    Endpoint(
        f"{_ACLS}:batch",
        "POST",
        create_acls,
        "Create several ACLs",
        "ACLs",
        request=schemas.struct({"data": schemas.array(schemas.struct(_FIELDS))}),
        responses={201: None},
        errors=(400, 404, 413, 415),
    ),
    Endpoint(
        _ACLS,
        "DELETE",
        delete_acls,
        "Delete ACLs",
        "ACLs",
        parameters=_DELETABLE,
        responses={200: schemas.struct({"data": schemas.array(_SCHEMA)})},
        errors=(400, 404),
    ),
)
