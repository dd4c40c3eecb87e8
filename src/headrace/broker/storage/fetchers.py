"""The partitions that this broker follows, and the tasks that bring it their records.

Towards each leader `num.replica.fetchers` conversations run side by side; a partition belongs to
one of them. What to ask and what an answer means is decided by `headrace.replica.fetcher`; here are
the event loop's duties for it: connections, pauses, flushes, disks that fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from headrace.broker.net.peers import PeerUnreachable
from headrace.broker.storage.replication_throttle import ReplicationThrottle
from headrace.broker.watching import logs
from headrace.cluster.image import Change, changes_broker_configs
from headrace.errors import Error, HeadraceError
from headrace.replica.fetcher import Fetched, PartitionFault, ReplicaFetcher
from headrace.replica.waiters import CommitWaiter
from headrace.runtime.disk import is_passing

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.net.peers import Peers
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.log.directory import LogDirectory
    from headrace.replica.partition import Partition
    from headrace.types import TopicPartition
    from headrace.wire.messages.fetch import FetchResponse

# How long the logs of one answer may keep everybody else waiting.
_TURN_S: Final = 0.002
# A long poll that is under way knows nothing of a partition that has come since: it is cut short
# after a moment, in which others may come too, but not so often that it costs more than it brings.
_CUT_SHORT_AFTER_S: Final = 0.02
_CUT_SHORT_EVERY_S: Final = 0.5
# How soon a cut that could not be noted is noted again.
_NOTE_AGAIN_S: Final = 1.0
# How often a fetcher looks whether a quota lets it go on.
_QUOTA_PAUSE_MS: Final = 100
# What happens whenever leadership moves, until everybody has heard of it, which takes a moment and
# not `replica.fetch.backoff.ms`: the first questions are repeated sooner.
_FIRST_RETRY_MS: Final = 20
_PASSING: Final = frozenset(
    {
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_LEADER_EPOCH,
        Error.UNKNOWN_TOPIC_ID,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class _Place(NamedTuple):
    """Where a partition is fetched, and the leader epoch that this is right for."""

    fetcher: _Fetcher
    partition: Partition
    leader_epoch: int


class ReplicaFetchers:
    """See the module. `config` gives the settings as they are now."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: int,
        peers: Peers,
        storage: Storage,
        machine: Machine,
        config: Callable[[], BrokerConfig],
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.peers = peers
        self.storage = storage
        self.clock = machine.clock
        self.stopwatch = machine.stopwatch
        self.config = config
        self.throttle = ReplicationThrottle("follower", broker_id, peers.image)
        self._fetchers: dict[tuple[int, int], _Fetcher] = {}  # (leader, number)
        self._places: dict[TopicPartition, _Place] = {}
        self._stopped = False

    def follow(self, partition: Partition) -> None:
        """Fetch from the partition's leader from now on, and from no other."""
        if self._stopped:
            return
        name = partition.topic_partition
        key = (partition.leadership.leader, self._number_of(name))
        place = self._places.get(name)
        if (
            place is not None
            and place.partition is partition
            and place.leader_epoch == partition.leader_epoch
            and place.fetcher is self._fetchers.get(key)
        ):
            return  # Only its in-sync replicas have changed.
        self.leave(name)
        fetcher = self._fetchers.get(key)
        if fetcher is None:
            fetcher = self._fetchers[key] = _Fetcher(self, *key)
        self._places[name] = _Place(fetcher, partition, partition.leader_epoch)
        fetcher.add(partition)

    def leave(self, topic_partition: TopicPartition) -> None:
        """Stop fetching: the partition is led here, has no leader, or is gone."""
        place = self._places.pop(topic_partition, None)
        if place is None:
            return
        fetcher = place.fetcher
        if not fetcher.remove(topic_partition):
            del self._fetchers[fetcher.leader_id, fetcher.number]
            fetcher.stop()

    def rejoin(self, broker_epoch: int) -> None:
        """This broker has registered anew: every conversation goes on with the new epoch."""
        self.broker_epoch = broker_epoch
        for fetcher in self._fetchers.values():
            fetcher.rejoin(broker_epoch)

    async def stop(self) -> None:
        """Stop fetching altogether; what was received is in the logs when this returns."""
        self._stopped = True
        self._places.clear()
        fetchers, self._fetchers = self._fetchers, {}
        for fetcher in fetchers.values():
            fetcher.stop()
        await asyncio.gather(*(each.task for each in fetchers.values()), return_exceptions=True)

    def on_changes(self, changes: Sequence[Change]) -> None:
        """Spread the partitions again where `num.replica.fetchers` may have changed."""
        if changes_broker_configs(changes):
            for place in list(self._places.values()):
                self.follow(place.partition)

    def followed_by(self, fetcher: _Fetcher, name: TopicPartition) -> Partition | None:
        """A partition, if this fetcher still has it."""
        place = self._places.get(name)
        return place.partition if place is not None and place.fetcher is fetcher else None

    def _number_of(self, topic_partition: TopicPartition) -> int:
        count = self.config().get_int("num.replica.fetchers")
        return (crc32(topic_partition.topic.encode()) + topic_partition.partition) % count


