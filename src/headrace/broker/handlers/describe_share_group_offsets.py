"""DescribeShareGroupOffsets, v0-v1 (KIP-932).

Behaviour: how far share groups are, in the topics asked for, or in all whose state they have begun.
A topic that does not exist, or that a group has not begun, has the offset -1, without an error;
neither is a group that does not exist.

Version notes: v1 lag: what is not done yet between the start offset and the end of the partition
(KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from headrace.broker.membership.log_ends import log_ends
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.broker.sharing.states import ShareSummary
from headrace.cluster.features import SHARE_VERSION
from headrace.coordinator.group.share import ShareGroup
from headrace.errors import ClientFault, Error
from headrace.types import ZERO_UUID, SharePartitionKey, TopicPartition
from headrace.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.peers import Peers
    from headrace.broker.sharing.states import ShareStates
    from headrace.broker.storage.storage import Storage

_NOT_KNOWN: Final = -1


def handle(
    metadata: Metadata,
    storage: Storage,
    groups: Groups,
    share_states: ShareStates,
    peers: Peers | None,
    request: DescribeShareGroupOffsetsRequest,
    call: Call,
) -> Answer[DescribeShareGroupOffsetsResponse]:
    return _describe(metadata, storage, groups, share_states, peers, request)


async def _describe(
    metadata: Metadata,
    storage: Storage,
    groups: Groups,
    share_states: ShareStates,
    peers: Peers | None,
    request: DescribeShareGroupOffsetsRequest,
) -> DescribeShareGroupOffsetsResponse:
    answers = []
    for asked in request.groups:
        try:
            if metadata.image.feature_level(SHARE_VERSION) < 1:
                raise ClientFault(Error.UNSUPPORTED_VERSION)
            topics = await _topics(metadata, storage, groups, share_states, peers, asked)
            answer = DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id, topics=topics)
        except ClientFault as fault:
            answer = DescribeShareGroupOffsetsResponseGroup(
                group_id=asked.group_id,
                topics=[],
                error_code=fault.error,
                error_message=fault.message or None,
            )
        answers.append(answer)
    return DescribeShareGroupOffsetsResponse(groups=answers)


async def _topics(
    metadata: Metadata,
    storage: Storage,
    groups: Groups,
    share_states: ShareStates,
    peers: Peers | None,
    asked: DescribeShareGroupOffsetsRequestGroup,
) -> list[DescribeShareGroupOffsetsResponseTopic]:
    image = metadata.image
    wanted: dict[str, list[int]] = {}
    if asked.topics is None:
        wanted = _begun_partitions(metadata, groups, asked.group_id)
    else:
        for topic in asked.topics:
            wanted.setdefault(topic.topic_name, []).extend(topic.partitions)
    ids = {name: image.topics[name].id if name in image.topics else ZERO_UUID for name in wanted}
    keys = [
        SharePartitionKey(asked.group_id, ids[name], number)
        for name, partitions in wanted.items()
        for number in partitions
        if ids[name] != ZERO_UUID
    ]
    summaries = await share_states.summaries(keys) if keys else {}
    ends = await log_ends(
        metadata,
        storage,
        peers,
        [
            TopicPartition(name, number)
            for name, partitions in wanted.items()
            for number in partitions
            if _has_lag(summaries.get(SharePartitionKey(asked.group_id, ids[name], number)))
        ],
    )
    return [
        DescribeShareGroupOffsetsResponseTopic(
            topic_name=name,
            topic_id=ids[name],
            partitions=[
                _partition(
                    number,
                    summaries.get(SharePartitionKey(asked.group_id, ids[name], number)),
                    ends.get(TopicPartition(name, number)),
                )
                for number in partitions
            ],
        )
        for name, partitions in wanted.items()
    ]


def _begun_partitions(metadata: Metadata, groups: Groups, group_id: str) -> dict[str, list[int]]:
    """The partitions of a group by the names of their topics; ClientFault if it is not led here."""
    group = groups.host_of(group_id).shard.groups.get(group_id)
    if not isinstance(group, ShareGroup):
        return {}
    names: dict[UUID, str] = metadata.image.topic_names
    return {
        names[topic_id]: sorted(share.partitions)
        for topic_id, share in sorted(group.partitions.initialized.items())
        if topic_id in names
    }


def _has_lag(summary: ShareSummary | Error | None) -> bool:
    return (
        isinstance(summary, ShareSummary)
        and summary.start_offset != _NOT_KNOWN
        and summary.delivery_complete_count != _NOT_KNOWN
    )


def _partition(
    number: int, summary: ShareSummary | Error | None, end: int | Error | None
) -> DescribeShareGroupOffsetsResponsePartition:
    answer = DescribeShareGroupOffsetsResponsePartition(
        partition_index=number, start_offset=_NOT_KNOWN, leader_epoch=0
    )
    if isinstance(end, Error):
        answer.error_code, answer.error_message = end, end.name
    elif isinstance(summary, ShareSummary):
        answer.start_offset, answer.leader_epoch = summary.start_offset, summary.leader_epoch
        if end is not None:
            answer.lag = end - summary.start_offset - summary.delivery_complete_count
    return answer


HANDLER = Handler(
    request=DescribeShareGroupOffsetsRequest,
    handle=handle,
    portions=Portions("groups", "groups"),
)
