"""DeleteShareGroupOffsets (key 92): forget how far a share group is in topics (KIP-932)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32, Uuid


@request(key=92, versions="0", flexible=0)
class DeleteShareGroupOffsetsRequest:
    """Topics that an empty share group shall forget."""

    group_id: str
    topics: list[DeleteShareGroupOffsetsRequestTopic]


@struct
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: str


@response(key=92, versions="0", flexible=0)
class DeleteShareGroupOffsetsResponse:
    """The outcome per topic, or for the whole."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic]


@struct
class DeleteShareGroupOffsetsResponseTopic:
    """One topic; one that does not exist has no id."""

    topic_name: str
    topic_id: Uuid
    error_code: Int16 = 0
    error_message: str | None = None
