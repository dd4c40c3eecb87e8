"""OffsetFetch (key 9): how far groups have read."""

from __future__ import annotations

from headrace.types import ZERO_UUID

from ..schema import request, response, struct, v
from ..types import Bool, Int16, Int32, Int64, Uuid


@request(key=9, versions="1-10", flexible=6)
class OffsetFetchRequest:
    """Partitions of one group, or of several; null instead of topics asks for all there are.

    v2 null topics, an error for the whole (KIP-88) · v3 throttle time in the answer · v4 throttled
    after the answer (KIP-219) · v5 leader epoch in the answer (KIP-320) · v6 flexible · v7 offsets
    that a transaction may still change can be refused (KIP-447) · v8 several groups (KIP-709) · v9
    member and its epoch; STALE_MEMBER_EPOCH may come back (KIP-848) · v10 topic ids instead of
    names (KIP-848)
    """

    group_id: str = v(0, 7, default="")
    topics: list[OffsetFetchRequestTopic] | None = v(0, 7, default=[], nullable=2)
    groups: list[OffsetFetchRequestGroup] = v(8, default=[])
    require_stable: Bool = v(7, default=False)


@struct
class OffsetFetchRequestTopic:
    """Partitions of one topic, up to v7."""

    name: str
    partition_indexes: list[Int32]


@struct
class OffsetFetchRequestGroup:
    """What is asked of one group; a member of the new protocol names itself and its epoch."""

    group_id: str
    member_id: str | None = v(9, default=None, ignorable=True)
    member_epoch: Int32 = v(9, default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None


@struct
class OffsetFetchRequestTopics:
    """Partitions of one topic, from v8 on."""

    name: str = v(0, 9, default="", ignorable=True)
    topic_id: Uuid = v(10, default=ZERO_UUID, ignorable=True)
    partition_indexes: list[Int32]


@response(key=9, versions="1-10", flexible=6)
class OffsetFetchResponse:
    """The offsets, up to v7 of the one group, from v8 on by group.

    v2 an error for the whole (KIP-88) · v3 throttle time · v5 leader epoch (KIP-320) · v6 flexible
    · v7 UNSTABLE_OFFSET_COMMIT may come back (KIP-447) · v8 several groups (KIP-709) · v10 topic
    ids (KIP-848)
    """

    throttle_time_ms: Int32 = v(3, default=0)
    topics: list[OffsetFetchResponseTopic] = v(0, 7, default=[])
    error_code: Int16 = v(2, 7, default=0)
    groups: list[OffsetFetchResponseGroup] = v(8, default=[])


@struct
class OffsetFetchResponseTopic:
    """The offsets of one topic, up to v7."""

    name: str
    partitions: list[OffsetFetchResponsePartition]


@struct
class OffsetFetchResponsePartition:
    """An offset up to v7; -1 where the group has none."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = v(5, default=-1)
    metadata: str | None
    error_code: Int16


@struct
class OffsetFetchResponseGroup:
    """The offsets of one group; its error holds for all of them."""

    group_id: str
    topics: list[OffsetFetchResponseTopics]
    error_code: Int16 = 0


@struct
class OffsetFetchResponseTopics:
    """The offsets of one topic, from v8 on."""

    name: str = v(0, 9, default="")
    topic_id: Uuid = v(10, default=ZERO_UUID)
    partitions: list[OffsetFetchResponsePartitions]


@struct
class OffsetFetchResponsePartitions:
    """An offset from v8 on; -1 where the group has none."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = -1
    metadata: str | None
    error_code: Int16
