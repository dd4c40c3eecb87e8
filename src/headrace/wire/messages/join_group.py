"""JoinGroup (key 11): enter a classic group, or its next generation."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int16, Int32


@request(key=11, versions="0-9", flexible=6)
class JoinGroupRequest:
    """A member says what it can speak, and waits until the group is complete.

    v1 rebalance timeout (KIP-62) · v2 throttle time in the answer · v3 throttled after the answer
    (KIP-219) · v4 a member without id comes back with the one it is given (KIP-394) · v5 static
    members (KIP-345) · v6 flexible · v7 protocol type in the answer (KIP-559) · v8 why it joins
    (KIP-800) · v9 a returning leader may be told not to assign (KIP-814)

    In v0 the session timeout is the rebalance timeout as well; -1 says that it was not sent.
    """

    group_id: str
    session_timeout_ms: Int32
    rebalance_timeout_ms: Int32 = v(1, default=-1, ignorable=True)
    member_id: str
    group_instance_id: str | None = v(5, default=None)
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    reason: str | None = v(8, default=None, ignorable=True)


@struct
class JoinGroupRequestProtocol:
    """A protocol of the member, most wanted first; only members understand the metadata."""

    name: str
    metadata: bytes


@response(key=11, versions="0-9", flexible=6)
class JoinGroupResponse:
    """The generation, and for its leader the members to assign work to.

    v2 throttle time · v5 static members (KIP-345) · v6 flexible · v7 protocol type, and no protocol
    name where there is none (KIP-559) · v9 whether the leader shall not assign (KIP-814)
    """

    throttle_time_ms: Int32 = v(2, default=0)
    error_code: Int16
    generation_id: Int32 = -1
    protocol_type: str | None = v(7, default=None)
    protocol_name: str | None = v(nullable=7)
    leader: str
    skip_assignment: Bool = v(9, default=False)
    member_id: str
    members: list[JoinGroupResponseMember]


@struct
class JoinGroupResponseMember:
    """A member as the leader sees it: its metadata is that of the chosen protocol."""

    member_id: str
    group_instance_id: str | None = v(5, default=None)
    metadata: bytes
