"""ListPartitionReassignments (key 46): replicas that are on the move (KIP-455)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32


@request(key=46, versions="0", flexible=0)
class ListPartitionReassignmentsRequest:
    """The partitions of interest; null means all."""

    timeout_ms: Int32 = 60_000
    topics: list[ListPartitionReassignmentsTopics] | None


@struct
class ListPartitionReassignmentsTopics:
    """Partitions of one topic."""

    name: str
    partition_indexes: list[Int32]


@response(key=46, versions="0", flexible=0)
class ListPartitionReassignmentsResponse:
    """Only partitions whose replicas are changing; all others are left out."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None
    topics: list[OngoingTopicReassignment]


@struct
class OngoingTopicReassignment:
    """The changing partitions of one topic."""

    name: str
    partitions: list[OngoingPartitionReassignment]


@struct
class OngoingPartitionReassignment:
    """The replicas of now, those that come and those that go."""

    partition_index: Int32
    replicas: list[Int32]
    adding_replicas: list[Int32]
    removing_replicas: list[Int32]
