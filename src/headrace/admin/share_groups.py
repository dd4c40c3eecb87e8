"""Share groups (queues) as their coordinators know them: members, start offsets, lag (KIP-932)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.faults import Fault, fault_in, raise_for
from headrace.admin.groups import GroupListing, list_groups, places_in, the_group
from headrace.admin.routing import at_coordinator, coordinator_of
from headrace.admin.views import by_topic
from headrace.types import TopicPartition

SHARE: Final = "Share"


class ShareMember(NamedTuple):
    id: str
    client_id: str
    host: str
    epoch: int
    assignment: tuple[TopicPartition, ...]


class ShareGroup(NamedTuple):
    group: str
    state: str
    coordinator: tuple[int, str, int]
    group_epoch: int
    assignment_epoch: int
    members: tuple[ShareMember, ...]


class ShareOffset(NamedTuple):
    """Everything before the start is done; None is what nobody knows."""

    start: int | None
    leader_epoch: int | None
    lag: int | None


def list_share_groups(admin: Admin, *, states: Collection[str] = ()) -> list[GroupListing]:
    return [each for each in list_groups(admin, states=states, types=[SHARE]) if each.type == SHARE]


def describe_share_group(admin: Admin, group: str) -> ShareGroup:
    """A share group with its members; `Refused` if there is none of this name."""
    from headrace.wire.messages.share_group_describe import ShareGroupDescribeRequest

    told = the_group(admin, group, ShareGroupDescribeRequest(group_ids=[group]))
    raise_for(told.error_code, told.error_message)
    return ShareGroup(
        group,
        told.group_state,
        coordinator_of(admin, group),
        told.group_epoch,
        told.assignment_epoch,
        tuple(
            ShareMember(
                each.member_id,
                each.client_id,
                each.client_host,
                each.member_epoch,
                places_in(each.assignment),
            )
            for each in sorted(told.members, key=lambda member: str(member.member_id))
        ),
    )


def read_share_offsets(admin: Admin, group: str) -> dict[TopicPartition, ShareOffset]:
    """Where a group stands in every partition that it has read, in order."""
    from headrace.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsRequestGroup,
    )

    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    told = the_group(admin, group, DescribeShareGroupOffsetsRequest(groups=[asked]))
    raise_for(told.error_code, told.error_message)
    return {
        TopicPartition(topic.topic_name, each.partition_index): ShareOffset(
            *(_known(number) for number in (each.start_offset, each.leader_epoch, each.lag))
        )
        for topic in sorted(told.topics, key=lambda topic: str(topic.topic_name))
        for each in sorted(topic.partitions, key=lambda each: int(each.partition_index))
        if not each.error_code
    }


def _known(number: int) -> int | None:
    return number if number >= 0 else None


def move_share_group(
    admin: Admin, group: str, starts: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Fault]:
    """Let an empty group begin elsewhere; returns what failed."""
    from headrace.wire.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsRequestPartition,
        AlterShareGroupOffsetsRequestTopic,
    )

    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=[
                AlterShareGroupOffsetsRequestPartition(
                    partition_index=number, start_offset=starts[TopicPartition(name, number)]
                )
                for number in numbers
            ],
        )
        for name, numbers in by_topic(list(starts)).items()
    ]
    answer = _whole(admin, group, AlterShareGroupOffsetsRequest(group_id=group, topics=topics))
    return {
        TopicPartition(topic.topic_name, each.partition_index): fault
        for topic in answer.responses
        for each in topic.partitions
        if (fault := fault_in(each.error_code, each.error_message)) is not None
    }


def forget_share_topics(
    admin: Admin, group: str, topics: Collection[str]
) -> dict[str, Fault | None]:
    """Let an empty group forget topics; what became of each."""
    from headrace.wire.messages.delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsRequestTopic,
    )

    asked = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in sorted(topics)]
    answer = _whole(admin, group, DeleteShareGroupOffsetsRequest(group_id=group, topics=asked))
    return {
        each.topic_name: fault_in(each.error_code, each.error_message) for each in answer.responses
    }


def _whole(admin: Admin, group: str, request: Any) -> Any:
    """The answer, or `Refused` where it is one error for all."""
    answer = at_coordinator(admin, group, request)
    raise_for(answer.error_code, answer.error_message)
    return answer
