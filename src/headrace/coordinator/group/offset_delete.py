"""OffsetDelete: an administrator lets a group forget where it was.

versions   0
behaviour  Offsets of topics that members read stay (GROUP_SUBSCRIBED_TO_TOPIC). A group whose
           members are no consumers must be empty, because nobody knows what they read. What has no
           offset is deleted with success.
"""

from __future__ import annotations

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.classic import ClassicGroup
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.expiry import is_subscribed
from headrace.coordinator.group.listing import Group
from headrace.coordinator.group.offsets import CommittedOffsets, tombstone
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.share import ShareGroup
from headrace.coordinator.topics import Topics
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.consumer_protocol import PROTOCOL_TYPE
from headrace.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle_offset_delete(
    request: OffsetDeleteRequest,
    caller: Caller[OffsetDeleteResponse],
    group: Group | None,
    offsets: CommittedOffsets,
    topics: Topics,
) -> GroupEffects:
    """Write tombstones for what is there."""
    error = _check(request.group_id, group)
    if group is None or error is not Error.NONE:
        response = OffsetDeleteResponse(error_code=error, topics=[])
        return Effects(replies=[caller.reply(response)])
    records: list[GroupRecord] = []
    answers = []
    for topic in request.topics:
        is_read = is_subscribed(group, topic.name)
        answer = OffsetDeleteResponseTopic(name=topic.name, partitions=[])
        answers.append(answer)
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            error = Error.NONE
            if not 0 <= partition.partition < topics.partition_count(topic.name):
                error = Error.UNKNOWN_TOPIC_OR_PARTITION
            elif is_read:
                error = Error.GROUP_SUBSCRIBED_TO_TOPIC
            elif offsets.has_any(request.group_id, partition):
                records.append(tombstone(request.group_id, partition))
            answer.partitions.append(
                OffsetDeleteResponsePartition(partition_index=partition.partition, error_code=error)
            )
    response = OffsetDeleteResponse(error_code=Error.NONE, topics=answers)
    return Effects(records=records, replies=[caller.reply(response)])


def _check(group_id: str, group: Group | None) -> Error:
    if not group_id:
        return Error.INVALID_GROUP_ID
    if group is None or isinstance(group, ShareGroup):
        return Error.GROUP_ID_NOT_FOUND
    if isinstance(group, ClassicGroup):
        is_readable = group.is_empty or group.protocol_type == PROTOCOL_TYPE
        return Error.NONE if is_readable else Error.NON_EMPTY_GROUP
    return Error.NONE
