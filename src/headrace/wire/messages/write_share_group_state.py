"""WriteShareGroupState (key 85): changes in the state of share partitions."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int8, Int16, Int32, Int64, Uuid


@request(key=85, versions="0-1", flexible=0)
class WriteShareGroupStateRequest:
    """Sent by brokers alone (KIP-932). v1 the number of delivered records (KIP-1226)"""

    group_id: str
    topics: list[WriteStateData]


@struct
class WriteStateData:
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


@struct
class PartitionData:
    """One partition; a start offset of -1 leaves the known one."""

    partition: Int32
    state_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64
    delivery_complete_count: Int32 = v(1, default=-1, ignorable=True)
    state_batches: list[StateBatch]


@struct
class StateBatch:
    """Offsets in the same state: 0 available · 2 acknowledged · 4 archived."""

    first_offset: Int64
    last_offset: Int64
    delivery_state: Int8
    delivery_count: Int16


@response(key=85, versions="0-1", flexible=0)
class WriteShareGroupStateResponse:
    """The outcome per partition."""

    results: list[WriteStateResult]


@struct
class WriteStateResult:
    """The outcome for one topic."""

    topic_id: Uuid
    partitions: list[PartitionResult]


@struct
class PartitionResult:
    """The outcome for one partition."""

    partition: Int32
    error_code: Int16
    error_message: str | None = None
