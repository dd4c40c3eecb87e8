"""Heartbeat (key 12): a member of a classic group is alive, and learns of rebalances."""

from __future__ import annotations

from ..schema import request, response, v
from ..types import Int16, Int32


@request(key=12, versions="0-4", flexible=4)
class HeartbeatRequest:
    """A sign of life within a generation.

    v1 throttle time in the answer · v2 throttled after the answer (KIP-219) · v3 static members
    (KIP-345) · v4 flexible
    """

    group_id: str
    generation_id: Int32
    member_id: str
    group_instance_id: str | None = v(3, default=None)


@response(key=12, versions="0-4", flexible=4)
class HeartbeatResponse:
    """REBALANCE_IN_PROGRESS asks the member to join again. v1 throttle time · v4 flexible."""

    throttle_time_ms: Int32 = v(1, default=0)
    error_code: Int16
