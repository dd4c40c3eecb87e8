"""ReadShareGroupStateSummary (key 87): epochs and start offsets of share partitions."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32, Int64, Uuid


@request(key=87, versions="0-1", flexible=0)
class ReadShareGroupStateSummaryRequest:
    """Sent by brokers alone (KIP-932). v1 the number of delivered records (KIP-1226)"""

    group_id: str
    topics: list[ReadStateSummaryData]


@struct
class ReadStateSummaryData:
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


@struct
class PartitionData:
    """One partition; the epoch is -1 if its leader does not ask."""

    partition: Int32
    leader_epoch: Int32


@response(key=87, versions="0-1", flexible=0)
class ReadShareGroupStateSummaryResponse:
    """The outcome per partition."""

    results: list[ReadStateSummaryResult]


@struct
class ReadStateSummaryResult:
    """The outcome for one topic."""

    topic_id: Uuid
    partitions: list[PartitionResult]


@struct
class PartitionResult:
    """The outcome for one partition."""

    partition: Int32
    error_code: Int16
    error_message: str | None = None
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = v(1, default=-1, ignorable=True)
