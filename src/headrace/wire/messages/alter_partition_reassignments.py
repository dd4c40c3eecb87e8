"""AlterPartitionReassignments (key 45): give partitions to other brokers (KIP-455)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int16, Int32


@request(key=45, versions="0-1", flexible=0)
class AlterPartitionReassignmentsRequest:
    """v1 says whether a partition may get more or fewer replicas than it has (KIP-860)."""

    timeout_ms: Int32 = 60_000
    allow_replication_factor_change: Bool = v(1, default=True)
    topics: list[ReassignableTopic]


@struct
class ReassignableTopic:
    """Partitions of one topic."""

    name: str
    partitions: list[ReassignablePartition]


@struct
class ReassignablePartition:
    """The replicas of the future, the preferred leader first; null calls a change off."""

    partition_index: Int32
    replicas: list[Int32] | None = None


@response(key=45, versions="0-1", flexible=0)
class AlterPartitionReassignmentsResponse:
    """An error for the whole, and one for each partition. v1 repeats the request's permission."""

    throttle_time_ms: Int32 = 0
    allow_replication_factor_change: Bool = v(1, default=True)
    error_code: Int16
    error_message: str | None
    responses: list[ReassignableTopicResponse]


@struct
class ReassignableTopicResponse:
    """The outcomes of one topic."""

    name: str
    partitions: list[ReassignablePartitionResponse]


@struct
class ReassignablePartitionResponse:
    """Whether the change of one partition has begun."""

    partition_index: Int32
    error_code: Int16
    error_message: str | None
