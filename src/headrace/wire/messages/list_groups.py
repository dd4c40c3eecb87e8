"""ListGroups (key 16): the groups that a broker looks after."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32


@request(key=16, versions="0-5", flexible=3)
class ListGroupsRequest:
    """All groups, or those in some states and of some types; an empty filter keeps all.

    v1 throttle time in the answer · v2 throttled after the answer (KIP-219) · v3 flexible · v4
    states (KIP-518) · v5 types (KIP-848)
    """

    states_filter: list[str] = v(4, default=[])
    types_filter: list[str] = v(5, default=[])


@response(key=16, versions="0-5", flexible=3)
class ListGroupsResponse:
    """The groups. v1 throttle time · v3 flexible · v4 state (KIP-518) · v5 type (KIP-848)."""

    throttle_time_ms: Int32 = v(1, default=0)
    error_code: Int16
    groups: list[ListedGroup]


@struct
class ListedGroup:
    """One group; one that only stores offsets has an empty protocol type."""

    group_id: str
    protocol_type: str
    group_state: str = v(4, default="")
    group_type: str = v(5, default="")
