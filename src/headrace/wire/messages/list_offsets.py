"""ListOffsets (key 2): offsets by time, and the ends of a log."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int8, Int16, Int32, Int64


@request(key=2, versions="1-11", flexible=6)
class ListOffsetsRequest:
    """Which offset belongs to a timestamp, or to one of the special values below zero.

    v2 isolation level · v4 leader epoch (KIP-320) · v6 flexible · v7 -3, the record with the
    largest timestamp (KIP-734) · v8 -4, where the local log begins (KIP-405) · v9 -5, the last
    tiered offset (KIP-1005) · v10 timeout for tiered look-ups (KIP-1075) · v11 -6, the first offset
    not yet uploaded (KIP-1023)

    -1 is the end of the log, or the last stable offset for read_committed; -2 is its beginning.
    """

    replica_id: Int32
    isolation_level: Int8 = v(2, default=0)
    topics: list[ListOffsetsTopic]
    timeout_ms: Int32 = v(10, default=0, ignorable=True)


@struct
class ListOffsetsTopic:
    """The partitions of one topic to look up."""

    name: str
    partitions: list[ListOffsetsPartition]


@struct
class ListOffsetsPartition:
    """The time to look up in one partition."""

    partition_index: Int32
    current_leader_epoch: Int32 = v(4, default=-1, ignorable=True)
    timestamp: Int64


@response(key=2, versions="1-11", flexible=6)
class ListOffsetsResponse:
    """One offset per partition; -1 and -1 where no record is that young.

    v2 throttle time · v4 leader epoch (KIP-320) · v5 OFFSET_NOT_AVAILABLE (KIP-207) · v6 flexible
    """

    throttle_time_ms: Int32 = v(2, default=0)
    topics: list[ListOffsetsTopicResponse]


@struct
class ListOffsetsTopicResponse:
    """The offsets of one topic."""

    name: str
    partitions: list[ListOffsetsPartitionResponse]


@struct
class ListOffsetsPartitionResponse:
    """The offset that was found, and the timestamp of its record."""

    partition_index: Int32
    error_code: Int16
    timestamp: Int64 = -1
    offset: Int64 = -1
    leader_epoch: Int32 = v(4, default=-1)
