"""How requests, answers and records of consumer groups are shown in stories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.modern.state import MemberState
from headrace.coordinator.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    GroupMetadataKey,
    OwnedPartitions,
)
from headrace.errors import Error
from headrace.wire.consumer_protocol import decode_assignment
from headrace.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from headrace.wire.messages.heartbeat import HeartbeatResponse
from headrace.wire.messages.join_group import JoinGroupResponse
from headrace.wire.messages.leave_group import LeaveGroupResponse
from headrace.wire.messages.sync_group import SyncGroupResponse
from tests.coordinator.known_topics import KnownTopics


def snapshot(group: ConsumerGroup) -> dict[str, Any]:
    """All that is in the log of a group, and what is derived from it."""
    left_out = {"settings", "timers", "topics", "new_uuid", "topics_were_seen", "downgrade", "held"}
    slots = [slot for each in type(group).__mro__ for slot in getattr(each, "__slots__", ())]
    return {slot: getattr(group, slot) for slot in slots if slot not in left_out}


class Shown:
    """Ids are shown as the names behind them."""

    def __init__(self, topics: KnownTopics) -> None:
        self.names: dict[str, str] = {}
        self._topics = topics

    def partitions(self, parts: Iterable[tuple[UUID, Iterable[object]]]) -> str:
        shown = (
            f"{self._topics.topic_name(topic_id) or 'gone'}:" + ",".join(map(str, numbers))
            for topic_id, numbers in parts
        )
        return " ".join(sorted(shown)) or "nothing"

    def response(self, response: object) -> str:
        match response:
            case LeaveGroupResponse(error_code=Error.NONE):
                errors = {Error(each.error_code).name for each in response.members}
                return "left" if errors <= {"NONE"} else " ".join(sorted(errors))
            case _ if response.error_code != Error.NONE:  # type: ignore[attr-defined]
                return Error(response.error_code).name  # type: ignore[attr-defined]
            case ConsumerGroupHeartbeatResponse(assignment=None):
                return f"epoch {response.member_epoch}"
            case ConsumerGroupHeartbeatResponse():
                assert response.assignment is not None
                parts = response.assignment.topic_partitions
                shown = self.partitions((part.topic_id, part.partitions) for part in parts)
                return f"epoch {response.member_epoch} {shown}"
            case JoinGroupResponse():
                return f"generation {response.generation_id} {response.protocol_name}"
            case SyncGroupResponse():
                assigned = decode_assignment(response.assignment).assigned_partitions
                return (
                    " ".join(f"{p.topic}:{','.join(map(str, p.partitions))}" for p in assigned)
                    or "nothing"
                )
            case HeartbeatResponse():
                return "alive"
        raise AssertionError(response)

    def record(self, record: StateRecord[Any, Any]) -> str:
        key, value = record.key, record.value
        end = " end" if value is None else ""
        name = self.names.get(getattr(key, "member_id", ""), getattr(key, "member_id", ""))
        match key:
            case ConsumerGroupMetadataKey():
                return "epoch" + (end or f" {value.epoch}")  # type: ignore[union-attr]
            case ConsumerGroupPartitionMetadataKey():
                return f"partition metadata{end}"
            case ConsumerGroupMemberMetadataKey():
                return f"member {name}{end}"
            case ConsumerGroupTargetAssignmentMetadataKey():
                return "target" + (end or f" {value.assignment_epoch}")  # type: ignore[union-attr]
            case ConsumerGroupTargetAssignmentMemberKey() if value is not None:
                parts = [(part.topic_id, part.partitions) for part in value.topic_partitions]
                return f"target of {name} {self.partitions(parts)}"
            case ConsumerGroupTargetAssignmentMemberKey():
                return f"target of {name}{end}"
            case ConsumerGroupCurrentMemberAssignmentKey() if value is not None:
                revoking = ""
                if value.partitions_pending_revocation:
                    revoking = f" without {self._owned(value.partitions_pending_revocation)}"
                state = MemberState(value.state).name
                owned = self._owned(value.assigned_partitions)
                return f"{name} epoch {value.member_epoch} {state} {owned}{revoking}"
            case ConsumerGroupCurrentMemberAssignmentKey():
                return f"{name}{end}"
            case ConsumerGroupRegularExpressionKey():
                shown = end or " " + " ".join(value.topics)  # type: ignore[union-attr]
                return f"regex {key.regular_expression}{shown}"
            case GroupMetadataKey() if value is not None:
                members = (self.names.get(each.member_id, each.member_id) for each in value.members)
                shown = " ".join(members) or "nobody"
                return f"generation {value.generation} {value.protocol} of {shown}"
            case GroupMetadataKey():
                return f"generation{end}"
        raise AssertionError(key)

    def _owned(self, topics: Iterable[OwnedPartitions]) -> str:
        parts: Mapping[UUID, list[str]] = {
            topic.topic_id: [
                f"{number}@{epoch}"
                for number, epoch in zip(
                    topic.partitions, topic.assignment_epochs or (), strict=True
                )
            ]
            for topic in topics
        }
        return self.partitions(parts.items())
