"""Produce (key 0): append record batches to partitions."""

from __future__ import annotations

from headrace.types import ZERO_UUID

from ..schema import request, response, struct, tagged, v
from ..types import Int16, Int32, Int64, Records, Uuid


@request(key=0, versions="3-13", flexible=9)
class ProduceRequest:
    """Batches for any number of partitions; with acks=0 there is no answer.

    v3 transactional id, batch format 2 · v4 KAFKA_STORAGE_ERROR may come back · v7 zstd (KIP-110)
    v8 errors per record in the answer (KIP-467) · v9 flexible · v10 new leader in the answer
    (KIP-951) · v11 TRANSACTION_ABORTABLE (KIP-890) · v12 adds its partitions to the transaction
    itself (KIP-890) · v13 topic ids instead of names (KIP-516)

    Versions 0-2 carried older record formats and have no declaration here. Brokers list them
    nevertheless, because librdkafka would not compress otherwise (KAFKA-18659).
    """

    transactional_id: str | None = None
    acks: Int16
    timeout_ms: Int32
    topic_data: list[TopicProduceData]


@struct
class TopicProduceData:
    """The batches of one topic."""

    name: str = v(0, 12, default="", ignorable=True)
    topic_id: Uuid = v(13, default=ZERO_UUID, ignorable=True)
    partition_data: list[PartitionProduceData]


@struct
class PartitionProduceData:
    """The batches of one partition, still in the frame they came in."""

    index: Int32
    records: Records | None


@response(key=0, versions="3-13", flexible=9)
class ProduceResponse:
    """Per partition, where the batch went or why it did not.

    v5 log start offset · v8 errors per record (KIP-467) · v9 flexible · v10 the current leader and
    its address beside NOT_LEADER_OR_FOLLOWER (KIP-951) · v13 topic ids (KIP-516)
    """

    responses: list[TopicProduceResponse]
    throttle_time_ms: Int32 = 0
    node_endpoints: list[NodeEndpoint] = tagged(0, since=10, default=[])


@struct
class TopicProduceResponse:
    """The outcome for one topic."""

    name: str = v(0, 12, default="")
    topic_id: Uuid = v(13, default=ZERO_UUID)
    partition_responses: list[PartitionProduceResponse]


@struct
class PartitionProduceResponse:
    """The outcome for one partition.

    `log_append_time_ms` is -1 where records keep the time of their creation.
    """

    index: Int32
    error_code: Int16
    base_offset: Int64
    log_append_time_ms: Int64 = -1
    log_start_offset: Int64 = v(5, default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = v(8, default=[])
    error_message: str | None = v(8, default=None)
    current_leader: LeaderIdAndEpoch | None = tagged(0, since=10, default=None)


@struct
class BatchIndexAndErrorMessage:
    """A record that caused its batch to be refused."""

    batch_index: Int32
    batch_index_error_message: str | None = None


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now."""

    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@struct
class NodeEndpoint:
    """Where a leader named above can be reached."""

    node_id: Int32
    host: str
    port: Int32
    rack: str | None = None
