"""DeleteGroups (key 42): forget groups and their offsets (KIP-229)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32


@request(key=42, versions="0-2", flexible=2)
class DeleteGroupsRequest:
    """The groups to delete. v1 throttled after the answer (KIP-219) · v2 flexible."""

    groups_names: list[str]


@response(key=42, versions="0-2", flexible=2)
class DeleteGroupsResponse:
    """The outcome per group. v2 flexible."""

    throttle_time_ms: Int32 = 0
    results: list[DeletableGroupResult]


@struct
class DeletableGroupResult:
    """The outcome for one group; one that has members is NON_EMPTY_GROUP."""

    group_id: str
    error_code: Int16
