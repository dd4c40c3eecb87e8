"""ConsumerGroupDescribe (key 69): groups of the new protocol with their members (KIP-848)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int8, Int16, Int32, Uuid


@request(key=69, versions="0-1", flexible=0)
class ConsumerGroupDescribeRequest:
    """The groups of interest. v1 the answer tells members of the classic protocol (KIP-1099)."""

    group_ids: list[str]
    include_authorized_operations: Bool = False


@response(key=69, versions="0-1", flexible=0)
class ConsumerGroupDescribeResponse:
    """One entry per group. v1 type of the member (KIP-1099)."""

    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup]


@struct
class DescribedGroup:
    """A group, or why it cannot be shown.

    While `assignment_epoch` is behind `group_epoch`, a new assignment is being computed.
    """

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
    """A member, with what it has and what it shall have.

    `member_type` is 0 for the classic protocol, 1 for the new one and -1 where it is not known.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: Int32
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None = None
    assignment: Assignment
    target_assignment: Assignment
    member_type: Int8 = v(1, default=-1)


@struct
class Assignment:
    """Partitions of any number of topics."""

    topic_partitions: list[TopicPartitions]


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: Uuid
    topic_name: str
    partitions: list[Int32]
