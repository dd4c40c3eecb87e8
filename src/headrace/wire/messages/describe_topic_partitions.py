"""DescribeTopicPartitions (key 75): topics page by page (KIP-966)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Bool, Int16, Int32, Uuid


@request(key=75, versions="0", flexible=0)
class DescribeTopicPartitionsRequest:
    """Topics, all when none is named, from the cursor on; flexible from v0 on."""

    topics: list[TopicRequest]
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = None


@struct
class TopicRequest:
    """A topic to describe."""

    name: str


@struct
class Cursor:
    """The first partition of a page."""

    topic_name: str
    partition_index: Int32


@response(key=75, versions="0", flexible=0)
class DescribeTopicPartitionsResponse:
    """One page; `next_cursor` is null on the last."""

    throttle_time_ms: Int32 = 0
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: Cursor | None = None


@struct
class DescribeTopicPartitionsResponseTopic:
    """A topic and those of its partitions that fit the page."""

    error_code: Int16
    name: str | None
    topic_id: Uuid
    is_internal: Bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: Int32 = -2147483648


@struct
class DescribeTopicPartitionsResponsePartition:
    """A partition.

    The eligible leader replicas may lead although they left the ISR (KIP-966).
    """

    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = -1
    replica_nodes: list[Int32]
    isr_nodes: list[Int32]
    eligible_leader_replicas: list[Int32] | None = None
    last_known_elr: list[Int32] | None = None
    offline_replicas: list[Int32]
