"""SyncGroup (key 14): the leader of a classic group hands out work, all others receive it."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32


@request(key=14, versions="0-5", flexible=4)
class SyncGroupRequest:
    """From the leader with an assignment for each member, from all others with none.

    v1 throttle time in the answer · v2 throttled after the answer (KIP-219) · v3 static members
    (KIP-345) · v4 flexible · v5 protocol type and name, to notice a wrong group (KIP-559)
    """

    group_id: str
    generation_id: Int32
    member_id: str
    group_instance_id: str | None = v(3, default=None)
    protocol_type: str | None = v(5, default=None, ignorable=True)
    protocol_name: str | None = v(5, default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment]


@struct
class SyncGroupRequestAssignment:
    """The work of one member, in a form that only members understand."""

    member_id: str
    assignment: bytes


@response(key=14, versions="0-5", flexible=4)
class SyncGroupResponse:
    """What this member shall do.

    v1 throttle time · v4 flexible · v5 protocol type and name (KIP-559)
    """

    throttle_time_ms: Int32 = v(1, default=0)
    error_code: Int16
    protocol_type: str | None = v(5, default=None)
    protocol_name: str | None = v(5, default=None)
    assignment: bytes
