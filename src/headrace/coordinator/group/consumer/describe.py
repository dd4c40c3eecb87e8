"""A consumer group as ConsumerGroupDescribe shows it.

versions   0-1. v1 which protocol a member speaks (KIP-1099)
behaviour  What a member must still give up is shown as assigned. Topics that are gone are not.
"""

from __future__ import annotations

from typing import Final

from headrace.coordinator.group.consumer.member import Member, Owned
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.consumer.target import preferred_assignor
from headrace.coordinator.group.modern.member import NOTHING, Target
from headrace.coordinator.topics import Topics
from headrace.errors import Error
from headrace.wire.messages.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    TopicPartitions,
)
from headrace.wire.messages.consumer_group_describe import Member as DescribedMember

CLASSIC_TYPE: Final = 0
CONSUMER_TYPE: Final = 1


def describe(group: Roster) -> DescribedGroup:
    """The group as it is now."""
    return DescribedGroup(
        error_code=Error.NONE,
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(group, group.members.values()),
        members=[_member(group, each) for each in group.members.values()],
    )


def _member(group: Roster, member: Member) -> DescribedMember:
    target = group.targets.get(member.member_id, NOTHING)
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(group.topics, member.assigned, member.revoking),
        target_assignment=_assignment(group.topics, target),
        member_type=CLASSIC_TYPE if member.uses_classic_protocol else CONSUMER_TYPE,
    )


def _assignment(topics: Topics, *parts: Owned | Target) -> Assignment:
    shown = []
    for topic_id in sorted({each for part in parts for each in part}):
        name = topics.topic_name(topic_id)
        if name is None:
            continue
        partitions = {number for part in parts for number in part.get(topic_id, ())}
        shown.append(
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(partitions))
        )
    return Assignment(topic_partitions=shown)
