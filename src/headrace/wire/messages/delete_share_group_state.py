"""DeleteShareGroupState (key 86): forget the state of share partitions."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32, Uuid


@request(key=86, versions="0", flexible=0)
class DeleteShareGroupStateRequest:
    """Sent by brokers alone (KIP-932)."""

    group_id: str
    topics: list[DeleteStateData]


@struct
class DeleteStateData:
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


@struct
class PartitionData:
    """One partition."""

    partition: Int32


@response(key=86, versions="0", flexible=0)
class DeleteShareGroupStateResponse:
    """The outcome per partition."""

    results: list[DeleteStateResult]


@struct
class DeleteStateResult:
    """The outcome for one topic."""

    topic_id: Uuid
    partitions: list[PartitionResult]


@struct
class PartitionResult:
    """The outcome for one partition."""

    partition: Int32
    error_code: Int16
    error_message: str | None = None
