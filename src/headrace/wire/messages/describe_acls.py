"""DescribeAcls (key 29): the access control lists that match a filter (KIP-140, KIP-290)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int8, Int16, Int32


@request(key=29, versions="1-3", flexible=2)
class DescribeAclsRequest:
    """The filter; a name that is null matches all."""

    resource_type_filter: Int8
    resource_name_filter: str | None
    pattern_type_filter: Int8 = 3
    principal_filter: str | None
    host_filter: str | None
    operation: Int8
    permission_type: Int8


@response(key=29, versions="1-3", flexible=2)
class DescribeAclsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None
    resources: list[DescribeAclsResource]


@struct
class DescribeAclsResource:
    """What is protected, and by which bindings."""

    resource_type: Int8
    resource_name: str
    pattern_type: Int8 = 3
    acls: list[AclDescription]


@struct
class AclDescription:
    principal: str
    host: str
    operation: Int8
    permission_type: Int8
