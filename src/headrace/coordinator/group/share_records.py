"""The records of share groups in `__consumer_offsets`; `records` has their numbers.

A module of its own only because `records` would be too long with it.
"""

from __future__ import annotations

from typing import TypeAlias

from headrace.coordinator.group.modern.records import TargetPartitions
from headrace.wire.schema import data, struct
from headrace.wire.types import Int8, Int32, Int64, Uuid


@data(versions="0")
class ShareGroupMemberMetadataKey:
    group_id: str
    member_id: str


@data(versions="0", flexible=0)
class ShareGroupMemberMetadataValue:
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]


@data(versions="0")
class ShareGroupMetadataKey:
    group_id: str


@data(versions="0", flexible=0)
class ShareGroupMetadataValue:
    epoch: Int32
    # Of the subscribed topics: another one means that the group must be assigned anew (KIP-1101).
    metadata_hash: Int64


@data(versions="0")
class ShareGroupTargetAssignmentMetadataKey:
    group_id: str


@data(versions="0")
class ShareGroupTargetAssignmentMemberKey:
    group_id: str
    member_id: str


@data(versions="0")
class ShareGroupCurrentMemberAssignmentKey:
    group_id: str
    member_id: str


@data(versions="0", flexible=0)
class ShareGroupCurrentMemberAssignmentValue:
    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: list[TargetPartitions]


@data(versions="0")
class ShareGroupStatePartitionMetadataKey:
    group_id: str


@struct
class TopicPartitionsInfo:
    """Partitions of one topic that have durable state, or will."""

    topic_id: Uuid
    topic_name: str
    partitions: list[Int32]


@struct
class TopicInfo:
    """A topic whose durable state goes."""

    topic_id: Uuid
    topic_name: str


@data(versions="0", flexible=0)
class ShareGroupStatePartitionMetadataValue:
    initializing_topics: list[TopicPartitionsInfo]
    initialized_topics: list[TopicPartitionsInfo]
    deleting_topics: list[TopicInfo]


ShareGroupKey: TypeAlias = (
    ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
)
