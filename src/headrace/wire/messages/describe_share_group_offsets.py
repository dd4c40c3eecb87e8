"""DescribeShareGroupOffsets (key 90): how far share groups are (KIP-932)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32, Int64, Uuid


@request(key=90, versions="0-1", flexible=0)
class DescribeShareGroupOffsetsRequest:
    """The groups of interest. v1 the answer tells the lag (KIP-1226)."""

    groups: list[DescribeShareGroupOffsetsRequestGroup]


@struct
class DescribeShareGroupOffsetsRequestGroup:
    """One group, and the topics of interest; null is all that the group has read."""

    group_id: str
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None


@struct
class DescribeShareGroupOffsetsRequestTopic:
    """Partitions of one topic."""

    topic_name: str
    partitions: list[Int32]


@response(key=90, versions="0-1", flexible=0)
class DescribeShareGroupOffsetsResponse:
    """One entry per group. v1 lag (KIP-1226)."""

    throttle_time_ms: Int32 = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup]


@struct
class DescribeShareGroupOffsetsResponseGroup:
    """The topics of one group, or why they cannot be shown."""

    group_id: str
    topics: list[DescribeShareGroupOffsetsResponseTopic]
    error_code: Int16 = 0
    error_message: str | None = None


@struct
class DescribeShareGroupOffsetsResponseTopic:
    """Partitions of one topic."""

    topic_name: str
    topic_id: Uuid
    partitions: list[DescribeShareGroupOffsetsResponsePartition]


@struct
class DescribeShareGroupOffsetsResponsePartition:
    """Everything before `start_offset` is done; -1 is "not begun", and a lag that is not known."""

    partition_index: Int32
    start_offset: Int64
    leader_epoch: Int32
    lag: Int64 = v(1, default=-1, ignorable=True)
    error_code: Int16 = 0
    error_message: str | None = None
