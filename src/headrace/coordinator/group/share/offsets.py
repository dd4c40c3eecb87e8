"""How far a share group is in its partitions: moved elsewhere, or forgotten.

Both are done by the share coordinator; the group writes what it asks for, asks, and answers when it
knows the outcome. Only a group without members can be treated so.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.effects import GroupEffects, ShareStatesBegin, ShareStatesEnd
from headrace.coordinator.group.share.partitions import TopicShare
from headrace.coordinator.group.share.persistence import group_tombstones
from headrace.coordinator.group.share.roster import ShareRoster
from headrace.errors import Error
from headrace.types import ZERO_UUID, SharePartitionKey
from headrace.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from headrace.wire.messages.delete_groups import DeletableGroupResult
from headrace.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

_NO_SUCH_PARTITION = "This server does not host this topic-partition."


def alter_offsets(
    group: ShareRoster,
    request: AlterShareGroupOffsetsRequest,
    caller: Caller[AlterShareGroupOffsetsResponse],
) -> GroupEffects:
    """Let an empty group begin elsewhere, in a new epoch: what was true before it is overruled."""
    starts: dict[SharePartitionKey, int] = {}
    shares: dict[UUID, TopicShare] = {}
    answers = []
    for topic in request.topics:
        topic_id = group.topics.topic_id(topic.topic_name)
        count = group.topics.partition_count(topic.topic_name)
        partitions = []
        for asked in topic.partitions:
            answer = AlterShareGroupOffsetsResponsePartition(partition_index=asked.partition_index)
            partitions.append(answer)
            if topic_id is None or not 0 <= asked.partition_index < count:
                answer.error_code = Error.UNKNOWN_TOPIC_OR_PARTITION
                answer.error_message = _NO_SUCH_PARTITION
            else:
                key = SharePartitionKey(group.group_id, topic_id, asked.partition_index)
                starts[key] = asked.start_offset
        answers.append(
            AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name, topic_id=topic_id or ZERO_UUID, partitions=partitions
            )
        )
        if topic_id is not None:
            numbers = frozenset(each.partition for each in starts if each.topic_id == topic_id)
            shares[topic_id] = TopicShare(topic.topic_name, numbers)
    reply = caller.reply(AlterShareGroupOffsetsResponse(responses=answers))
    if not starts:
        return Effects(replies=[reply])
    epoch = group.group_epoch + 1
    group.beginning.update(dict.fromkeys(starts, epoch))
    return Effects(
        records=[
            group.RECORDS.epoch(group.group_id, epoch, group.metadata_hash),
            group.partitions.begin(shares).to_record(group.group_id),
        ],
        sends=[ShareStatesBegin(group.group_id, epoch, starts, reply)],
    )


def note_alter_outcomes(
    group_id: str,
    response: AlterShareGroupOffsetsResponse,
    outcomes: Mapping[SharePartitionKey, Error],
) -> None:
    """Tell in the answer which partitions could not be moved."""
    for topic in response.responses:
        for partition in topic.partitions:
            key = SharePartitionKey(group_id, topic.topic_id, partition.partition_index)
            error = outcomes.get(key, Error.NONE)
            if error is not Error.NONE:
                partition.error_code, partition.error_message = error, error.name


def delete_offsets(
    group: ShareRoster,
    request: DeleteShareGroupOffsetsRequest,
    caller: Caller[DeleteShareGroupOffsetsResponse],
) -> GroupEffects:
    """Let an empty group forget topics, as if it had never read them."""
    known = group.partitions
    to_end: dict[UUID, str] = {}
    held: set[SharePartitionKey] = set()
    answers = []
    for topic in request.topics:
        name = topic.topic_name
        topic_id = group.topics.topic_id(name)
        answer = DeleteShareGroupOffsetsResponseTopic(
            topic_name=name, topic_id=topic_id or ZERO_UUID
        )
        answers.append(answer)
        if topic_id is None:
            answer.error_code = Error.UNKNOWN_TOPIC_OR_PARTITION
            answer.error_message = _NO_SUCH_PARTITION
        elif topic_id not in known.topic_ids():
            answer.topic_id = ZERO_UUID
            answer.error_code = Error.UNKNOWN_TOPIC_OR_PARTITION
            answer.error_message = "There is no offset information to delete."
        else:
            to_end[topic_id] = name
            held |= _held(group, topic_id, name)
    reply = caller.reply(DeleteShareGroupOffsetsResponse(responses=answers))
    if not to_end:
        return Effects(replies=[reply])
    _note_ending(group, to_end)
    return Effects(
        records=[known.end(to_end).to_record(group.group_id)],
        sends=[ShareStatesEnd(group.group_id, frozenset(held), reply)],
    )


def delete_group(group: ShareRoster, caller: Caller[DeletableGroupResult]) -> GroupEffects | None:
    """Let the states of an empty group go before it; None if it has none."""
    known = group.partitions
    names = {
        **known.deleting,
        **{topic_id: share.name for topic_id, share in known.initializing.items()},
        **{topic_id: share.name for topic_id, share in known.initialized.items()},
    }
    held = {each for topic_id, name in names.items() for each in _held(group, topic_id, name)}
    if not held:
        return None
    _note_ending(group, names)
    answer = DeletableGroupResult(group_id=group.group_id, error_code=Error.NONE)
    return Effects(
        records=[known.end(names).to_record(group.group_id)],
        sends=[ShareStatesEnd(group.group_id, frozenset(held), caller.reply(answer))],
    )


def on_ended(
    group: ShareRoster, change: ShareStatesEnd, outcomes: Mapping[SharePartitionKey, Error]
) -> GroupEffects:
    """The share coordinator has answered: topics without any state left are forgotten."""
    topic_ids = {each.topic_id for each in change.partitions}
    failed = {each.topic_id: error for each, error in outcomes.items() if error is not Error.NONE}
    group.ending -= topic_ids
    group.is_settled = False
    effects: GroupEffects = Effects()
    after = group.partitions.without(
        {each for each in topic_ids - failed.keys() if each in group.partitions.deleting}
    )
    if after != group.partitions:
        effects.records.append(after.to_record(group.group_id))
    if change.reply is None:
        return effects
    response = change.reply.response
    effects.replies.append(change.reply)
    if isinstance(response, DeleteShareGroupOffsetsResponse):
        for topic in response.responses:
            if topic.topic_id in failed:
                topic.error_code = failed[topic.topic_id]
                topic.error_message = failed[topic.topic_id].name
    elif failed:
        response.error_code = next(iter(failed.values()))
    elif not group.is_empty:
        response.error_code = Error.NON_EMPTY_GROUP  # somebody joined meanwhile
    else:
        effects.records += group_tombstones(group.group_id)
    return effects


def _held(group: ShareRoster, topic_id: UUID, name: str) -> set[SharePartitionKey]:
    """The partitions of a topic that may have state; for one that is going, all that it has."""
    states = group.partitions.may_have_state(group.group_id)
    held = {each for each in states if each.topic_id == topic_id}
    if topic_id in group.partitions.deleting:
        held |= {
            SharePartitionKey(group.group_id, topic_id, number)
            for number in range(group.topics.partition_count(name))
        }
    return held


def _note_ending(group: ShareRoster, topics: Mapping[UUID, str]) -> None:
    group.ending |= topics.keys()
    for each in [each for each in group.beginning if each.topic_id in topics]:
        del group.beginning[each]
