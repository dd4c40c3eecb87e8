"""Access control lists: who may do what to which resource (KIP-140, KIP-290)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from headrace.admin.client import Admin
from headrace.admin.faults import raise_for


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One binding; as a filter, None and ANY match everything."""

    resource_type: ResourceType
    resource_name: str | None
    pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: Operation
    permission: Permission


E = TypeVar("E", bound=IntEnum)


def find_acls(admin: Admin, wanted: Acl) -> list[Acl]:
    """Those that match a filter."""
    from headrace.wire.messages.describe_acls import DescribeAclsRequest

    answer = admin.ask(DescribeAclsRequest(**_filter(wanted)))
    raise_for(answer.error_code, answer.error_message)
    return [_acl(resource, each) for resource in answer.resources for each in resource.acls]


def create_acls(admin: Admin, acls: Sequence[Acl]) -> None:
    """Create all of them; `Refused` with the first that could not be."""
    from headrace.wire.messages.create_acls import AclCreation, CreateAclsRequest

    creations = [
        AclCreation(
            resource_type=each.resource_type,
            resource_name=each.resource_name or "",
            resource_pattern_type=each.pattern_type,
            principal=each.principal or "",
            host=each.host or "",
            operation=each.operation,
            permission_type=each.permission,
        )
        for each in acls
    ]
    for result in admin.change(CreateAclsRequest(creations=creations), "results"):
        raise_for(result.error_code, result.error_message)


def delete_acls(admin: Admin, wanted: Acl) -> list[Acl]:
    """Remove those that match a filter; returns what was there."""
    from headrace.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

    request = DeleteAclsRequest(filters=[DeleteAclsFilter(**_filter(wanted))])
    deleted = []
    for result in admin.change(request, "filter_results"):
        raise_for(result.error_code, result.error_message)
        for each in result.matching_acls:
            raise_for(each.error_code, each.error_message)
            deleted.append(_acl(each, each))
    return deleted


def _filter(wanted: Acl) -> dict[str, Any]:
    """The fields of a filter on the wire."""
    return {
        "resource_type_filter": wanted.resource_type,
        "resource_name_filter": wanted.resource_name,
        "pattern_type_filter": wanted.pattern_type,
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": wanted.operation,
        "permission_type": wanted.permission,
    }


def _acl(resource: Any, binding: Any) -> Acl:
    return Acl(
        _known(ResourceType, resource.resource_type),
        resource.resource_name,
        _known(PatternType, resource.pattern_type),
        binding.principal,
        binding.host,
        _known(Operation, binding.operation),
        _known(Permission, binding.permission_type),
    )


def _known(kind: type[E], number: int) -> E:
    try:
        return kind(number)
    except ValueError:
        return kind(0)
