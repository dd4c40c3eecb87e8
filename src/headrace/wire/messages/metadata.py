"""Metadata (key 3): brokers, topics, and who leads which partition."""

from __future__ import annotations

from headrace.types import ZERO_UUID

from ..schema import request, response, struct, v
from ..types import Bool, Int16, Int32, Uuid


@request(key=3, versions="0-13", flexible=9)
class MetadataRequest:
    """Ask for some topics, all or none.

    v0 an empty list means all topics · v1 null means all, empty means none · v4 topics may be
    created on the way · v8 authorized operations (KIP-430) · v9 flexible · v10 topic ids, not yet
    to be asked by · v11 the cluster's operations moved to DescribeCluster (KIP-700) · v12 ask by
    topic id (KIP-516)
    """

    topics: list[MetadataRequestTopic] | None = v(nullable=1)
    allow_auto_topic_creation: Bool = v(4, default=True)
    include_cluster_authorized_operations: Bool = v(8, 10, default=False)
    include_topic_authorized_operations: Bool = v(8, default=False)


@struct
class MetadataRequestTopic:
    """A topic by its name, or by its id from v12 on."""

    topic_id: Uuid = v(10, default=ZERO_UUID, ignorable=True)
    name: str | None = v(nullable=10)


@response(key=3, versions="0-13", flexible=9)
class MetadataResponse:
    """The cluster as this broker sees it.

    v1 racks, controller, internal topics · v2 cluster id · v3 throttle time · v5 offline replicas
    (KIP-112) · v7 leader epochs (KIP-320) · v8 authorized operations (KIP-430) · v9 flexible ·
    v10 topic ids (KIP-516) · v13 an error for the whole, REBOOTSTRAP_REQUIRED (KIP-1102)

    The least int32 in place of authorized operations says that nobody asked for them.
    """

    throttle_time_ms: Int32 = v(3, default=0)
    brokers: list[MetadataResponseBroker]
    cluster_id: str | None = v(2, default=None)
    controller_id: Int32 = v(1, default=-1)
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: Int32 = v(8, 10, default=-2147483648)
    error_code: Int16 = v(13, default=0)


@struct
class MetadataResponseBroker:
    """A broker and the address it advertises on the listener of the request."""

    node_id: Int32
    host: str
    port: Int32
    rack: str | None = v(1, default=None)


@struct
class MetadataResponseTopic:
    """A topic; the name is null when an id was asked that nobody knows."""

    error_code: Int16
    name: str | None = v(nullable=12)
    topic_id: Uuid = v(10, default=ZERO_UUID)
    is_internal: Bool = v(1, default=False)
    partitions: list[MetadataResponsePartition] = v(may_be_kept=True)
    topic_authorized_operations: Int32 = v(8, default=-2147483648)


@struct
class MetadataResponsePartition:
    """A partition: leader (-1: none), replicas, and those in sync."""

    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = v(7, default=-1)
    replica_nodes: list[Int32]
    isr_nodes: list[Int32]
    offline_replicas: list[Int32] = v(5, default=[])
