"""The in-sync replicas of the partitions that this broker leads, kept true in the tree.

Who is in sync is decided by `headrace.replica.partition`, what a change means by
`headrace.cluster.partitions`; here they are brought together: every half of
`replica.lag.time.max.ms` for followers that fell behind, and at once when a follower has caught up.
Changes of many partitions are committed together. A proposal whose outcome nobody knows is made
again until the tree tells: meanwhile the partition waits for the replicas of both outcomes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.broker.watching import logs
from headrace.cluster.partitions import change_isr
from headrace.errors import ClientFault, HeadraceError

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.image import Change, ClusterImage, PartitionChanged
    from headrace.replica.partition import Partition
    from headrace.runtime.clock import Clock
    from headrace.types import TopicPartition

# Followers catch up together, after a restart for instance: what a moment brings is one commit.
_GATHER_S: Final = 0.01
_RETRY_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Proposal:
    partition: Partition
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_before: int  # how many there were
    joining: dict[int, int]  # new members, and the life of their broker that has caught up

    @property
    def is_ours(self) -> bool:
        return self.partition.is_leader and self.partition.leader_epoch == self.leader_epoch


class IsrKeeper:
    """See the module. `lag_time_max_ms` gives the setting as it is now."""

    def __init__(
        self,
        metadata: Metadata,
        storage: Storage,
        clock: Clock,
        lag_time_max_ms: Callable[[], int],
    ) -> None:
        self._metadata = metadata
        self._storage = storage
        self._clock = clock
        self._lag_time_max_ms = lag_time_max_ms
        self._nudged: dict[Partition, None] = {}  # in the order in which they were
        self._proposals: dict[TopicPartition, _Proposal] = {}
        self.shrinks = self.expands = self.failed_updates = 0
        self._wake = asyncio.Event()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for followers that fell behind."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    def nudge(self, partition: Partition) -> None:
        """A follower has fetched so far that it may be in sync: look at this partition soon."""
        self._nudged[partition] = None
        self._wake.set()

    async def stop(self) -> None:
        """Let go; a commit that is under way is waited for."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        sweep_at = loop.time() + self._lag_time_max_ms() / 2000
        while not self._stopping:
            wait_s = _RETRY_S if self._proposals else max(sweep_at - loop.time(), 0)
            woken = await self._woken_within(wait_s)
            if self._stopping:
                return
            if woken:
                await asyncio.sleep(_GATHER_S)
            if loop.time() >= sweep_at:
                sweep_at = loop.time() + self._lag_time_max_ms() / 2000
                self._propose(list(self._storage.partitions.values()))
            nudged, self._nudged = self._nudged, {}
            self._propose(nudged)
            if self._proposals:
                await self._commit()

    async def _woken_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return False
        self._wake.clear()
        return True

    # -- proposing --------------------------------------------------------------------------------

    def _propose(self, partitions: Iterable[Partition]) -> None:
        now_ms = self._clock.monotonic_ms()
        lag_time_max_ms = self._lag_time_max_ms()
        epochs = {each.id: each.epoch for each in self._metadata.image.brokers.values()}
        for partition in partitions:
            wanted = partition.wanted_isr(
                now_ms, lag_time_max_ms=lag_time_max_ms, broker_epochs=epochs
            )
            if wanted is None or partition.topic_partition in self._proposals:
                continue
            known = partition.leadership.isr
            _log_proposal(partition, known, wanted)
            partition.propose_isr(wanted)
            self._proposals[partition.topic_partition] = _Proposal(
                partition,
                partition.leader_epoch,
                partition.leadership.partition_epoch,
                wanted,
                len(known),
                {
                    each: partition.followers[each].broker_epoch
                    for each in wanted
                    if each not in known
                },
            )

    # -- committing -------------------------------------------------------------------------------

    async def _commit(self) -> None:
        proposals = list(self._proposals.values())
        try:
            await self._metadata.change(lambda image: _decide(image, proposals))
        except HeadraceError as fault:
            # It may have happened nevertheless. The proposals stay, and are made again.
            self.failed_updates += len(proposals)
            logs.PARTITION.warning("In-sync replicas could not be changed: %s", fault)
            return
        for proposal in proposals:
            partition = proposal.partition
            del self._proposals[partition.topic_partition]
            if not proposal.is_ours:
                continue
            # Whatever the tree holds now has been applied.
            partition.settle_isr()
            if set(partition.leadership.isr) != set(proposal.isr):
                self.failed_updates += 1
                self.nudge(partition)  # Others were faster: look again at what they left.
            else:
                self.expands += bool(proposal.joining)
                self.shrinks += len(proposal.isr) - len(proposal.joining) < proposal.isr_before
                logs.PARTITION.info(
                    "[Partition %s broker=%d] ISR updated to %s and version updated to %d",
                    partition.topic_partition,
                    partition.broker_id,
                    _listed(partition.leadership.isr),
                    partition.leadership.partition_epoch,
                )


def _decide(image: ClusterImage, proposals: Sequence[_Proposal]) -> Sequence[Change]:
    changes = (_decide_one(image, proposal) for proposal in proposals)
    return [change for change in changes if change is not None]


def _decide_one(image: ClusterImage, proposal: _Proposal) -> PartitionChanged | None:
    """The change, unless somebody else leads by now, or a new member has begun another life."""
    partition = proposal.partition
    topic, index = partition.topic_partition
    known = image.topics.get(topic)
    state = image.partition(topic, index)
    if (
        state is None
        or known is None
        or known.id != partition.topic_id
        or state.leader != partition.broker_id
        or state.leader_epoch != proposal.leader_epoch
    ):
        return None
    for broker_id, epoch in proposal.joining.items():
        broker = image.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            return None
    try:
        return change_isr(
            image, topic, index, proposal.isr, partition_epoch=proposal.partition_epoch
        )
    except ClientFault:
        return None  # A member is no replica any more, or has gone.


def _log_proposal(partition: Partition, known: Sequence[int], wanted: Sequence[int]) -> None:
    name, log = partition.topic_partition, partition.log
    leaving = [each for each in known if each not in wanted]
    if leaving:
        laggards = " ".join(
            f"(brokerId: {each}, endOffset: {partition.followers[each].log_end_offset}, "
            f"lastCaughtUpTimeMs: {partition.followers[each].last_caught_up_ms})"
            for each in leaving
        )
        logs.PARTITION.info(
            "[Partition %s broker=%d] Shrinking ISR from %s to %s. Leader: (highWatermark: %d, "
            "endOffset: %d). Out of sync replicas: %s.",
            name,
            partition.broker_id,
            _listed(known),
            _listed([each for each in known if each in wanted]),
            log.high_watermark,
            log.log_end_offset,
            laggards,
        )
    if any(each not in known for each in wanted):
        logs.PARTITION.info(
            "[Partition %s broker=%d] Expanding ISR from %s to %s",
            name,
            partition.broker_id,
            _listed([each for each in known if each in wanted]),
            _listed(wanted),
        )


def _listed(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
