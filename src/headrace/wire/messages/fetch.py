"""Fetch (key 1): read record batches; consumers and followers alike."""

from __future__ import annotations

from headrace.types import ZERO_UUID

from ..schema import request, response, struct, tagged, v
from ..types import Int8, Int16, Int32, Int64, Records, Uuid


@request(key=1, versions="4-18", flexible=12)
class FetchRequest:
    """Wait until `min_bytes` are there or `max_wait_ms` have passed, then read.

    v4 isolation level, batch format 2 · v5 follower's log start offset · v7 fetch sessions
    (KIP-227) · v9 leader epoch (KIP-320) · v10 zstd (KIP-110) · v11 reading from a near replica
    (KIP-392) · v12 flexible, last fetched epoch (KIP-595) · v13 topic ids instead of names
    (KIP-516) · v14 OFFSET_MOVED_TO_TIERED_STORAGE may come back (KIP-405) · v15 replica state
    replaces replica id (KIP-903) · v17 directory id (KIP-853) · v18 follower's high watermark
    (KIP-1166)

    `replica_id` is -1 for consumers, and so is that of `replica_state`, which they leave out.
    """

    cluster_id: str | None = tagged(0, since=12, default=None, ignorable=True)
    replica_id: Int32 = v(0, 14, default=-1)
    replica_state: ReplicaState | None = tagged(1, since=15, default=None)
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = 0x7FFFFFFF
    isolation_level: Int8 = 0
    session_id: Int32 = v(7, default=0, ignorable=True)
    session_epoch: Int32 = v(7, default=-1, ignorable=True)
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic] = v(7, default=[])
    rack_id: str = v(11, default="", ignorable=True)


@struct
class ReplicaState:
    """Which follower fetches, in which of its lives."""

    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


@struct
class FetchTopic:
    """The partitions of one topic to read."""

    topic: str = v(0, 12, default="", ignorable=True)
    topic_id: Uuid = v(13, default=ZERO_UUID, ignorable=True)
    partitions: list[FetchPartition]


@struct
class FetchPartition:
    """Where to read in one partition.

    `last_fetched_epoch` lets the leader find a follower's divergence without another request.
    """

    partition: Int32
    current_leader_epoch: Int32 = v(9, default=-1, ignorable=True)
    fetch_offset: Int64
    last_fetched_epoch: Int32 = v(12, default=-1)
    log_start_offset: Int64 = v(5, default=-1, ignorable=True)
    partition_max_bytes: Int32
    replica_directory_id: Uuid = tagged(0, since=17, default=ZERO_UUID, ignorable=True)
    high_watermark: Int64 = tagged(1, since=18, default=0x7FFF_FFFF_FFFF_FFFF, ignorable=True)


@struct
class ForgottenTopic:
    """Partitions that leave the fetch session."""

    topic: str = v(0, 12, default="", ignorable=True)
    topic_id: Uuid = v(13, default=ZERO_UUID, ignorable=True)
    partitions: list[Int32]


@response(key=1, versions="4-18", flexible=12)
class FetchResponse:
    """Batches per partition; inside a session only partitions with news.

    v5 log start offset · v7 sessions (KIP-227) · v11 preferred read replica (KIP-392) · v12
    flexible, diverging epoch, current leader (KIP-595) · v13 topic ids (KIP-516) · v16 addresses of
    new leaders (KIP-951)
    """

    throttle_time_ms: Int32 = 0
    error_code: Int16 = v(7, default=0)
    session_id: Int32 = v(7, default=0)
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint] = tagged(0, since=16, default=[])


@struct
class FetchableTopicResponse:
    """The batches of one topic."""

    topic: str = v(0, 12, default="")
    topic_id: Uuid = v(13, default=ZERO_UUID)
    partitions: list[PartitionData]


@struct
class PartitionData:
    """What was read of one partition.

    `aborted_transactions` is null for read_uncommitted and sorted by first offset otherwise.
    """

    partition_index: Int32
    error_code: Int16
    high_watermark: Int64
    last_stable_offset: Int64 = -1
    log_start_offset: Int64 = v(5, default=-1)
    diverging_epoch: EpochEndOffset | None = tagged(0, since=12, default=None)
    current_leader: LeaderIdAndEpoch | None = tagged(1, since=12, default=None)
    snapshot_id: SnapshotId | None = tagged(2, since=12, default=None)
    aborted_transactions: list[AbortedTransaction] | None = None
    preferred_read_replica: Int32 = v(11, default=-1)
    records: Records | None


@struct
class EpochEndOffset:
    """The last epoch, and its end, on which leader and follower agree."""

    epoch: Int32 = -1
    end_offset: Int64 = -1


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now."""

    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@struct
class SnapshotId:
    """The snapshot to load instead, where the log no longer reaches back."""

    end_offset: Int64 = -1
    epoch: Int32 = -1


@struct
class AbortedTransaction:
    """A transaction whose records from `first_offset` on must be skipped."""

    producer_id: Int64
    first_offset: Int64


@struct
class NodeEndpoint:
    """Where a leader named above can be reached."""

    node_id: Int32
    host: str
    port: Int32
    rack: str | None = None
