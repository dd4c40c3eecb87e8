"""What a broker gives up while a disk of it is full: leaderships, and its place among the in-sync.

A leader that cannot append is of no use to producers while another replica can. So it asks the
in-sync replicas how much room they have, and those that have some lead from then on. A follower
that cannot append leaves the in-sync replicas, so that commits do not wait for it until its lag is
noticed. Both come back as any replica that was behind. Brokers without room get nothing: otherwise
disks that are full together would hand their partitions round in circles.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from headrace.broker.net.peers import PeerUnreachable
from headrace.broker.watching import logs
from headrace.cluster.partitions import make_way
from headrace.errors import HeadraceError
from headrace.types import TopicPartition
from headrace.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.peers import Peers
    from headrace.broker.storage.storage import Storage

CHANNEL: Final = "room"
_TIMEOUT_MS: Final = 5_000
# Several partitions of a disk find it full at nearly the same time.
_GATHER_S: Final = 0.1
_PAUSE_S: Final = 5.0
# A disk has room with so much, or with so large a part of it, whichever is less.
_ENOUGH_BYTES: Final = 256 << 20
_ENOUGH_PART: Final = 20


class FullDisks:
    """See the module."""

    def __init__(self, broker_id: int, metadata: Metadata, storage: Storage, peers: Peers) -> None:
        self._broker_id = broker_id
        self._metadata = metadata
        self._storage = storage
        self._peers = peers
        self._stuck: set[TopicPartition] = set()  # could not be appended to
        self._task: asyncio.Task[None] | None = None

    def on_full(self, topic_partition: TopicPartition) -> None:
        """A replica could not be appended to for want of room."""
        self._stuck.add(topic_partition)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while self._stuck:
            await asyncio.sleep(_GATHER_S)
            stuck, self._stuck = self._stuck, set()
            try:
                await self._make_way(stuck)
            except HeadraceError as fault:
                logs.LOG_MANAGER.warning("Leaderships could not be handed over: %s", fault)
            await asyncio.sleep(_PAUSE_S)

    async def _make_way(self, stuck: set[TopicPartition]) -> None:
        storage = self._storage
        full = {id(home): home for each in stuck if (home := storage.directory_of(each))}
        led: dict[int, list[TopicPartition]] = {}  # by who might lead instead
        for directory in full.values():
            for each in directory.logs:
                partition = storage.partitions.get(each)
                if partition is not None and partition.is_leader:
                    for other in partition.leadership.isr:
                        led.setdefault(other, []).append(each)
        led.pop(self._broker_id, None)
        answers = await asyncio.gather(*(self._with_room(*each) for each in led.items()))
        successors: dict[TopicPartition, set[int]] = {}
        for broker_id, roomy in zip(led, answers, strict=True):
            for each in roomy:
                successors.setdefault(each, set()).add(broker_id)
        changes = await self._metadata.change(
            lambda image: make_way(image, self._broker_id, successors, stuck)
        )
        if changes:
            logs.LOG_MANAGER.warning(
                "The disk is full: %d partitions were handed over to other replicas", len(changes)
            )

    async def _with_room(
        self, broker_id: int, partitions: Iterable[TopicPartition]
    ) -> list[TopicPartition]:
        """Those of the partitions whose replica on another broker has room to grow."""
        topics: dict[str, list[int]] = {}
        for name, index in partitions:
            topics.setdefault(name, []).append(index)
        request = DescribeLogDirsRequest(
            topics=[
                DescribableLogDirTopic(topic=name, partitions=indexes)
                for name, indexes in topics.items()
            ]
        )
        try:
            response = await self._peers.ask(
                broker_id, request, timeout_ms=_TIMEOUT_MS, channel=CHANNEL
            )
        except PeerUnreachable:
            return []
        return [
            TopicPartition(topic.name, partition.partition_index)
            for result in response.results
            if _has_room(result)
            for topic in result.topics
            for partition in topic.partitions
            if not partition.is_future_key
        ]


def _has_room(result: DescribeLogDirsResult) -> bool:
    enough = min(_ENOUGH_BYTES, result.total_bytes // _ENOUGH_PART)
    return not result.error_code and result.usable_bytes > enough
