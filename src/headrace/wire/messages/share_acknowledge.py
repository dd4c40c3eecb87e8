"""ShareAcknowledge (key 79): say what became of records of a share group (KIP-932)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int8, Int16, Int32, Int64, Uuid


@request(key=79, versions="1-2", flexible=0)
class ShareAcknowledgeRequest:
    """v1 the first stable version · v2 renewed locks (KIP-1222)"""

    group_id: str | None = None
    member_id: str | None
    share_session_epoch: Int32
    is_renew_ack: Bool = v(2, default=False)
    topics: list[AcknowledgeTopic]


@struct
class AcknowledgeTopic:
    """The partitions of one topic."""

    topic_id: Uuid
    partitions: list[AcknowledgePartition]


@struct
class AcknowledgePartition:
    """What to acknowledge of one partition."""

    partition_index: Int32
    acknowledgement_batches: list[AcknowledgementBatch]


@struct
class AcknowledgementBatch:
    """What became of records: one type for all of them, or one for each offset.

    0 there is no such record · 1 accept · 2 release · 3 reject · 4 renew
    """

    first_offset: Int64
    last_offset: Int64
    acknowledge_types: list[Int8]


@response(key=79, versions="1-2", flexible=0)
class ShareAcknowledgeResponse:
    """The outcome per partition. v2 how long a renewed lock lasts (KIP-1222)"""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None = None
    acquisition_lock_timeout_ms: Int32 = v(2, default=0, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[NodeEndpoint]


@struct
class ShareAcknowledgeTopicResponse:
    """The outcome for one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


@struct
class PartitionData:
    """The outcome for one partition."""

    partition_index: Int32
    error_code: Int16
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now."""

    leader_id: Int32
    leader_epoch: Int32


@struct
class NodeEndpoint:
    """The address of a leader."""

    node_id: Int32
    host: str
    port: Int32
    rack: str | None = None
