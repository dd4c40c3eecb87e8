"""DeleteRecords (key 21): forget the beginning of a log (KIP-107)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32, Int64


@request(key=21, versions="0-2", flexible=2)
class DeleteRecordsRequest:
    """Offsets before which everything may go. v2 flexible."""

    topics: list[DeleteRecordsTopic]
    timeout_ms: Int32


@struct
class DeleteRecordsTopic:
    """The partitions of one topic."""

    name: str
    partitions: list[DeleteRecordsPartition]


@struct
class DeleteRecordsPartition:
    """The new log start offset; -1 is the high watermark."""

    partition_index: Int32
    offset: Int64


@response(key=21, versions="0-2", flexible=2)
class DeleteRecordsResponse:
    """The outcome per partition. v2 flexible."""

    throttle_time_ms: Int32 = 0
    topics: list[DeleteRecordsTopicResult]


@struct
class DeleteRecordsTopicResult:
    """The outcome for one topic."""

    name: str
    partitions: list[DeleteRecordsPartitionResult]


@struct
class DeleteRecordsPartitionResult:
    """The lowest log start offset of all replicas that are alive."""

    partition_index: Int32
    low_watermark: Int64
    error_code: Int16
