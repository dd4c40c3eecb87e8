"""OffsetFetch: what a group has committed.

versions   1-10. v1 no error for the whole · v2 to v7 one group, null topics ask for all · v7
           require_stable (KIP-447) · v8 many groups (KIP-709) · v9 member and epoch · v10 topic ids
behaviour  A partition without offset is -1 with empty metadata, and so is everything of a group
           that does not exist. If the offsets must be stable, those that an open transaction may
           still change fail with UNSTABLE_OFFSET_COMMIT; the client tries again.
elsewhere  Which group it is, and whether a member may ask. Several groups may belong to several
           shards: `asked_groups` takes a request of any version apart, `assembled` puts the
           answers together.
"""

from __future__ import annotations

from typing import Final

from headrace.coordinator.group.offsets import CommittedOffset, CommittedOffsets
from headrace.coordinator.topics import Topics
from headrace.errors import Error
from headrace.types import NO_EPOCH, NO_OFFSET, ZERO_UUID, TopicPartition
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

ERROR_FOR_THE_WHOLE_SINCE: Final = 2
MANY_GROUPS_SINCE: Final = 8
TOPIC_IDS_SINCE: Final = 10

# Nobody may look at the offset beside an error. librdkafka does if the assignment changed while it
# asked: -1 makes it begin at auto.offset.reset, but this is its word for "the committed offset,
# which I have yet to ask for" (decision 0011).
_ASK_AGAIN: Final = -1000


def fetched(
    request: OffsetFetchRequestGroup,
    offsets: CommittedOffsets,
    topics: Topics,
    *,
    version: int,
    require_stable: bool,
) -> OffsetFetchResponseGroup:
    """What a group has committed for the partitions that were asked for, or for all."""
    by_id = version >= TOPIC_IDS_SINCE
    if request.topics is None:
        found = _all(request.group_id, offsets, topics, by_id, require_stable)
    else:
        found = [
            _topic(request.group_id, topic, offsets, topics, by_id, require_stable)
            for topic in request.topics
        ]
    return OffsetFetchResponseGroup(group_id=request.group_id, topics=found)


def _topic(
    group_id: str,
    asked: OffsetFetchRequestTopics,
    offsets: CommittedOffsets,
    topics: Topics,
    by_id: bool,
    require_stable: bool,
) -> OffsetFetchResponseTopics:
    name = topics.topic_name(asked.topic_id) if by_id else asked.name
    if name is None:
        return _failed_topic(asked, Error.UNKNOWN_TOPIC_ID)
    committed = offsets.of_group(group_id)
    partitions = []
    for index in asked.partition_indexes:
        partition = TopicPartition(name, index)
        if require_stable and offsets.is_pending(group_id, partition):
            partitions.append(_without_offset(index, Error.UNSTABLE_OFFSET_COMMIT))
            continue
        known = committed.get(partition)
        if known is None or not known.is_of_topic(asked.topic_id):
            partitions.append(_without_offset(index, Error.NONE))
        else:
            partitions.append(_with_offset(index, known))
    return OffsetFetchResponseTopics(name=name, topic_id=asked.topic_id, partitions=partitions)


def _all(
    group_id: str,
    offsets: CommittedOffsets,
    topics: Topics,
    by_id: bool,
    require_stable: bool,
) -> list[OffsetFetchResponseTopics]:
    """Every offset of a group; those of topics without id cannot be told by id."""
    found: dict[str, OffsetFetchResponseTopics] = {}
    for partition, known in offsets.of_group(group_id).items():
        answer = found.get(partition.topic)
        if answer is None:
            topic_id = (topics.topic_id(partition.topic) if by_id else None) or ZERO_UUID
            answer = found[partition.topic] = OffsetFetchResponseTopics(
                name=partition.topic, topic_id=topic_id, partitions=[]
            )
        if require_stable and offsets.is_pending(group_id, partition):
            unstable = _without_offset(partition.partition, Error.UNSTABLE_OFFSET_COMMIT)
            answer.partitions.append(unstable)
        else:
            answer.partitions.append(_with_offset(partition.partition, known))
    return [answer for answer in found.values() if not by_id or answer.topic_id != ZERO_UUID]


def refused(
    request: OffsetFetchRequestGroup, error: Error, version: int
) -> OffsetFetchResponseGroup:
    """The answer for a whole group, where the version has a place for it."""
    if version >= ERROR_FOR_THE_WHOLE_SINCE:
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=[], error_code=error)
    topics = [_failed_topic(topic, error) for topic in request.topics or ()]
    return OffsetFetchResponseGroup(group_id=request.group_id, topics=topics)


def _failed_topic(asked: OffsetFetchRequestTopics, error: Error) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=[_without_offset(index, error) for index in asked.partition_indexes],
    )


def _without_offset(index: int, error: Error) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=_ASK_AGAIN if error is Error.UNSTABLE_OFFSET_COMMIT else NO_OFFSET,
        committed_leader_epoch=NO_EPOCH,
        metadata="",
        error_code=error,
    )


def _with_offset(index: int, known: CommittedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=known.offset,
        committed_leader_epoch=known.leader_epoch,
        metadata=known.metadata,
        error_code=Error.NONE,
    )


def asked_groups(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    """What a request asks of each group."""
    if version >= MANY_GROUPS_SINCE:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def assembled(groups: list[OffsetFetchResponseGroup], version: int) -> OffsetFetchResponse:
    """The answer to the request that `asked_groups` took apart."""
    if version >= MANY_GROUPS_SINCE:
        return OffsetFetchResponse(groups=groups)
    (group,) = groups
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=each.partition_index,
                    committed_offset=each.committed_offset,
                    committed_leader_epoch=each.committed_leader_epoch,
                    metadata=each.metadata,
                    error_code=each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)
