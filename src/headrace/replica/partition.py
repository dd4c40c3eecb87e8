"""A partition as its leader sees it: who replicates it, what is committed, who waits.

The high watermark is the offset after the last record that every in-sync replica has, and, where
the flush policy demands it, that is on stable storage. With one replica it follows the log end.
Clients never read beyond it. The class knows nothing of requests, versions or time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from headrace.errors import ClientFault, Error
from headrace.log import Appended, LogSlice, Origin, PartitionLog
from headrace.replica.waiters import CommitWaiter, FetchWaiter
from headrace.types import NO_EPOCH, BrokerId, LeaderEpoch, Offset, TopicPartition

ALL_IN_SYNC = -1  # acks=all


class Partition:
    """One partition led by this broker."""

    __slots__ = (
        "commit_waiters",
        "fetch_waiters",
        "flush_target",
        "isr",
        "leader",
        "leader_epoch",
        "log",
        "offline_reason",
        "replicas",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: UUID,
        log: PartitionLog,
        *,
        leader: BrokerId,
        leader_epoch: LeaderEpoch,
        replicas: Sequence[BrokerId],
        isr: Sequence[BrokerId],
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.replicas = tuple(replicas)
        self.isr = tuple(isr)
        self.offline_reason = ""
        self.flush_target = 0  # the high watermark may not pass here before a flush has
        self.fetch_waiters: list[FetchWaiter] = []
        self.commit_waiters: list[tuple[Offset, CommitWaiter]] = []
        # What a restarted log holds below its end was acknowledged by its only replica.
        log.high_watermark = log.log_end_offset

    @property
    def high_watermark(self) -> Offset:
        return self.log.high_watermark

    def append(self, batches: memoryview, *, acks: int, now_ms: int) -> Appended:
        """Append a client's batch; the high watermark follows at once unless a flush is due."""
        if self.offline_reason:
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, self.offline_reason)
        log = self.log
        if acks == ALL_IN_SYNC and len(self.isr) < log.config.min_insync_replicas:
            raise ClientFault(
                Error.NOT_ENOUGH_REPLICAS,
                f"{self.topic_partition} has {len(self.isr)} in-sync replicas, "
                f"min.insync.replicas={log.config.min_insync_replicas}",
            )
        appended = log.append(
            batches, leader_epoch=self.leader_epoch, origin=Origin.CLIENT, now_ms=now_ms
        )
        self._on_appended(appended)
        return appended

    def append_internal(
        self, batch: bytes, *, now_ms: int, transaction_version: int = 0
    ) -> Appended:
        """Append a batch of a coordinator: its records, or the end of a transaction."""
        if self.offline_reason:
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, self.offline_reason)
        appended = self.log.append(
            memoryview(batch),
            leader_epoch=self.leader_epoch,
            origin=Origin.COORDINATOR,
            now_ms=now_ms,
            transaction_version=transaction_version,
        )
        self._on_appended(appended)
        return appended

    def _on_appended(self, appended: Appended) -> None:
        log = self.log
        if appended.flush_due:
            self.flush_target = log.log_end_offset
        elif self.flush_target <= log.high_watermark and not appended.duplicate:
            self.advance_high_watermark(log.log_end_offset, appended.size)

    def on_flushed(self, up_to: Offset) -> None:
        """Everything below `up_to` is on stable storage."""
        if up_to >= self.flush_target:
            up_to = self.log.log_end_offset
        if up_to > self.log.high_watermark:
            # How many bytes that is does not matter: whoever waits looks again.
            self.advance_high_watermark(up_to, 1 << 62)

    def advance_high_watermark(self, offset: Offset, size: int) -> None:
        """Everything below `offset` is committed; `size` bytes became readable."""
        log = self.log
        assert log.high_watermark <= offset <= log.log_end_offset, "the high watermark only grows"
        log.high_watermark = offset
        if self.fetch_waiters:
            for fetch in tuple(self.fetch_waiters):
                fetch.on_readable(size)
        if self.commit_waiters:
            self._release_committed(offset)

    def _release_committed(self, offset: Offset) -> None:
        waiting = self.commit_waiters
        self.commit_waiters = [entry for entry in waiting if entry[0] > offset]
        for required, waiter in waiting:
            if required <= offset:
                waiter.on_committed()

    def await_commit(self, required: Offset, waiter: CommitWaiter) -> None:
        """Tell `waiter` when the high watermark reaches `required`."""
        waiter.outstanding += 1
        self.commit_waiters.append((required, waiter))

    def when_committed(self, required: Offset, call: Callable[[], None]) -> None:
        """Call when the high watermark reaches `required`, or when the partition goes offline."""
        self.await_commit(required, CommitWaiter(call))

    def read(
        self, offset: Offset, max_bytes: int, *, committed_only: bool, at_least_one: bool
    ) -> LogSlice:
        """Records from `offset` below the high watermark (or the last stable offset)."""
        if self.offline_reason:
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, self.offline_reason)
        log = self.log
        up_to = log.last_stable_offset if committed_only else log.high_watermark
        return log.read(offset, max_bytes, up_to=up_to, at_least_one=at_least_one)

    def check_leader_epoch(self, epoch: LeaderEpoch) -> None:
        """Refuse a client whose view of the leadership is older or newer than ours (KIP-320)."""
        if epoch == NO_EPOCH or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise ClientFault(
                Error.FENCED_LEADER_EPOCH,
                f"{self.topic_partition} is at leader epoch {self.leader_epoch}, not {epoch}",
            )
        raise ClientFault(
            Error.UNKNOWN_LEADER_EPOCH,
            f"{self.topic_partition} is at leader epoch {self.leader_epoch}; {epoch} is not known",
        )

    def take_offline(self, reason: str) -> None:
        """The log's directory failed: nothing is read or written here until a restart."""
        self.offline_reason = reason
        waiting, self.commit_waiters = self.commit_waiters, []
        for _, waiter in waiting:
            waiter.on_committed()
        for fetch in tuple(self.fetch_waiters):
            fetch.release()
