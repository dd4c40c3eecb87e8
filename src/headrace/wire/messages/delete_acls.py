"""DeleteAcls (key 31): remove the access control lists that match filters (KIP-140, KIP-290)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int8, Int16, Int32


@request(key=31, versions="1-3", flexible=2)
class DeleteAclsRequest:
    filters: list[DeleteAclsFilter]


@struct
class DeleteAclsFilter:
    """A filter; a name that is null matches all."""

    resource_type_filter: Int8
    resource_name_filter: str | None
    pattern_type_filter: Int8 = 3
    principal_filter: str | None
    host_filter: str | None
    operation: Int8
    permission_type: Int8


@response(key=31, versions="1-3", flexible=2)
class DeleteAclsResponse:
    throttle_time_ms: Int32 = 0
    filter_results: list[DeleteAclsFilterResult]


@struct
class DeleteAclsFilterResult:
    """What one filter has removed."""

    error_code: Int16
    error_message: str | None
    matching_acls: list[DeleteAclsMatchingAcl]


@struct
class DeleteAclsMatchingAcl:
    error_code: Int16
    error_message: str | None
    resource_type: Int8
    resource_name: str
    pattern_type: Int8 = 3
    principal: str
    host: str
    operation: Int8
    permission_type: Int8
