"""ShareGroupHeartbeat (key 76): a share consumer's whole life in its group (KIP-932)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32, Uuid


@request(key=76, versions="1", flexible=0)
class ShareGroupHeartbeatRequest:
    """A sign of life with whatever has changed since the last; null is "as before".

    v0 was a preview and is gone. Member epoch 0 joins, -1 leaves.
    """

    group_id: str
    member_id: str
    member_epoch: Int32
    rack_id: str | None = None
    subscribed_topic_names: list[str] | None = None


@response(key=76, versions="1", flexible=0)
class ShareGroupHeartbeatResponse:
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
    """All that the member may fetch from now; others may fetch it too."""

    topic_partitions: list[TopicPartitions]


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[Int32]
