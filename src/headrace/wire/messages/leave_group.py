"""LeaveGroup (key 13): members go without waiting for their session to end."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32


@request(key=13, versions="0-5", flexible=4)
class LeaveGroupRequest:
    """One member leaves, or an administrator removes several.

    v1 throttle time in the answer · v2 throttled after the answer (KIP-219) · v3 several members,
    static ones by their instance (KIP-345) · v4 flexible · v5 why they leave (KIP-800)
    """

    group_id: str
    member_id: str = v(0, 2, default="")
    members: list[MemberIdentity] = v(3, default=[])


@struct
class MemberIdentity:
    """Who leaves; the member id may be empty beside a group instance id."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = v(5, default=None, ignorable=True)


@response(key=13, versions="0-5", flexible=4)
class LeaveGroupResponse:
    """Who has left.

    v1 throttle time · v3 an outcome per member; up to v2 that of the only one is the error of the
    whole (KIP-345) · v4 flexible
    """

    throttle_time_ms: Int32 = v(1, default=0)
    error_code: Int16
    members: list[MemberResponse] = v(3, default=[])


@struct
class MemberResponse:
    """The outcome for one member."""

    member_id: str
    group_instance_id: str | None
    error_code: Int16
