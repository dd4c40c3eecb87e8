"""CreatePartitions (key 37): add partitions to topics (KIP-195)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Bool, Int16, Int32


@request(key=37, versions="0-3", flexible=2)
class CreatePartitionsRequest:
    """Topics and the number of partitions they shall have.

    v2 flexible · v3 may be throttled (KIP-599)
    """

    topics: list[CreatePartitionsTopic]
    timeout_ms: Int32
    validate_only: Bool


@struct
class CreatePartitionsTopic:
    """`count` is the new total; null assignments leave placement to the broker."""

    name: str
    count: Int32
    assignments: list[CreatePartitionsAssignment] | None = None


@struct
class CreatePartitionsAssignment:
    """The brokers of one new partition, the preferred leader first."""

    broker_ids: list[Int32]


@response(key=37, versions="0-3", flexible=2)
class CreatePartitionsResponse:
    """The outcome per topic. v2 flexible."""

    throttle_time_ms: Int32 = 0
    results: list[CreatePartitionsTopicResult]


@struct
class CreatePartitionsTopicResult:
    """The outcome for one topic."""

    name: str
    error_code: Int16
    error_message: str | None = None
