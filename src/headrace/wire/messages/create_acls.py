"""CreateAcls (key 30): new access control lists, each with its own outcome (KIP-140, KIP-290)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int8, Int16, Int32


@request(key=30, versions="1-3", flexible=2)
class CreateAclsRequest:
    creations: list[AclCreation]


@struct
class AclCreation:
    """One binding of an operation to a principal."""

    resource_type: Int8
    resource_name: str
    resource_pattern_type: Int8 = 3
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


@response(key=30, versions="1-3", flexible=2)
class CreateAclsResponse:
    throttle_time_ms: Int32 = 0
    results: list[AclCreationResult]


@struct
class AclCreationResult:
    error_code: Int16
    error_message: str | None
