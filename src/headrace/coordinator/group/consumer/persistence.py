"""The records that only a consumer group writes, made from values and read back into them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.consumer.member import Member, Owned
from headrace.coordinator.group.modern.persistence import ModernRecords
from headrace.coordinator.group.modern.state import MemberState
from headrace.coordinator.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    GroupRecord,
    OwnedPartitions,
)

RECORDS: Final = ModernRecords(
    group_key=ConsumerGroupMetadataKey,
    group_value=ConsumerGroupMetadataValue,
    target_epoch_key=ConsumerGroupTargetAssignmentMetadataKey,
    member_key=ConsumerGroupMemberMetadataKey,
    target_key=ConsumerGroupTargetAssignmentMemberKey,
    current_key=ConsumerGroupCurrentMemberAssignmentKey,
)


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression stood for, in which epoch of the topics, found when."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


def partition_metadata_tombstone(group_id: str) -> GroupRecord:
    """Ends what brokers before 4.1 wrote about the topics of the group."""
    return StateRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_record(group_id: str, member: Member) -> GroupRecord:
    """What a member told about itself."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=member.classic,
    )
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, value)


def current_record(group_id: str, member: Member) -> GroupRecord:
    """What one member has."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state,
        assigned_partitions=_owned_to(member.assigned),
        partitions_pending_revocation=_owned_to(member.revoking),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, value)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> GroupRecord:
    """The topics that a regular expression stands for."""
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return StateRecord(key, value)


def regex_tombstone(group_id: str, regex: str) -> GroupRecord:
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return StateRecord(key, None)


def with_metadata(member: Member, value: ConsumerGroupMemberMetadataValue) -> Member:
    """The member after a record about itself."""
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=frozenset(value.subscribed_topic_names),
        subscribed_topic_regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=value.classic_member_metadata,
    )


def with_assignment(member: Member, value: ConsumerGroupCurrentMemberAssignmentValue) -> Member:
    """The member after a record about what it has."""
    known = any(value.state == state for state in MemberState)
    return replace(
        member,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=MemberState(value.state) if known else MemberState.UNKNOWN,
        assigned=_owned_from(value.assigned_partitions, value.member_epoch),
        revoking=_owned_from(value.partitions_pending_revocation, value.member_epoch),
    )


def _owned_to(owned: Owned) -> list[OwnedPartitions]:
    topics = []
    for topic_id in sorted(owned):
        partitions = sorted(owned[topic_id])
        epochs = [owned[topic_id][each] for each in partitions]
        topics.append(
            OwnedPartitions(topic_id=topic_id, partitions=partitions, assignment_epochs=epochs)
        )
    return topics


def _owned_from(topics: Iterable[OwnedPartitions], member_epoch: int) -> Owned:
    """Brokers before 4.3 wrote no epochs: then only the member's own epoch may commit."""
    owned = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned
