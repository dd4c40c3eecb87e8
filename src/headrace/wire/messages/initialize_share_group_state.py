"""InitializeShareGroupState (key 83): begin the state of share partitions."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32, Int64, Uuid


@request(key=83, versions="0", flexible=0)
class InitializeShareGroupStateRequest:
    """Sent by brokers alone (KIP-932)."""

    group_id: str
    topics: list[InitializeStateData]


@struct
class InitializeStateData:
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


@struct
class PartitionData:
    """One partition; a start offset of -1 leaves it to the first reader."""

    partition: Int32
    state_epoch: Int32
    start_offset: Int64


@response(key=83, versions="0", flexible=0)
class InitializeShareGroupStateResponse:
    """The outcome per partition."""

    results: list[InitializeStateResult]


@struct
class InitializeStateResult:
    """The outcome for one topic."""

    topic_id: Uuid
    partitions: list[PartitionResult]


@struct
class PartitionResult:
    """The outcome for one partition."""

    partition: Int32
    error_code: Int16
    error_message: str | None = None
