"""ReadShareGroupState (key 84): the state of share partitions for a new leader."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int8, Int16, Int32, Int64, Uuid


@request(key=84, versions="0", flexible=0)
class ReadShareGroupStateRequest:
    """Sent by brokers alone (KIP-932)."""

    group_id: str
    topics: list[ReadStateData]


@struct
class ReadStateData:
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


@struct
class PartitionData:
    """One partition, and the epoch in which it is led."""

    partition: Int32
    leader_epoch: Int32


@response(key=84, versions="0", flexible=0)
class ReadShareGroupStateResponse:
    """The outcome per partition."""

    results: list[ReadStateResult]


@struct
class ReadStateResult:
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
    start_offset: Int64 = 0
    state_batches: list[StateBatch]


@struct
class StateBatch:
    """Offsets in the same state: 0 available · 2 acknowledged · 4 archived."""

    first_offset: Int64
    last_offset: Int64
    delivery_state: Int8
    delivery_count: Int16
