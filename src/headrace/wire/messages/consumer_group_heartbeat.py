"""ConsumerGroupHeartbeat (key 68): a consumer's whole life in a group of KIP-848."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32, Uuid


@request(key=68, versions="0-1", flexible=0)
class ConsumerGroupHeartbeatRequest:
    """A sign of life with whatever has changed since the last; null, or -1, is "as before".

    v1 subscription by a regular expression, member ids made by the client (KIP-1082)

    Member epoch 0 joins, -1 leaves, -2 leaves with the intent to return as the same instance.
    """

    group_id: str
    member_id: str
    member_epoch: Int32
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: str | None = v(1, default=None)
    server_assignor: str | None = None
    topic_partitions: list[TopicPartitions] | None = None


@struct
class TopicPartitions:
    """Partitions of one topic: owned in a request, assigned in a response."""

    topic_id: Uuid
    partitions: list[Int32]


@response(key=68, versions="0-1", flexible=0)
class ConsumerGroupHeartbeatResponse:
    """The member's epoch, when to come back, and a new assignment where there is one."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: Assignment | None = None


@struct
class Assignment:
    """All that the member may own now."""

    topic_partitions: list[TopicPartitions]
