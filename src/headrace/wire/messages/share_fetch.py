"""ShareFetch (key 78): acquire records of a share group, and acknowledge earlier ones (KIP-932)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int8, Int16, Int32, Int64, Records, Uuid


@request(key=78, versions="1-2", flexible=0)
class ShareFetchRequest:
    """Acknowledge what is named, then wait for records that nobody else holds.

    v1 the first stable version · v2 acquire mode (KIP-1206), renewed locks (KIP-1222)

    A session has the group's and the member's id for a name; its epoch is 0 to open it and -1 to
    close it. `share_acquire_mode`: 0 whole batches, 1 never more than `max_records`.
    """

    group_id: str | None = None
    member_id: str | None
    share_session_epoch: Int32
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = 0x7FFFFFFF
    max_records: Int32
    batch_size: Int32
    share_acquire_mode: Int8 = v(2, default=0, ignorable=True)
    is_renew_ack: Bool = v(2, default=False)
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]


@struct
class FetchTopic:
    """The partitions of one topic to read."""

    topic_id: Uuid
    partitions: list[FetchPartition]


@struct
class FetchPartition:
    """One partition to read, and what to acknowledge of it before."""

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


@struct
class ForgottenTopic:
    """Partitions that leave the share session."""

    topic_id: Uuid
    partitions: list[Int32]


@response(key=78, versions="1-2", flexible=0)
class ShareFetchResponse:
    """Batches per partition, and which of their records the member holds from now on."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None = None
    acquisition_lock_timeout_ms: Int32 = 0
    responses: list[ShareFetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]


@struct
class ShareFetchableTopicResponse:
    """The batches of one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


@struct
class PartitionData:
    """What was read and acquired of one partition, and what its acknowledgements came to."""

    partition_index: Int32
    error_code: Int16
    error_message: str | None = None
    acknowledge_error_code: Int16 = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch
    records: Records
    acquired_records: list[AcquiredRecords]


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now."""

    leader_id: Int32
    leader_epoch: Int32


@struct
class AcquiredRecords:
    """Records that the member holds; `delivery_count` is 1 at the first delivery."""

    first_offset: Int64
    last_offset: Int64
    delivery_count: Int16


@struct
class NodeEndpoint:
    """The address of a leader."""

    node_id: Int32
    host: str
    port: Int32
    rack: str | None = None
