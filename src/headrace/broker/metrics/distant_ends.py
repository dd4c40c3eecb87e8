"""How far partitions have come that have no replica on this broker, asked of their leaders."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from headrace.broker.metrics.coordination import distant_partitions
from headrace.broker.metrics.declaration import Sources
from headrace.broker.watching import logs
from headrace.errors import HeadraceError
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from headrace.broker.net.peers import Peers

_LATEST: Final = -1
_CLIENT: Final = -1  # instead of a replica's id: only what is committed counts
_TIMEOUT_MS: Final = 1_000

Ends = dict[tuple[str, int], int]


async def ask_leaders(sources: Sources) -> Ends:
    """High watermarks by partition; those whose leader does not answer are left out."""
    role = sources.role
    if role is None:
        return {}
    image = sources.broker.metadata.image
    by_leader: dict[int, dict[str, list[int]]] = {}
    for name, number in sorted(distant_partitions(sources)):
        partition = image.partition(name, number)
        if partition is not None and partition.leader in image.brokers:
            by_leader.setdefault(partition.leader, {}).setdefault(name, []).append(number)
    if not by_leader:
        return {}
    answers = await asyncio.gather(
        *(_ask(role.peers, leader, topics) for leader, topics in by_leader.items())
    )
    return {key: end for ends in answers for key, end in ends.items()}


async def _ask(peers: Peers, leader: int, topics: dict[str, list[int]]) -> Ends:
    request = ListOffsetsRequest(
        replica_id=_CLIENT,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=number, timestamp=_LATEST)
                    for number in numbers
                ],
            )
            for name, numbers in topics.items()
        ],
    )
    try:
        response: ListOffsetsResponse = await peers.ask(leader, request, timeout_ms=_TIMEOUT_MS)
    except (HeadraceError, OSError, TimeoutError) as fault:
        logs.SERVER.info("Broker %d does not report the ends of its partitions: %r", leader, fault)
        return {}
    return {
        (topic.name, found.partition_index): found.offset
        for topic in response.topics
        for found in topic.partitions
        if not found.error_code
    }
