"""FindCoordinator (key 10): which broker looks after a group or a transactional id."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int8, Int16, Int32


@request(key=10, versions="0-6", flexible=3)
class FindCoordinatorRequest:
    """Ask for the coordinator of one key, or of several.

    v1 transactional ids as well (KIP-98) · v4 several keys at once (KIP-699) · v6 share groups
    (KIP-932)
    """

    key: str = v(0, 3, default="")
    key_type: Int8 = v(1, default=0)
    coordinator_keys: list[str] = v(4, default=[])


@response(key=10, versions="0-6", flexible=3)
class FindCoordinatorResponse:
    """Where to go, or why nowhere; up to v3 for the one key, from v4 on for each."""

    throttle_time_ms: Int32 = v(1, default=0)
    error_code: Int16 = v(0, 3, default=0)
    error_message: str | None = v(1, 3, default=None)
    node_id: Int32 = v(0, 3, default=0)
    host: str = v(0, 3, default="")
    port: Int32 = v(0, 3, default=0)
    coordinators: list[Coordinator] = v(4, default=[])


@struct
class Coordinator:
    """The answer for one key."""

    key: str
    node_id: Int32
    host: str
    port: Int32
    error_code: Int16
    error_message: str | None
