"""The logs of the simulated broker, on a disk that outlives it.

The order of steps is that of the broker's `Storage`: a flush begins in one event and is done in
a later one, and what is appended meanwhile waits for the next.
"""

from __future__ import annotations

from collections.abc import Callable
from errno import ENOSPC
from random import Random
from typing import Final
from uuid import UUID

from headrace.errors import ClientFault, Error
from headrace.log import Appended, LogConfig, Records
from headrace.log.compaction import CleanerMemory, Cleaning, make_plan, measure
from headrace.log.directory import LogDirectory
from headrace.log.swap import exchange
from headrace.replica.leadership import Leadership
from headrace.replica.partition import Partition
from headrace.testing import MemoryDisk
from headrace.types import TopicPartition
from tests.simulation.catalogue import Catalogue
from tests.simulation.failure import check

PATH: Final = "/data"
_LONGEST_FLUSH_MS: Final = 12
_LONGEST_SLOW_FLUSH_MS: Final = 400
_CLEANER: Final = CleanerMemory(key_map_bytes=1 << 16, io_bytes=1 << 14)

Later = Callable[[int, str, Callable[[], None]], object]


class KillableDisk(MemoryDisk):
    """A disk whose program can be killed: what it wrote is there, whether it was synced or not."""

    def survive_kill(self) -> None:
        self._crashed = False
        self._crash_at = -1
        self._locks.clear()


class SimulatedPartition(Partition):
    """A partition on a disk that may be full: an append may fail then, and nothing changes."""

    __slots__ = ("is_disk_full",)

    is_disk_full: Callable[[], bool]

    def append(
        self, batches: memoryview, *, acks: int, now_ms: int, records: Records = Records.NOW
    ) -> Appended:
        if self.is_disk_full():
            # As `Storage.on_disk_fault` of the broker tells it.
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, "the broker's disk is full")
        return super().append(batches, acks=acks, now_ms=now_ms, records=records)

    def append_internal(
        self, batch: bytes, *, now_ms: int, transaction_version: int = 0
    ) -> Appended:
        if self.is_disk_full():
            raise OSError(ENOSPC, "No space left on device")
        return super().append_internal(
            batch, now_ms=now_ms, transaction_version=transaction_version
        )


class Storage:
    """Every partition, led by this broker."""

    def __init__(
        self,
        disk: MemoryDisk,
        catalogue: Catalogue,
        config_of: Callable[[str], LogConfig],
        new_uuid: Callable[[], UUID],
        later: Later,
        rng: Random,
        now_ms: int,
    ) -> None:
        self.partitions: dict[TopicPartition, Partition] = {}
        self.is_disk_full = False
        self._rng = rng
        self._catalogue = catalogue
        self._config_of = config_of
        self._later = later
        self._flushing: dict[Partition, bool] = {}  # value: flush again when done
        self._disk = disk
        self.directory = LogDirectory.open(
            disk, PATH, cluster_id="simulated", node_id=1, uuid_factory=new_uuid
        )
        report = self.directory.load(config_of, now_ms)
        check(not report.quarantined, "logs-open", f"quarantined: {report.quarantined}")
        self._finish_deletions(now_ms)
        for name in list(catalogue.names()):
            self.lead(name, now_ms)

    def _finish_deletions(self, now_ms: int) -> None:
        for topic_partition, log in list(self.directory.logs.items()):
            known = self._catalogue.partition(*topic_partition)
            if known is None or log.topic_id not in (known.topic_id, UUID(int=0)):
                self.directory.delete(topic_partition, now_ms)

    def lead(self, name: str, now_ms: int) -> None:
        """Lead every partition of a topic that is not led yet."""
        topic = self._catalogue.topics[name]
        for topic_partition in self._catalogue.partitions(name):
            if topic_partition in self.partitions:
                continue
            log = self.directory.logs.get(topic_partition)
            if log is None:
                config = self._config_of(name)
                log = self.directory.create(topic_partition, topic.topic_id, config, now_ms)
            else:
                self.directory.assign_topic_id(topic_partition, topic.topic_id)
            partition = SimulatedPartition(topic_partition, topic.topic_id, log, broker_id=1)
            partition.lead(Leadership(1, 0, 0, (1,), (1,)), now_ms)
            partition.is_disk_full = self._has_no_room
            self.partitions[topic_partition] = partition

    def remove(self, name: str, now_ms: int) -> None:
        """Let go of a deleted topic."""
        for topic_partition in [each for each in self.partitions if each.topic == name]:
            partition = self.partitions.pop(topic_partition)
            partition.take_offline(f"{topic_partition} was deleted")
            self.directory.delete(topic_partition, now_ms)

    def find(self, topic: str, index: int) -> Partition:
        partition = self.partitions.get(TopicPartition(topic, index))
        if partition is None:
            raise ClientFault(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{index} is not here")
        return partition

    def _has_no_room(self) -> bool:
        # Others free space as well: one append fails and the next one does not.
        return self.is_disk_full and self._rng.random() < 0.5

    # Flushing.

    def written(self, partition: Partition, appended: Appended) -> None:
        if appended.flush_due or appended.rolled:
            self.flush(partition)

    def flush(self, partition: Partition) -> None:
        """Bring a log to stable storage after a while; a second call joins or follows the first."""
        if partition in self._flushing:
            self._flushing[partition] = True
            return
        flush = partition.log.begin_flush()
        if flush is None:
            partition.on_flushed(partition.log.log_end_offset)
            return
        self._flushing[partition] = False

        def done() -> None:
            again = self._flushing.pop(partition)
            if partition.offline_reason:
                return
            flush.run()
            partition.log.complete_flush(flush)
            partition.on_flushed(flush.up_to)
            if again:
                self.flush(partition)

        is_slow = self._rng.random() < 0.1
        delay_ms = self._rng.randrange(_LONGEST_SLOW_FLUSH_MS if is_slow else _LONGEST_FLUSH_MS)
        self._later(delay_ms, f"flush of {partition.topic_partition}", done)

    # Compaction.

    def compact(self, topic_partition: TopicPartition, now_ms: int) -> None:
        """Compact what can be compacted of a log, all at once."""
        log = self.partitions[topic_partition].log
        cleanable = measure(log, now_ms)
        if not cleanable.dirty_bytes:
            return
        plan = make_plan(cleanable, now_ms)
        cleaning = Cleaning(self._disk, plan, _CLEANER, lambda _: None)
        cleaning.build_map()
        self.directory.write_checkpoints()
        while (cleaned := cleaning.write_next()) is not None:
            check(exchange(log, plan, cleaned, now_ms), "compaction", "nothing cut the log")
        log.clean_offset = cleaning.end_offset
        self.directory.write_checkpoints()
