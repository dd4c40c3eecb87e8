"""ShareGroupDescribe (key 77): share groups with their members (KIP-932)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Bool, Int16, Int32, Uuid


@request(key=77, versions="1", flexible=0)
class ShareGroupDescribeRequest:
    """The groups of interest. v0 was a preview and is gone."""

    group_ids: list[str]
    include_authorized_operations: Bool = False


@response(key=77, versions="1", flexible=0)
class ShareGroupDescribeResponse:
    """One entry per group."""

    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup]


@struct
class DescribedGroup:
    """A group, or why it cannot be shown."""

    error_code: Int16
    error_message: str | None = None
    group_id: str
    group_state: str
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: str
    members: list[Member]
    authorized_operations: Int32 = -0x80000000


@struct
class Member:
    """A member, with what it may fetch from."""

    member_id: str
    rack_id: str | None = None
    member_epoch: Int32
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    assignment: Assignment


@struct
class Assignment:
    topic_partitions: list[TopicPartitions]


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: Uuid
    topic_name: str
    partitions: list[Int32]
