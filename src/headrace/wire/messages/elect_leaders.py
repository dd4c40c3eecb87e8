"""ElectLeaders (key 43): let partitions choose their leader anew (KIP-183)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int8, Int16, Int32


@request(key=43, versions="0-2", flexible=2)
class ElectLeadersRequest:
    """The partitions; null means all.

    v1 type of the election: 0 the preferred replica, 1 any replica when none is in sync (KIP-460)
    · v2 flexible
    """

    election_type: Int8 = v(1, default=0)
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: Int32 = 60_000


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic: str
    partitions: list[Int32]


@response(key=43, versions="0-2", flexible=2)
class ElectLeadersResponse:
    """The outcome per partition. v1 an error for the whole (KIP-460) · v2 flexible."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = v(1, default=0)
    replica_election_results: list[ReplicaElectionResult]


@struct
class ReplicaElectionResult:
    """The outcome for one topic."""

    topic: str
    partition_result: list[PartitionResult]


@struct
class PartitionResult:
    """The outcome for one partition."""

    partition_id: Int32
    error_code: Int16
    error_message: str | None
