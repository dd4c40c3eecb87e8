"""OffsetCommit (key 8): a group remembers how far it has read."""

from __future__ import annotations

from headrace.types import ZERO_UUID

from ..schema import request, response, struct, v
from ..types import Int16, Int32, Int64, Uuid


@request(key=8, versions="2-10", flexible=8)
class OffsetCommitRequest:
    """Offsets of any number of partitions, from a member or from outside of the group.

    v2 retention time · v3 throttle time in the answer · v4 throttled after the answer (KIP-219)
    · v5 no retention time (KIP-211) · v6 leader epoch (KIP-320) · v7 static members (KIP-345) · v8
    flexible · v9 consumers of the new protocol with their epoch; STALE_MEMBER_EPOCH and
    GROUP_ID_NOT_FOUND may come back (KIP-848) · v10 topic ids instead of names (KIP-848)

    The generation is -1 and the member id empty when the commit comes from outside.
    """

    group_id: str
    generation_id_or_member_epoch: Int32 = -1
    member_id: str
    group_instance_id: str | None = v(7, default=None)
    retention_time_ms: Int64 = v(2, 4, default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic]


@struct
class OffsetCommitRequestTopic:
    """The offsets of one topic."""

    name: str = v(0, 9, default="", ignorable=True)
    topic_id: Uuid = v(10, default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitRequestPartition]


@struct
class OffsetCommitRequestPartition:
    """The offset to read next in one partition, with whatever the client wants to keep beside."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = v(6, default=-1, ignorable=True)
    committed_metadata: str | None


@response(key=8, versions="2-10", flexible=8)
class OffsetCommitResponse:
    """The outcome per partition. v3 throttle time · v8 flexible · v10 topic ids (KIP-848)."""

    throttle_time_ms: Int32 = v(3, default=0)
    topics: list[OffsetCommitResponseTopic]


@struct
class OffsetCommitResponseTopic:
    """The outcome for one topic."""

    name: str = v(0, 9, default="")
    topic_id: Uuid = v(10, default=ZERO_UUID)
    partitions: list[OffsetCommitResponsePartition]


@struct
class OffsetCommitResponsePartition:
    """The outcome for one partition."""

    partition_index: Int32
    error_code: Int16
