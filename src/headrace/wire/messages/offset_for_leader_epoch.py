"""OffsetForLeaderEpoch (key 23): where an epoch ended, to find divergence (KIP-101, KIP-279)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32, Int64


@request(key=23, versions="2-4", flexible=4)
class OffsetForLeaderEpochRequest:
    """The epochs to look up.

    v2 the asker's own leader epoch, for fencing (KIP-320) · v3 replica id (KIP-392) · v4 flexible

    A replica id of -2 is an asker who may look beyond the high watermark.
    """

    replica_id: Int32 = v(3, default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic]


@struct
class OffsetForLeaderTopic:
    """The partitions of one topic."""

    topic: str
    partitions: list[OffsetForLeaderPartition]


@struct
class OffsetForLeaderPartition:
    """The epoch to look up in one partition."""

    partition: Int32
    current_leader_epoch: Int32 = -1
    leader_epoch: Int32


@response(key=23, versions="2-4", flexible=4)
class OffsetForLeaderEpochResponse:
    """The end of each epoch. v4 flexible."""

    throttle_time_ms: Int32 = 0
    topics: list[OffsetForLeaderTopicResult]


@struct
class OffsetForLeaderTopicResult:
    """The answers for one topic."""

    topic: str
    partitions: list[EpochEndOffset]


@struct
class EpochEndOffset:
    """The largest epoch up to the one asked for, and its end; -1 and -1: unknown."""

    error_code: Int16
    partition: Int32
    leader_epoch: Int32 = -1
    end_offset: Int64 = -1
