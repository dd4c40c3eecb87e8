"""The replicas of this broker: directories, partitions, flushes, and what if a disk fails.

Everything that touches a log runs on the event loop, except fsync, which would stop every client:
it runs in a thread, and while it runs further appends gather behind it, so that any number of
waiting producers share one fsync. Where many partitions come at once their folders are made in a
thread, too: each takes a disk up to a millisecond.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from headrace.broker.watching import logs
from headrace.broker.watching.durations import Durations
from headrace.cluster.image import PartitionImage
from headrace.errors import ClientFault, ConfigError, Error
from headrace.log.directory import LogDirectory
from headrace.log.placement import choose_directory
from headrace.replica.leadership import Leadership
from headrace.replica.partition import Partition
from headrace.replica.traffic import TopicTraffic
from headrace.runtime.disk import NO_DESCRIPTOR, NO_ROOM, is_passing
from headrace.types import NO_LEADER, ZERO_UUID, TopicPartition

if TYPE_CHECKING:
    from headrace.cluster.image import ClusterImage, TopicImage
    from headrace.log import Flush, LogConfig, PartitionLog
    from headrace.runtime.clock import Clock

T = TypeVar("T")

_RETRY_S: Final = 1.0
_ROLE: Final = (
    "[Broker id=%d] %s %s starts at leader epoch %d from offset %d with high watermark %d "
    "ISR [%s]. Current leader is %d. Previous leader %d and previous leader epoch was %d."
)


class Fetchers(Protocol):
    """Who brings followers what their leaders have."""

    def follow(self, partition: Partition) -> None: ...

    def leave(self, topic_partition: TopicPartition) -> None: ...


class Storage:
    """See the module."""

    def __init__(
        self,
        directories: list[LogDirectory],
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        executor: Executor,
        *,
        broker_id: int,
    ) -> None:
        self.directories = directories
        self.cordoned: frozenset[str] = frozenset()  # paths of directories without new partitions
        self.partitions: dict[tuple[str, int], Partition] = {}
        self.unserved: dict[tuple[str, int], str] = {}  # partitions in quarantine, and why
        # Partitions that are gone whose folders still have their names, and why after a first try.
        self._deleting: dict[TopicPartition, str] = {}
        self.traffic: dict[str, TopicTraffic] = {}  # by topic
        # Of topics that are gone, or never were: nobody can make us remember every wrong name.
        self.nameless_traffic = TopicTraffic()
        # What the cluster knows of a partition: whether one that is not here is anywhere.
        self.known: Callable[[str, int], PartitionImage | None] = lambda *_: None
        # None where there is nobody to follow.
        self.fetchers: Fetchers | None = None
        # Told of the replicas that a failed directory takes with it.
        self.on_lost: Callable[[list[TopicPartition]], None] = lambda _: None
        # Told of a replica that could not be appended to because its disk is full.
        self.on_full: Callable[[TopicPartition], None] = lambda _: None
        self._on_all_lost: Callable[[str], None] = lambda _: None
        self.broker_id = broker_id
        self._clock = clock
        self._loop = loop
        self._executor = executor
        self.flush_times = Durations(1)
        self._flushing: dict[Partition, bool] = {}  # value: flush again when done
        self._on_flushed: list[Callable[[], None]] = []

    # -- finding ----------------------------------------------------------------------------------

    def find(self, topic: str, index: int) -> Partition:
        """The replica, online, leading or following, or the fault to answer."""
        partition = self.partitions.get((topic, index))
        if partition is None or partition.offline_reason:
            raise self._absence(topic, index)
        return partition

    def find_leader(self, topic: str, index: int) -> Partition:
        """The partition, online and led by this broker, or the fault to answer."""
        partition = self.partitions.get((topic, index))
        if partition is None or partition.offline_reason or not partition.is_leader:
            raise self._absence(topic, index)
        return partition

    def _absence(self, topic: str, index: int) -> ClientFault:
        """Why a partition cannot be had here, or not from its leader."""
        partition = self.partitions.get((topic, index))
        reason = (
            self.unserved.get((topic, index)) if partition is None else partition.offline_reason
        )
        if reason:
            return ClientFault(Error.KAFKA_STORAGE_ERROR, reason)
        if partition is None and self.known(topic, index) is None:
            return ClientFault(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{index} does not exist")
        return ClientFault(
            Error.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is not led by broker {self.broker_id}"
        )

    def traffic_of(self, topic: str) -> TopicTraffic:
        """Where the traffic of a topic is counted, whether or not there is such a topic."""
        return self.traffic.get(topic, self.nameless_traffic)

    def is_offline(self, topic: str, index: int) -> bool:
        """Whether the replica that should be here cannot be served."""
        partition = self.partitions.get((topic, index))
        return partition is None or bool(partition.offline_reason)

    def directory_of(self, topic_partition: TopicPartition) -> LogDirectory | None:
        for directory in self.directories:
            if topic_partition in directory.logs:
                return directory
        return None

    # -- partitions come and go -------------------------------------------------------------------

    def apply(
        self, topic: TopicImage, index: int, image: PartitionImage, config: LogConfig
    ) -> None:
        """Let the replica of this broker be what the image says: leader, follower, or gone."""
        topic_partition = TopicPartition(topic.name, index)
        if self.broker_id not in image.replicas:
            self._stop(topic_partition, image)
            return
        partition = self.partitions.get(topic_partition)
        if partition is None:
            log = self._open(topic, topic_partition, config)
            if log is None:
                return
            partition = Partition(topic_partition, topic.id, log, broker_id=self.broker_id)
            partition.traffic = self.traffic.setdefault(topic.name, partition.traffic)
            self.partitions[topic_partition] = partition
        if partition.offline_reason:
            return
        leadership = _leadership(image)
        if leadership.leader_epoch > partition.leader_epoch:
            logs.STATE_CHANGE.info(_ROLE, self.broker_id, *_told(partition, leadership))
        if image.leader == self.broker_id:
            self._leave(topic_partition)
            partition.lead(leadership, self._clock.monotonic_ms())
        else:
            partition.follow(leadership)
            if self.fetchers is not None and image.leader != NO_LEADER:
                self.fetchers.follow(partition)
            else:
                self._leave(topic_partition)
        self.unserved.pop(topic_partition, None)

    async def make_ahead(
        self, topic: TopicImage, indexes: Sequence[int], config: LogConfig
    ) -> None:
        """Make the logs of new partitions in a thread, for `apply` to find.

        What cannot be made is left to `apply`, which tells why.
        """
        coming: Counter[str] = Counter()
        wanted: list[tuple[LogDirectory, TopicPartition]] = []
        for index in indexes:
            topic_partition = TopicPartition(topic.name, index)
            if self._may_be_made(topic_partition):
                home = choose_directory(self.directories, self.cordoned, coming)
                coming[home.path] += 1
                wanted.append((home, topic_partition))
        now_ms = self._clock.now_ms()

        def make() -> list[tuple[LogDirectory, PartitionLog]]:
            made = []
            with suppress(OSError, ClientFault):
                for home, topic_partition in wanted:
                    made.append((home, home.make(topic_partition, topic.id, config, now_ms)))
            return made

        for home, log in await self.in_thread(make):
            home.logs[log.topic_partition] = log

    def _may_be_made(self, topic_partition: TopicPartition) -> bool:
        """Whether nothing of a partition is here, not even in ruins."""
        return (
            topic_partition not in self.partitions
            and topic_partition not in self._deleting
            and any(directory.online for directory in self.directories)
            and not any(
                topic_partition in kept
                for directory in self.directories
                for kept in (directory.logs, directory.without_room, directory.quarantined)
            )
        )

    def _open(
        self, topic: TopicImage, topic_partition: TopicPartition, config: LogConfig
    ) -> PartitionLog | None:
        """The log of a replica, or a new one on the emptiest disk.

        A partition whose folder could not be opened is not made anew elsewhere: its records are
        still there, and somebody may mend them. A log that is to be deleted goes first: OSError if
        it cannot yet.
        """
        if topic_partition in self._deleting:
            self._take_away(topic_partition)
        for directory in self.directories:
            if topic_partition in directory.without_room:
                directory.load_again(topic_partition, config, self._clock.now_ms())
            if topic_partition in directory.quarantined:
                self.unserved[topic_partition] = directory.quarantined[topic_partition]
                return None
        home = self.directory_of(topic_partition)
        if home is None:
            directory = choose_directory(self.directories, self.cordoned)
            return directory.create(topic_partition, topic.id, config, self._clock.now_ms())
        home.assign_topic_id(topic_partition, topic.id)
        log = home.logs[topic_partition]
        log.config = config
        return log

    def _leave(self, topic_partition: TopicPartition) -> None:
        if self.fetchers is not None:
            self.fetchers.leave(topic_partition)

    def _stop(self, topic_partition: TopicPartition, image: PartitionImage) -> None:
        """The partition lives on other brokers from now on: forget the replica and its files."""
        self._leave(topic_partition)
        self.unserved.pop(topic_partition, None)
        partition = self.partitions.pop(topic_partition, None)
        if partition is not None:
            partition.follow(_leadership(image))
            logs.LOG_MANAGER.info("Stopped the replica of %s", topic_partition)
            self._delete(topic_partition)

    def withdraw(self, topics: Iterable[TopicImage]) -> None:
        """Serve nothing of deleted topics from now on; `delete` takes their folders away.

        The image forgets all topics of a batch of changes in one moment and may know others of the
        same names, while the folders are renamed one after the other and clients are served in
        between. Who asks for a partition of a new topic must not find the log of the old one: what
        it takes would be acknowledged and deleted. So this is done at once and costs no disk; after
        it no lookup, by whatever way, can find an old log, and none has to compare topic ids.
        """
        gone = []
        for topic in topics:
            for index in range(len(topic.partitions)):
                topic_partition = TopicPartition(topic.name, index)
                self._leave(topic_partition)
                self.unserved.pop(topic_partition, None)
                self._deleting[topic_partition] = ""
                partition = self.partitions.pop(topic_partition, None)
                if partition is not None:
                    gone.append(partition)
        # Only now: a released request may look up another of these partitions at once.
        for partition in gone:
            partition.take_offline(
                f"{partition.topic_partition} was deleted", Error.UNKNOWN_TOPIC_OR_PARTITION
            )

    def delete(self, topic_partition: TopicPartition) -> None:
        """Rename the folder of a partition that was withdrawn, unless a new log has its place; its
        files go later.
        """
        if topic_partition in self._deleting:
            self._delete(topic_partition)

    def _delete(self, topic_partition: TopicPartition) -> None:
        """Rename a folder, or remember that this must be tried again: see `deletions_left`."""
        try:
            self._take_away(topic_partition)
        except OSError as fault:
            self._deleting[topic_partition] = _words(fault)

    def _take_away(self, topic_partition: TopicPartition) -> None:
        """OSError if it is impossible for now: a longer name may need room on a full disk."""
        directory = self.directory_of(topic_partition)
        if directory is not None:
            try:
                directory.delete(topic_partition, self._clock.now_ms())
            except OSError as fault:
                if is_passing(fault):
                    raise
                self._deleting[topic_partition] = ""
                self.fail_directory(directory, fault)
        self._deleting.pop(topic_partition, None)

    def delete_again(self) -> Iterator[None]:
        """Try what could not be renamed; yields where others may be served in between."""
        for topic_partition in list(self._deleting):
            self._delete(topic_partition)
            yield

    @property
    def deletions_left(self) -> str:
        """Why deletions are not complete or not durable yet, where that can still change; empty
        if they are.
        """
        for topic_partition, reason in self._deleting.items():
            return f"the folder of {topic_partition} cannot be renamed: {reason}"
        for directory in self.directories:
            if directory.online and directory.has_unsynced_deletions:
                return f"{directory.path} cannot be synced"
        return ""

    @property
    def is_whole(self) -> bool:
        """Whether every directory is online."""
        return all(directory.online for directory in self.directories)

    def forget_topic(self, name: str) -> None:
        """All partitions of a deleted topic were removed."""
        if gone := self.traffic.pop(name, None):
            self.nameless_traffic.absorb(gone)

    async def sync_deletions(self) -> None:
        """Return when what was deleted stays deleted, whatever happens; `deletions_left` tells
        where that was impossible.
        """
        for directory in self.directories:
            if not directory.has_unsynced_deletions or not directory.online:
                continue
            try:
                await self.in_thread(directory.sync_deletions)
            except OSError as fault:
                if not is_passing(fault):
                    self.fail_directory(directory, fault)

    def in_thread(self, work: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """Let a thread do what would keep every client waiting."""
        return self._loop.run_in_executor(self._executor, work, *args)

    def remove_leftovers(self, name: str) -> None:
        """Delete every folder of a topic whose deletion was interrupted.

        OSError if this is impossible for now: the caller must not forget that they are to go.
        """
        for directory in self.directories:
            for topic_partition in [key for key in directory.logs if key.topic == name]:
                self._delete(topic_partition)
                if topic_partition in self._deleting:  # No space; at start it has no readers yet.
                    directory.delete_at_once(topic_partition)
                    del self._deleting[topic_partition]
            directory.sync_deletions()

    def remove_strays(self, image: ClusterImage) -> list[TopicPartition]:
        """Delete every log of a topic that is gone, or that lives on other brokers now."""
        strays = []
        for directory in self.directories:
            for topic_partition, log in list(directory.logs.items()):
                topic = image.topics.get(topic_partition.topic)
                partition = image.partition(*topic_partition)
                is_ours = (
                    topic is not None
                    and partition is not None
                    and self.broker_id in partition.replicas
                    and log.topic_id in (topic.id, ZERO_UUID)
                )
                if not is_ours:
                    strays.append(topic_partition)
                    self._delete(topic_partition)
            directory.sync_deletions()
        return strays

    def check_single_homes(self) -> None:
        """Refuse to serve a partition that two directories have: only one can be the truth."""
        homes: dict[TopicPartition, str] = {}
        for directory in self.directories:
            for topic_partition in directory.logs:
                other = homes.setdefault(topic_partition, directory.path)
                if other != directory.path:
                    raise ConfigError(
                        f"{topic_partition} is in {other} and in {directory.path}; "
                        "move the stale one of the two folders away"
                    )

    def unknown_logs(self, image: ClusterImage) -> dict[str, list[PartitionLog]]:
        """Logs on our disks whose topic nobody in the cluster knows, by topic name.

        A log without an id is from before topics had one, and is known by its topic's name.
        """
        found: dict[str, list[PartitionLog]] = {}
        for directory in self.directories:
            for (topic, _), log in directory.logs.items():
                known = (
                    topic in image.topics
                    if log.topic_id == ZERO_UUID
                    else log.topic_id in image.topic_names
                )
                if not known:
                    found.setdefault(topic, []).append(log)
        return found

    def serve_from(self, partition: Partition, log: PartitionLog) -> None:
        """Go on with a log that has everything of the present one, all of it on stable storage."""
        partition.log = log
        partition.on_flushed(log.log_end_offset)

    # -- flushing ---------------------------------------------------------------------------------

    def flush(self, partition: Partition) -> None:
        """Bring the log to stable storage in a thread; a second call joins or follows the first."""
        if partition in self._flushing:
            self._flushing[partition] = True
            return
        try:
            flush = partition.log.begin_flush()
        except OSError as fault:
            # Its indexes could not be written. Who waits for this flush waits until they can be.
            self.on_disk_fault(*partition.topic_partition, fault)
            self._loop.call_later(_RETRY_S, self._flush_again, partition)
            return
        if flush is None:
            partition.on_flushed(partition.log.log_end_offset)
            return
        self._flushing[partition] = False
        self._run(partition, partition.log, flush)

    def _run(self, partition: Partition, log: PartitionLog, flush: Flush) -> None:
        future = self._loop.run_in_executor(self._executor, flush.run)
        future.add_done_callback(partial(self._note_flush, perf_counter_ns()))
        future.add_done_callback(partial(self._flushed, partition, log, flush))

    def _note_flush(self, began_ns: int, _: asyncio.Future[None]) -> None:
        self.flush_times.add((perf_counter_ns() - began_ns,))

    def _flush_again(self, partition: Partition) -> None:
        is_here = self.partitions.get(partition.topic_partition) is partition
        if is_here and not partition.offline_reason:
            self.flush(partition)

    def _flushed(
        self, partition: Partition, log: PartitionLog, flush: Flush, future: asyncio.Future[None]
    ) -> None:
        again = self._flushing.pop(partition)
        while self._on_flushed:
            self._on_flushed.pop()()
        fault = future.exception()
        if log is not partition.log:
            return  # It has moved, which made everything durable in its new place.
        if self.partitions.get(partition.topic_partition) is not partition:
            return  # It was deleted; who has its name now is another one.
        if fault is not None:
            topic, index = partition.topic_partition
            assert isinstance(fault, OSError), f"fsync of {topic}-{index} failed: {fault!r}"
            if fault.errno in NO_DESCRIPTOR:
                # A file could not even be opened, so nothing that was written can be lost.
                self.on_disk_fault(topic, index, fault)
                self._flushing[partition] = again
                self._loop.call_later(_RETRY_S, self._run, partition, log, flush)
                return
            # After a failed fsync nobody knows what is on the disk: never try again, go offline.
            self._fail_directory_of(partition.topic_partition, fault)
            return
        log.complete_flush(flush)
        partition.on_flushed(flush.up_to)
        if again and not partition.offline_reason:
            self.flush(partition)

    async def drain(self) -> None:
        """Wait for the flushes that are under way."""
        while self._flushing:
            flushes = asyncio.Event()
            self._on_flushed.append(flushes.set)
            await flushes.wait()

    # -- disks that fail --------------------------------------------------------------------------

    def on_disk_fault(self, topic: str, index: int, fault: OSError) -> ClientFault:
        """A log could not be written: tell the client, and take a broken directory offline.

        A full disk is not broken: nothing of the append remains, and the next one may succeed. Nor
        is one that cannot be asked, because the process has too many files open.
        """
        text = f"{topic}-{index}: {_words(fault)}"
        if fault.errno in NO_ROOM:
            logs.LOG_MANAGER.error("Disk full while appending to %s", text)
            self.on_full(TopicPartition(topic, index))
            return ClientFault(Error.KAFKA_STORAGE_ERROR, f"the broker's disk is full; {text}")
        if is_passing(fault):
            logs.LOG_MANAGER.error(
                "Out of file descriptors while using %s; raise the limit of open files "
                "(ulimit -n) or lower max.connections",
                text,
            )
            return ClientFault(
                Error.KAFKA_STORAGE_ERROR, f"the broker is out of file descriptors; {text}"
            )
        self._fail_directory_of(TopicPartition(topic, index), fault)
        return ClientFault(Error.KAFKA_STORAGE_ERROR, text)

    def _fail_directory_of(self, topic_partition: TopicPartition, fault: OSError) -> None:
        directory = self.directory_of(topic_partition)
        if directory is not None:
            self.fail_directory(directory, fault)

    def fail_directory(self, directory: LogDirectory, fault: Exception) -> None:
        """Take a directory offline, with all partitions that live there."""
        if not directory.online:
            return
        reason = f"log directory {directory.path} is offline: {_words(fault)}"
        logs.LOG_MANAGER.error(
            "Taking %s offline with %d partitions: %s", directory.path, len(directory.logs), fault
        )
        lost = [each for each in directory.logs if each not in self._deleting]
        directory.fail(reason)
        for lost_partition in lost:
            partition = self.partitions.get(lost_partition)
            if partition is not None:
                self._leave(lost_partition)
                partition.take_offline(reason)
        self.on_lost(lost)
        if not any(each.online for each in self.directories):
            self._on_all_lost(reason)

    def call_when_all_lost(self, call: Callable[[str], None]) -> None:
        """Tell why, once no directory is left; at once if it is so already."""
        self._on_all_lost = call
        if not any(each.online for each in self.directories):
            call(self.directories[0].offline_reason)


def _leadership(image: PartitionImage) -> Leadership:
    return Leadership(
        image.leader, image.leader_epoch, image.partition_epoch, image.replicas, image.isr
    )


def _told(partition: Partition, leadership: Leadership) -> tuple[object, ...]:
    """A replica gets a role, for the log of such changes."""
    role = "Leader" if leadership.leader == partition.broker_id else "Follower"
    return (
        role,
        partition.topic_partition,
        leadership.leader_epoch,
        partition.log.log_end_offset,
        partition.log.high_watermark,
        ",".join(map(str, leadership.isr)),
        leadership.leader,
        partition.leadership.leader,
        partition.leader_epoch,
    )


def _words(fault: Exception) -> str:
    return (fault.strerror if isinstance(fault, OSError) else None) or str(fault)
