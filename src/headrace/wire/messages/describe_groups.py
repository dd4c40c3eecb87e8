"""DescribeGroups (key 15): classic groups with their members."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int16, Int32


@request(key=15, versions="0-6", flexible=5)
class DescribeGroupsRequest:
    """The groups of interest.

    v1 throttle time in the answer · v2 throttled after the answer (KIP-219) · v3 authorized
    operations (KIP-430) · v4 static members in the answer (KIP-345) · v5 flexible · v6 a group that
    does not exist is GROUP_ID_NOT_FOUND, with a message (KIP-1043)
    """

    groups: list[str]
    include_authorized_operations: Bool = v(3, default=False)


@response(key=15, versions="0-6", flexible=5)
class DescribeGroupsResponse:
    """One entry per group.

    v1 throttle time · v3 authorized operations (KIP-430) · v4 static members (KIP-345) · v5
    flexible · v6 error message (KIP-1043)
    """

    throttle_time_ms: Int32 = v(1, default=0)
    groups: list[DescribedGroup]


@struct
class DescribedGroup:
    """A group; `protocol_data` is the name of the protocol its members have agreed on."""

    error_code: Int16
    error_message: str | None = v(6, default=None)
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribedGroupMember]
    authorized_operations: Int32 = v(3, default=-0x80000000)


@struct
class DescribedGroupMember:
    """A member; metadata and assignment are as its protocol writes them."""

    member_id: str
    group_instance_id: str | None = v(4, default=None)
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes
