"""Where partitions end, whichever brokers lead them: what lag is measured against."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from headrace.broker.net.peers import PeerUnreachable, error_named
from headrace.errors import ClientFault, Error
from headrace.types import TopicPartition
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.peers import Peers
    from headrace.broker.storage.storage import Storage

CHANNEL: Final = "log-ends"
_TIMEOUT_MS: Final = 10_000
_LATEST: Final = -1
_CLIENT: Final = -1


async def log_ends(
    metadata: Metadata, storage: Storage, peers: Peers | None, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int | Error]:
    """The high watermark of each of these, or why it cannot be known."""
    ends: dict[TopicPartition, int | Error] = {}
    elsewhere: dict[int, list[TopicPartition]] = {}
    for each in partitions:
        image = metadata.image.partition(each.topic, each.partition)
        if image is None:
            ends[each] = Error.UNKNOWN_TOPIC_OR_PARTITION
        elif image.leader == metadata.broker_id:
            try:
                ends[each] = storage.find(each.topic, each.partition).high_watermark
            except ClientFault as fault:
                ends[each] = fault.error
        elif image.leader < 0:
            ends[each] = Error.LEADER_NOT_AVAILABLE
        else:
            elsewhere.setdefault(image.leader, []).append(each)
    for told in await asyncio.gather(
        *(_ask(peers, leader, some) for leader, some in elsewhere.items())
    ):
        ends |= told
    return ends


async def _ask(
    peers: Peers | None, leader: int, partitions: list[TopicPartition]
) -> dict[TopicPartition, int | Error]:
    ends: dict[TopicPartition, int | Error] = dict.fromkeys(partitions, Error.NETWORK_EXCEPTION)
    if peers is None:
        return ends
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for each in partitions:
        asked = ListOffsetsPartition(partition_index=each.partition, timestamp=_LATEST)
        topics.setdefault(each.topic, []).append(asked)
    request = ListOffsetsRequest(
        replica_id=_CLIENT,
        topics=[ListOffsetsTopic(name=name, partitions=some) for name, some in topics.items()],
    )
    try:
        response = await peers.ask(leader, request, timeout_ms=_TIMEOUT_MS, channel=CHANNEL)
    except PeerUnreachable:
        return ends
    for topic in response.topics:
        for answer in topic.partitions:
            ends[TopicPartition(topic.name, answer.partition_index)] = (
                error_named(answer.error_code) if answer.error_code else answer.offset
            )
    return ends
