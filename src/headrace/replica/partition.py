"""A partition on this broker: its role, what is committed, who waits.

The high watermark is the offset after the last record that every in-sync replica has and that,
where the flush policy demands it, is on the leader's stable storage. Clients never read beyond it.
With one replica it follows the log's end at once. On a follower it follows the leader's, one round
trip later.

The class knows nothing of requests, versions or connections, and takes the time as an argument.
What a follower does with its leader's answers is in `following`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from headrace.errors import ClientFault, Error
from headrace.log import Appended, LogSlice, Origin, PartitionLog, Records
from headrace.log.origin import CLIENT
from headrace.replica.followers import FollowerState
from headrace.replica.isr import InSyncReplicas
from headrace.replica.leadership import (
    UNKNOWN_LEADERSHIP,
    EpochEnd,
    Leadership,
    ReplicaFetch,
    ReplicaRead,
)
from headrace.replica.traffic import TopicTraffic
from headrace.replica.uncommitted import UncommittedSizes
from headrace.replica.waiters import CommitWaiter, FetchWaiter, OffsetWaiters
from headrace.types import NO_EPOCH, BrokerId, LeaderEpoch, Offset, TopicPartition

ALL_IN_SYNC = -1  # acks=all


class Partition:
    """One replica, led by this broker or following another; without a role until it is told one."""

    __slots__ = (
        "_epoch_start_offset",
        "_in_sync",
        "_uncommitted",
        "broker_id",
        "commit_waiters",
        "durable_offset",
        "fetch_waiters",
        "flush_target",
        "flush_waiters",
        "is_leader",
        "leader_epoch",
        "leader_high_watermark",
        "leadership",
        "log",
        "offline_error",
        "offline_reason",
        "replica_waiters",
        "topic_id",
        "topic_partition",
        "traffic",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: UUID,
        log: PartitionLog,
        *,
        broker_id: BrokerId,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.broker_id = broker_id
        self.leadership: Leadership = UNKNOWN_LEADERSHIP
        self.leader_epoch: LeaderEpoch = NO_EPOCH
        self.leader_high_watermark: Offset = 0  # as a follower last heard it
        self.is_leader = False
        self.offline_reason = ""
        self.offline_error = Error.KAFKA_STORAGE_ERROR  # what it means to clients
        # This replica's own part of a commit: its log's end, or what the flush policy has let by.
        # What was in the log before was counted, or is not known to anybody.
        self.durable_offset = log.log_end_offset
        self.flush_target = 0  # `durable_offset` may not pass here before a flush has
        self.fetch_waiters: list[FetchWaiter] = []  # clients, woken by the high watermark
        self.replica_waiters: list[FetchWaiter] = []  # followers, woken by appends
        self.commit_waiters = OffsetWaiters()  # acks=all
        self.flush_waiters = OffsetWaiters()  # acks=1
        self.traffic = TopicTraffic()
        self._in_sync = InSyncReplicas(broker_id)
        self._uncommitted = UncommittedSizes()
        self._epoch_start_offset: Offset = log.log_end_offset

    @property
    def high_watermark(self) -> Offset:
        return self.log.high_watermark

    @property
    def epoch_start_offset(self) -> Offset:
        """Where the log ended when this replica began to lead."""
        return self._epoch_start_offset

    @property
    def flush_pending(self) -> bool:
        """Whether the flush policy keeps the end of the log from being counted."""
        return self.flush_target > self.durable_offset

    @property
    def followers(self) -> Mapping[BrokerId, FollowerState]:
        """What the leader knows of the other replicas."""
        return self._in_sync.followers

    # -- roles ------------------------------------------------------------------------------------

    def lead(self, leadership: Leadership, now_ms: int) -> None:
        """Begin to lead with a new leader epoch, or learn of other (in-sync) replicas in this one.

        The time is of the same clock, which never goes back, as for `read_for_replica` and
        `wanted_isr`. OSError if the start of the epoch cannot be noted; nothing has changed then.
        """
        assert leadership.leader == self.broker_id, f"{leadership} is not ours to lead"
        if not self._is_news(leadership):
            return
        log = self.log
        begins = leadership.leader_epoch > self.leader_epoch
        assert begins or self.is_leader, f"epoch {self.leader_epoch} has another leader already"
        if len(leadership.replicas) > 1:
            # A replica that is alone is never asked where its epochs began before it has records.
            latest = log.leader_epochs.latest_epoch
            assert latest <= leadership.leader_epoch, f"the log has records of epoch {latest}"
            if latest < leadership.leader_epoch:
                log.leader_epochs.assign(leadership.leader_epoch, log.log_end_offset)
        self.leadership = leadership
        if begins:
            self.leader_epoch = leadership.leader_epoch
            self.is_leader = True
            self._epoch_start_offset = log.log_end_offset
            self._in_sync.begin(leadership, now_ms)
            self._uncommitted.clear()
            _release(self.replica_waiters)
        else:
            self._in_sync.on_committed(leadership, now_ms)
        self._commit()

    def follow(self, leadership: Leadership) -> None:
        """Follow another broker, or nobody; who waits for us to lead is released."""
        assert leadership.leader != self.broker_id, f"{leadership} is ours to lead"
        if not self._is_news(leadership):
            return
        changed = leadership.leader_epoch > self.leader_epoch
        assert changed or not self.is_leader, f"epoch {self.leader_epoch} is ours to lead"
        self.leadership = leadership
        if changed:
            self.leader_epoch = leadership.leader_epoch
            self.is_leader = False
            self._in_sync.end()
            self._uncommitted.clear()
            self._release_all()

    def _is_news(self, leadership: Leadership) -> bool:
        """Whether this is later than what is known, or the same with replicas read since."""
        known = self.leadership
        return leadership != known and (leadership.leader_epoch, leadership.partition_epoch) >= (
            known.leader_epoch,
            known.partition_epoch,
        )

    # -- appending --------------------------------------------------------------------------------

    def append(
        self,
        batches: memoryview,
        *,
        acks: int,
        now_ms: int,
        records: Records = Records.NOW,
    ) -> Appended:
        """Append a client's batch; what becomes of it is told by `is_acknowledged`."""
        if self.offline_reason or not self.is_leader:
            raise self._not_led()
        log = self.log
        if acks == ALL_IN_SYNC and log.config.min_insync_replicas > 1:
            self._check_enough_in_sync(log.config.min_insync_replicas)
        appended = log.append(
            batches,
            leader_epoch=self.leader_epoch,
            origin=CLIENT,
            now_ms=now_ms,
            records=records,
        )
        self._on_appended(appended)
        return appended

    def append_internal(
        self, batch: bytes, *, now_ms: int, transaction_version: int = 0
    ) -> Appended:
        """Append a batch of a coordinator: its records, or the end of a transaction.

        It is acknowledged by all who are in sync, and those must be enough; but a small cluster has
        fewer replicas of an internal topic than its settings were made for.
        """
        if self.offline_reason or not self.is_leader:
            raise self._not_led()
        replicas = len(self.leadership.replicas)
        if replicas > 1:
            self._check_enough_in_sync(min(self.log.config.min_insync_replicas, replicas))
        appended = self.log.append(
            memoryview(batch),
            leader_epoch=self.leader_epoch,
            origin=Origin.COORDINATOR,
            now_ms=now_ms,
            transaction_version=transaction_version,
        )
        self._on_appended(appended)
        return appended

    def _check_enough_in_sync(self, least: int) -> None:
        count = len(self.leadership.isr)
        if count < least:
            raise ClientFault(
                Error.NOT_ENOUGH_REPLICAS,
                f"{self.topic_partition} has {count} in-sync replicas, min.insync.replicas={least}",
            )

    def _not_led(self) -> ClientFault:
        if self.offline_reason:
            return ClientFault(self.offline_error, self.offline_reason)
        return ClientFault(
            Error.NOT_LEADER_OR_FOLLOWER,
            f"{self.topic_partition} is led by broker {self.leadership.leader}",
        )

    def _on_appended(self, appended: Appended) -> None:
        if appended.duplicate:
            return
        traffic = self.traffic
        traffic.messages_in += appended.last_offset - appended.base_offset + 1
        traffic.bytes_in += appended.size
        end = self.log.log_end_offset
        if not appended.flush_due and self.flush_target <= self.durable_offset:
            self.durable_offset = end
            if not self._in_sync.awaited:
                self.advance_high_watermark(end, appended.size)
                if not self.replica_waiters:
                    return
            else:
                self._uncommitted.add(end, appended.size)
        else:
            if appended.flush_due:
                self.flush_target = end
            self._uncommitted.add(end, appended.size)
        for fetch in tuple(self.replica_waiters):
            fetch.on_readable(appended.size)

    def on_flushed(self, up_to: Offset) -> None:
        """A flush up to here is complete, and the log has been told.

        If the log was cut meanwhile, other records may have taken the place of those that were
        flushed; then the log's recovery point has not moved.
        """
        log = self.log
        up_to = min(up_to, log.recovery_point)
        if up_to >= self.flush_target:
            up_to = log.log_end_offset
        if up_to > self.durable_offset:
            self.durable_offset = up_to
            self.flush_waiters.release(self.durable_offset)
            if self.is_leader:
                self._commit()

    # -- what is committed ------------------------------------------------------------------------

    def _commit(self) -> None:
        """Advance the high watermark to what all in-sync replicas have, if that is further."""
        offset = self._in_sync.lowest_end(self.durable_offset)
        if offset > self.log.high_watermark:
            self.advance_high_watermark(offset, self._uncommitted.take(offset))

    def advance_high_watermark(self, offset: Offset, size: int) -> None:
        """Everything below `offset` is committed; `size` bytes became readable."""
        log = self.log
        assert log.high_watermark <= offset <= log.log_end_offset, "the high watermark only grows"
        log.high_watermark = offset
        if self.fetch_waiters:
            for fetch in tuple(self.fetch_waiters):
                fetch.on_readable(size)
        if self.commit_waiters.entries:
            self.commit_waiters.release(offset)

    def is_acknowledged(self, required: Offset, *, acks: int = ALL_IN_SYNC) -> bool:
        """Whether a write that ends before `required` can be answered now."""
        reached = self.log.high_watermark if acks == ALL_IN_SYNC else self.durable_offset
        return reached >= required

    def await_commit(
        self, required: Offset, waiter: CommitWaiter, *, acks: int = ALL_IN_SYNC
    ) -> None:
        """Tell `waiter` when `required` is acknowledged, or when this replica never will."""
        waiting = self.commit_waiters if acks == ALL_IN_SYNC else self.flush_waiters
        waiting.add(required, waiter)

    def when_committed(self, required: Offset, call: Callable[[], None]) -> None:
        """Call when the high watermark reaches `required`, or when it never will here."""
        self.await_commit(required, CommitWaiter(call))

    def commit_fault(self, required: Offset, *, acks: int = ALL_IN_SYNC) -> Error | None:
        """Why a released waiter must not be told that its write is committed; None if it is."""
        if self.offline_reason:
            return self.offline_error
        if not self.is_leader:
            return Error.NOT_LEADER_OR_FOLLOWER
        if not self.is_acknowledged(required, acks=acks):
            return Error.REQUEST_TIMED_OUT
        if acks == ALL_IN_SYNC and len(self.leadership.isr) < self.log.config.min_insync_replicas:
            return Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return None

    # -- reading ----------------------------------------------------------------------------------

    def read(
        self, offset: Offset, max_bytes: int, *, committed_only: bool, at_least_one: bool
    ) -> LogSlice:
        """Records from `offset` below the high watermark (or the last stable offset).

        A follower reads below its own (KIP-392); what its leader has beyond is not available yet.
        """
        if self.offline_reason:
            raise ClientFault(self.offline_error, self.offline_reason)
        log = self.log
        if offset > log.log_end_offset and not self.is_leader:
            raise ClientFault(
                Error.OFFSET_NOT_AVAILABLE,
                f"this follower of {self.topic_partition} has offsets up to {log.log_end_offset}",
            )
        up_to = log.last_stable_offset if committed_only else log.high_watermark
        return log.read(offset, max_bytes, up_to=up_to, at_least_one=at_least_one)

    def read_for_replica(
        self, fetch: ReplicaFetch, max_bytes: int, *, at_least_one: bool, now_ms: int
    ) -> ReplicaRead:
        """Records up to the log's end for a follower, whose position is believed from now on.

        A follower whose last epoch ended earlier here, or is not known here, is told where to cut
        (KIP-595). The caller has checked the leader epoch; ClientFault if the follower is none.
        """
        if self.offline_reason or not self.is_leader:
            raise self._not_led()
        follower = self._follower(fetch)
        log = self.log
        read = ReplicaRead(
            records=None,
            diverging=None,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
        )
        end = log.log_end_offset
        if (
            fetch.last_fetched_epoch != log.leader_epochs.latest_epoch
            or not log.log_start_offset <= fetch.offset <= end
        ) and not self._agrees(fetch, read):
            return read
        in_sync = self._in_sync
        in_sync.on_fetch(follower, fetch, end, now_ms)
        self._commit()
        if in_sync.is_outside(fetch.broker_id):
            read.can_join = follower.log_end_offset >= self._least_end()
        read.records = log.read(fetch.offset, max_bytes, up_to=end, at_least_one=at_least_one)
        return read

    def on_idle_fetch(self, broker_id: BrokerId, broker_epoch: int, now_ms: int) -> bool:
        """An in-sync follower that has everything asks again; False if it must be read for it.

        The same as `read_for_replica` with the position of the last time, where nothing was
        appended since, without the cost of an answer.
        """
        follower = self._in_sync.followers.get(broker_id)
        end = self.log.log_end_offset
        if (
            follower is None
            or not self.is_leader
            or self.offline_reason
            or follower.log_end_offset != end
            or follower.broker_epoch != broker_epoch
            or broker_id not in self.leadership.isr
        ):
            return False
        follower.last_caught_up_ms = follower.last_fetch_ms = now_ms
        follower.last_fetch_leader_end = end
        return True

    def _agrees(self, fetch: ReplicaFetch, read: ReplicaRead) -> bool:
        """Whether a follower's log is the beginning of ours; if not, `read` tells it what to do."""
        log = self.log
        if fetch.offset < log.log_start_offset:
            read.error = Error.OFFSET_OUT_OF_RANGE
        elif fetch.last_fetched_epoch == NO_EPOCH:
            if fetch.offset > log.log_end_offset:
                read.error = Error.OFFSET_OUT_OF_RANGE
        else:
            ours = EpochEnd(
                *log.leader_epochs.end_offset_for(fetch.last_fetched_epoch, log.log_end_offset)
            )
            if ours.epoch == NO_EPOCH:
                read.error = Error.OFFSET_OUT_OF_RANGE
            elif ours.epoch < fetch.last_fetched_epoch or ours.end_offset < fetch.offset:
                read.diverging = ours
        return not read.error and read.diverging is None

    def _follower(self, fetch: ReplicaFetch) -> FollowerState:
        follower = self._in_sync.followers.get(fetch.broker_id)
        if follower is None:
            # It knows our leader epoch and yet is news to us: we are behind, and it may try again.
            raise ClientFault(
                Error.UNKNOWN_LEADER_EPOCH,
                f"broker {fetch.broker_id} is not a replica of {self.topic_partition}",
            )
        if -1 < fetch.broker_epoch < follower.broker_epoch:
            raise ClientFault(
                Error.NOT_LEADER_OR_FOLLOWER,
                f"broker {fetch.broker_id} has been registered with epoch "
                f"{follower.broker_epoch} since; this fetch is from {fetch.broker_epoch}",
            )
        return follower

    # -- in-sync replicas -------------------------------------------------------------------------

    def _least_end(self) -> Offset:
        """What a follower must have to be as good a leader as we are."""
        return max(self.log.high_watermark, self._epoch_start_offset)

    def wanted_isr(
        self, now_ms: int, *, lag_time_max_ms: int, broker_epochs: Mapping[BrokerId, int]
    ) -> tuple[BrokerId, ...] | None:
        """The in-sync replicas that the leader would have now; None if it has them.

        `broker_epochs` are the registered brokers: whoever fetches from an earlier life of its
        broker does not enter. While a proposal is under way nothing else is wanted.
        """
        if self.offline_reason or not self.is_leader or self._in_sync.proposed is not None:
            return None
        in_sync, leader_end = self._in_sync, self.log.log_end_offset
        in_sync.forget_absent(
            now_ms,
            leader_end=leader_end,
            lag_time_max_ms=lag_time_max_ms,
            broker_epochs=broker_epochs,
        )
        # What they kept back is committed now, and whoever enters must have it.
        self._commit()
        wanted = in_sync.wanted(
            now_ms,
            leader_end=leader_end,
            least_end=self._least_end(),
            lag_time_max_ms=lag_time_max_ms,
            broker_epochs=broker_epochs,
        )
        return None if wanted == self.leadership.isr else wanted

    def propose_isr(self, isr: tuple[BrokerId, ...]) -> None:
        """From now until it is settled both these and the committed ones must have a record.

        It is settled by `lead` with exactly these, or by `settle_isr`.
        """
        assert self.is_leader, "only a leader proposes"
        self._in_sync.propose(isr)

    def settle_isr(self) -> None:
        """The proposal is over and its outcome has been applied, if it had one.

        Not to be called while the outcome is unknown, as after a lost connection: read first.
        """
        if self.is_leader:
            self._in_sync.settle()
            self._commit()

    # -- epochs and ends --------------------------------------------------------------------------

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

    def take_offline(self, reason: str, error: Error = Error.KAFKA_STORAGE_ERROR) -> None:
        """The log's directory failed, or the topic is gone: nothing is read or written here any
        more, and waiting requests are released with the error.
        """
        self.offline_reason = reason
        self.offline_error = error
        self._release_all()

    def _release_all(self) -> None:
        self.commit_waiters.release_all()
        self.flush_waiters.release_all()
        _release(self.replica_waiters)
        _release(self.fetch_waiters)


def _release(waiters: list[FetchWaiter]) -> None:
    for waiter in tuple(waiters):
        waiter.release()