class _Fetcher:
    """One conversation with one leader, as a task."""

    def __init__(self, owner: ReplicaFetchers, leader_id: int, number: int) -> None:
        config = owner.config()
        self.leader_id = leader_id
        self.number = number
        self._owner = owner
        self._channel = f"fetcher-{number}"
        self._timeout_ms = config.get_int("replica.socket.timeout.ms")
        self._max_wait_ms = config.get_int("replica.fetch.wait.max.ms")
        self._machine = ReplicaFetcher(
            broker_id=owner.broker_id,
            broker_epoch=owner.broker_epoch,
            leader_id=leader_id,
            max_wait_ms=self._max_wait_ms,
            min_bytes=config.get_int("replica.fetch.min.bytes"),
            max_bytes=config.get_int("replica.fetch.response.max.bytes"),
            partition_max_bytes=config.get_int("replica.fetch.max.bytes"),
            backoff_ms=config.get_int("replica.fetch.backoff.ms"),
        )
        self._is_lost = False  # told once for each outage
        self._faults: dict[TopicPartition, Error] = {}  # likewise
        self._retries: dict[TopicPartition, int] = {}  # how often it was asked again so soon
        self._restless_until_ms = 0  # no long polls until then: a partition wants to join them
        self._unflushed: list[Partition] = []
        self._unnoted: dict[str, LogDirectory] = {}  # where logs were cut; by path
        self._asked = 0  # requests so far
        self._cut_short = False  # the one that is under way was given up on purpose
        self._cut_short_at = 0.0
        self._wake = asyncio.Event()
        self._stopped = False
        self.task = asyncio.get_running_loop().create_task(self._run())

    # -- for the owner ----------------------------------------------------------------------------

    def add(self, partition: Partition) -> None:
        self._machine.add(partition)
        if partition.flush_pending:
            # What it was given before it came here is not on the disk yet: wait for that as well.
            waiter = CommitWaiter(self._wake.set)
            partition.await_commit(partition.flush_target, waiter, acks=1)
        self._wake.set()
        if self._machine.in_flight:
            loop = asyncio.get_running_loop()
            loop.call_later(_CUT_SHORT_AFTER_S, self._begin_anew, self._asked)

    def _begin_anew(self, asked: int) -> None:
        """Give up the request that was under way, if it still is."""
        now = self._owner.stopwatch()
        if (
            self._asked == asked
            and self._machine.in_flight
            and not self._stopped
            and now - self._cut_short_at >= _CUT_SHORT_EVERY_S
        ):
            self._cut_short_at = now
            self._cut_short = True
            self._owner.peers.forget(self.leader_id, self._channel)

    def remove(self, topic_partition: TopicPartition) -> bool:
        """Forget a partition; whether there are others left."""
        self._machine.remove(topic_partition)
        self._faults.pop(topic_partition, None)
        self._retries.pop(topic_partition, None)
        self._wake.set()  # its flush is nothing to wait for any more
        return bool(self._machine.partitions)

    def rejoin(self, broker_epoch: int) -> None:
        self._machine.broker_epoch = broker_epoch

    def stop(self) -> None:
        self._stopped = True
        if self.task is not asyncio.current_task():
            self.task.cancel()
        self._owner.peers.forget(self.leader_id, self._channel)

    # -- the loop ---------------------------------------------------------------------------------

    async def _run(self) -> None:
        owner, machine = self._owner, self._machine
        now_ms = owner.clock.monotonic_ms
        while not self._stopped:
            if self._restless_until_ms:
                self._choose_wait(now_ms())
            machine.is_throttled = self._is_throttled if owner.throttle.is_set else None
            request = None if self._waits_for_disk() else machine.next_request(now_ms())
            if request is None:
                await self._pause()
                continue
            self._asked += 1
            self._cut_short = False
            try:
                response = await owner.peers.ask(
                    self.leader_id, request, timeout_ms=self._timeout_ms, channel=self._channel
                )
                if not self._stopped:
                    self._on_fetched(await self._take(response))
            except PeerUnreachable as fault:
                self._on_lost(fault)
            except HeadraceError as fault:
                # What the leader says cannot be; say so, and ask it again after a while.
                logs.REPLICA_FETCHER.critical("%s %s", self._prefix, fault)
                machine.on_lost(now_ms())

    def _waits_for_disk(self) -> bool:
        """Whether a flush is under way, since a long poll without its partition would hold it up,
        or a cut is not noted yet.
        """
        self._unflushed = [
            partition
            for partition in self._unflushed
            if partition.flush_pending
            and not partition.offline_reason
            and self._owner.followed_by(self, partition.topic_partition) is partition
        ]
        return bool(self._unflushed or self._unnoted)

    async def _take(self, response: FetchResponse) -> Fetched:
        """Append what came; others get their turn between the partitions of a large answer."""
        fetched = Fetched()
        clock, stopwatch = self._owner.clock, self._owner.stopwatch
        turn_ends = stopwatch() + _TURN_S
        now_ms, wall_ms = clock.monotonic_ms(), clock.now_ms()
        for _ in self._machine.take(response, now_ms, fetched, wall_ms=wall_ms):
            if stopwatch() > turn_ends:
                await asyncio.sleep(0)
                turn_ends = stopwatch() + _TURN_S
        return fetched

    async def _pause(self) -> None:
        """Wait for a partition, a flush, or the time at which something may be asked again."""
        owner = self._owner
        now_ms = owner.clock.monotonic_ms()
        at_ms = self._machine.retry_at_ms(now_ms)
        wait_ms = None if at_ms is None else max(at_ms - now_ms, 1)
        if owner.throttle.is_set:
            wait_ms = min(wait_ms or _QUOTA_PAUSE_MS, _QUOTA_PAUSE_MS)
        self._wake.clear()
        try:
            async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _is_throttled(self, partition: TopicPartition, now_ms: int) -> bool:
        throttle = self._owner.throttle
        return throttle.covers(partition, self._owner.broker_id) and not throttle.allows(now_ms)

    # -- what an answer means here ----------------------------------------------------------------

    def _on_fetched(self, fetched: Fetched) -> None:
        if self._is_lost:
            self._is_lost = False
            logs.REPLICA_FETCHER.info("%s The leader answers again", self._prefix)
        if fetched.error:
            logs.REPLICA_FETCHER.info("%s Fetch refused: %s", self._prefix, fetched.error.name)
        if self._faults:
            for name in fetched.appended:
                self._faults.pop(name, None)
                self._retries.pop(name, None)
        storage = self._owner.storage
        for name, appended in fetched.appended.items():
            if appended.rolled:
                partition = storage.partitions.get(name)
                if partition is not None:
                    storage.flush(partition)
        if fetched.truncated:
            self._on_truncated(fetched)
        for name, fault in fetched.errors.items():
            self._on_fault(name, fault)
        for name, disk_fault in fetched.disk_faults.items():
            storage.on_disk_fault(*name, disk_fault)
        for partition in fetched.flush_first:
            target = partition.flush_target
            partition.await_commit(target, CommitWaiter(self._wake.set), acks=1)
            storage.flush(partition)
        self._unflushed += fetched.flush_first
        if fetched.appended:
            self._count(fetched)

    def _count(self, fetched: Fetched) -> None:
        throttle = self._owner.throttle
        if throttle.is_set:
            size = sum(
                appended.size
                for name, appended in fetched.appended.items()
                if throttle.covers(name, self._owner.broker_id)
            )
            throttle.record(size, self._owner.clock.monotonic_ms())

    def _on_truncated(self, fetched: Fetched) -> None:
        storage = self._owner.storage
        for name, cut in fetched.truncated.items():
            logs.REPLICA_FETCHER.info(
                "%s Truncating partition %s from offset %d to %d",
                self._prefix,
                name,
                cut.from_offset,
                cut.to_offset,
            )
            if cut.lost_committed:
                logs.REPLICA_FETCHER.warning(
                    "%s %s: records below the high watermark %d were cut, for the leader does not "
                    "have them: an unclean election, or data that was lost by all in-sync replicas",
                    self._prefix,
                    name,
                    cut.high_watermark,
                )
            directory = storage.directory_of(name)
            if directory is not None:
                self._unnoted[directory.path] = directory
        self._note_cuts()

    def _note_cuts(self) -> None:
        """See to it that no recovery point beyond the new end of a log is believed after a crash.

        Where even that is impossible for now it is tried again, and nothing is fetched meanwhile:
        what is appended behind a cut would count as flushed. Once this fetcher has stopped the
        next checkpoints of the broker do it.
        """
        if self._stopped:
            return
        for path, directory in list(self._unnoted.items()):
            try:
                if directory.online:
                    _note_cut(directory)
            except OSError as fault:
                if is_passing(fault):
                    continue
                self._owner.storage.fail_directory(directory, fault)
            del self._unnoted[path]
        if self._unnoted:
            asyncio.get_running_loop().call_later(_NOTE_AGAIN_S, self._note_cuts)
        self._wake.set()

    def _on_fault(self, name: TopicPartition, fault: PartitionFault) -> None:
        level = logs.REPLICA_FETCHER.error
        if fault.error in _PASSING:
            level = logs.REPLICA_FETCHER.info
            self._ask_again_soon(name)
        if self._faults.get(name) is not fault.error:
            self._faults[name] = fault.error
            level("%s Partition %s pauses: %s", self._prefix, name, fault.message)

    def _ask_again_soon(self, name: TopicPartition) -> None:
        retries = self._retries.get(name, 0)
        delay_ms = _FIRST_RETRY_MS << retries
        if delay_ms >= self._machine.backoff_ms:
            return
        self._retries[name] = retries + 1
        now_ms = self._owner.clock.monotonic_ms()
        self._restless_until_ms = max(self._restless_until_ms, now_ms + 2 * delay_ms)
        loop = asyncio.get_running_loop()
        loop.call_later(delay_ms / 1000, self._ask_again, name)

    def _ask_again(self, name: TopicPartition) -> None:
        partition = self._owner.followed_by(self, name)
        if partition is not None:
            self.add(partition)

    def _choose_wait(self, now_ms: int) -> None:
        machine = self._machine
        machine.max_wait_ms = min(_FIRST_RETRY_MS, self._max_wait_ms)
        if now_ms >= self._restless_until_ms:
            self._restless_until_ms = 0
            machine.max_wait_ms = self._max_wait_ms

    def _on_lost(self, fault: PeerUnreachable) -> None:
        now_ms = self._owner.clock.monotonic_ms()
        if self._cut_short:
            self._machine.on_lost(now_ms - self._machine.backoff_ms)  # without a pause
            return
        self._machine.on_lost(now_ms)
        if not self._is_lost and not self._stopped:
            self._is_lost = True
            logs.REPLICA_FETCHER.warning("%s Error in fetch: %s", self._prefix, fault)

    @property
    def _prefix(self) -> str:
        return (
            f"[ReplicaFetcher replicaId={self._owner.broker_id}, leaderId={self.leader_id}, "
            f"fetcherId={self.number}]"
        )


def _note_cut(directory: LogDirectory) -> None:
    """Write the recovery points as they are now; without room for that there are none."""
    try:
        directory.write_checkpoints()
    except OSError as fault:
        if not is_passing(fault):
            raise
        directory.forget_recovery_points()
