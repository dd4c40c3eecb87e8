"""DeleteTopics (key 20): delete topics by name or id."""

from __future__ import annotations

from headrace.types import ZERO_UUID

from ..schema import request, response, struct, v
from ..types import Int16, Int32, Uuid


@request(key=20, versions="1-6", flexible=4)
class DeleteTopicsRequest:
    """Topics to delete: `topic_names` up to v5, `topics` from v6 on.

    v4 flexible · v5 may be throttled (KIP-599) · v6 names or ids (KIP-516)
    """

    topics: list[DeleteTopicState] = v(6, default=[])
    topic_names: list[str] = v(0, 5, default=[], ignorable=True)
    timeout_ms: Int32


@struct
class DeleteTopicState:
    """A topic by its name, or with a null name by its id."""

    name: str | None = None
    topic_id: Uuid = ZERO_UUID


@response(key=20, versions="1-6", flexible=4)
class DeleteTopicsResponse:
    """The outcome per topic.

    v3 TOPIC_DELETION_DISABLED · v4 flexible · v5 error message (KIP-599) · v6 topic id (KIP-516)
    """

    throttle_time_ms: Int32 = 0
    responses: list[DeletableTopicResult]


@struct
class DeletableTopicResult:
    """The outcome for one topic; the name is null where only an id is known."""

    name: str | None = v(nullable=6)
    topic_id: Uuid = v(6, default=ZERO_UUID)
    error_code: Int16
    error_message: str | None = v(5, default=None)
