"""The logs of this broker: directories, partitions, flushes, and what happens when a disk fails.

Everything that touches a log runs on the event loop, except fsync, which would stop every client:
it runs in a thread, and while it runs further appends gather behind it, so that any number of
waiting producers share one fsync.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING

from headrace.broker import logs
from headrace.errors import ClientFault, ConfigError, Error
from headrace.log.directory import LogDirectory
from headrace.log.placement import choose_directory
from headrace.replica.partition import Partition
from headrace.types import ZERO_UUID, TopicPartition

if TYPE_CHECKING:
    from headrace.cluster.image import ClusterImage, PartitionImage, TopicImage
    from headrace.log import Flush, LogConfig, PartitionLog
    from headrace.runtime.clock import Clock


class Storage:
    """See the module."""

    def __init__(
        self,
        directories: list[LogDirectory],
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        executor: Executor,
    ) -> None:
        self.directories = directories
        self.partitions: dict[tuple[str, int], Partition] = {}
        self.unserved: dict[tuple[str, int], str] = {}  # partitions in quarantine, and why
        self._clock = clock
        self._loop = loop
        self._executor = executor
        self._flushing: dict[Partition, bool] = {}  # value: flush again when done
        self._on_flushed: list[Callable[[], None]] = []

    # -- finding ----------------------------------------------------------------------------------

    def find(self, topic: str, index: int) -> Partition:
        """The partition, online, or the fault to answer."""
        partition = self.partitions.get((topic, index))
        if partition is None:
            reason = self.unserved.get((topic, index))
            if reason is not None:
                raise ClientFault(Error.KAFKA_STORAGE_ERROR, reason)
            raise ClientFault(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{index} does not exist")
        if partition.offline_reason:
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, partition.offline_reason)
        return partition

    def is_offline(self, topic: str, index: int) -> bool:
        partition = self.partitions.get((topic, index))
        return partition is None or bool(partition.offline_reason)

    def directory_of(self, topic_partition: TopicPartition) -> LogDirectory | None:
        for directory in self.directories:
            if topic_partition in directory.logs:
                return directory
        return None

    @staticmethod
    def room_in(path: str) -> tuple[int, int]:
        """(total, usable) bytes of the file system below a directory."""
        usage = shutil.disk_usage(path)
        return usage.total, usage.free

    # -- partitions come and go -------------------------------------------------------------------

    def lead(self, topic: TopicImage, index: int, image: PartitionImage, config: LogConfig) -> None:
        """Become the leader of a partition: open its log, or create it on the emptiest disk.

        A partition whose folder could not be opened is not made anew elsewhere: its records are
        still there, and somebody may mend them.
        """
        topic_partition = TopicPartition(topic.name, index)
        for directory in self.directories:
            if topic_partition in directory.quarantined:
                self.unserved[topic_partition] = directory.quarantined[topic_partition]
                return
        known = self.directory_of(topic_partition)
        log: PartitionLog
        if known is not None:
            known.assign_topic_id(topic_partition, topic.id)
            log = known.logs[topic_partition]
            log.config = config
        else:
            directory = choose_directory(self.directories)
            log = directory.create(topic_partition, topic.id, config, self._clock.now_ms())
        partition = Partition(
            topic_partition,
            topic.id,
            log,
            leader=image.leader,
            leader_epoch=image.leader_epoch,
            replicas=image.replicas,
            isr=image.isr,
        )
        self.partitions[topic_partition] = partition

    def remove_topic(self, name: str, partition_count: int) -> None:
        """Forget a deleted topic; its files are renamed now and unlinked after a delay."""
        for index in range(partition_count):
            topic_partition = TopicPartition(name, index)
            partition = self.partitions.pop(topic_partition, None)
            if partition is not None:
                partition.take_offline(f"{topic_partition} was deleted")
            directory = self.directory_of(topic_partition)
            if directory is not None:
                directory.delete(topic_partition, self._clock.now_ms())

    def remove_leftovers(self, name: str) -> None:
        """Delete every folder of a topic whose deletion was interrupted."""
        for directory in self.directories:
            for topic_partition in [key for key in directory.logs if key.topic == name]:
                directory.delete(topic_partition, self._clock.now_ms())

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
        flush = partition.log.begin_flush()
        if flush is None:
            partition.on_flushed(partition.log.log_end_offset)
            return
        self._flushing[partition] = False
        future = self._loop.run_in_executor(self._executor, flush.run)
        future.add_done_callback(partial(self._flushed, partition, partition.log, flush))

    def _flushed(
        self, partition: Partition, log: PartitionLog, flush: Flush, future: asyncio.Future[None]
    ) -> None:
        again = self._flushing.pop(partition)
        while self._on_flushed:
            self._on_flushed.pop()()
        fault = future.exception()
        if log is not partition.log:
            return  # It has moved, which made everything durable in its new place.
        if fault is not None:
            topic, index = partition.topic_partition
            assert isinstance(fault, OSError), f"fsync of {topic}-{index} failed: {fault!r}"
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

        A full disk is not broken: nothing of the append remains, and the next one may succeed.
        """
        text = f"{topic}-{index}: {_words(fault)}"
        if fault.errno in (errno.ENOSPC, errno.EDQUOT):
            logs.LOG_MANAGER.error("Disk full while appending to %s", text)
            return ClientFault(Error.KAFKA_STORAGE_ERROR, f"the broker's disk is full; {text}")
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
        lost = list(directory.logs)
        directory.fail(reason)
        for lost_partition in lost:
            partition = self.partitions.get(lost_partition)
            if partition is not None:
                partition.take_offline(reason)


def _words(fault: Exception) -> str:
    return (fault.strerror if isinstance(fault, OSError) else None) or str(fault)
