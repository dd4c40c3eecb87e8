"""TxnOffsetCommit (key 28): offsets that count once their transaction commits (KIP-98)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32, Int64


@request(key=28, versions="0-5", flexible=3)
class TxnOffsetCommitRequest:
    """Offsets of a group, within the transaction of a producer.

    v1 throttled after the answer (KIP-219) · v2 leader epoch (KIP-320) · v3 flexible, generation
    and member, so that a member of the past is fenced (KIP-447) · v4 TRANSACTION_ABORTABLE may come
    back (KIP-890) · v5 adds the group to the transaction itself (KIP-890)
    """

    transactional_id: str
    group_id: str
    producer_id: Int64
    producer_epoch: Int16
    generation_id: Int32 = v(3, default=-1)
    member_id: str = v(3, default="")
    group_instance_id: str | None = v(3, default=None)
    topics: list[TxnOffsetCommitRequestTopic]


@struct
class TxnOffsetCommitRequestTopic:
    """The offsets of one topic."""

    name: str
    partitions: list[TxnOffsetCommitRequestPartition]


@struct
class TxnOffsetCommitRequestPartition:
    """The offset to read next in one partition."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = v(2, default=-1, ignorable=True)
    committed_metadata: str | None


@response(key=28, versions="0-5", flexible=3)
class TxnOffsetCommitResponse:
    """The outcome per partition. v3 flexible."""

    throttle_time_ms: Int32 = 0
    topics: list[TxnOffsetCommitResponseTopic]


@struct
class TxnOffsetCommitResponseTopic:
    """The outcome for one topic."""

    name: str
    partitions: list[TxnOffsetCommitResponsePartition]


@struct
class TxnOffsetCommitResponsePartition:
    """The outcome for one partition."""

    partition_index: Int32
    error_code: Int16
