"""Compaction in the background: which log is next, who compacts it, what happens when it fails.

The decisions are made here, on the event loop: the dirtiest log is planned, a process of its own
(`cleaner_process`) reads and writes segments, and each finished one is exchanged for old ones
between two requests. Clients never wait for it. What leaves a log by age or size is none of its
business: retention does that for compacted logs too.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from headrace.broker.storage.cleaner_pipe import CleanerFault, CleanerPipe
from headrace.broker.watching import logs
from headrace.errors import CorruptData
from headrace.log.append import COMPACT
from headrace.log.compaction import (
    Cleanable,
    CleanerMemory,
    CleaningPlan,
    CleaningStats,
    dirtiest,
    discard,
    make_plan,
    measure,
)
from headrace.log.swap import exchange
from headrace.runtime.disk import is_passing
from headrace.types import TopicPartition

if TYPE_CHECKING:
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.log import PartitionLog
    from headrace.log.directory import LogDirectory
    from headrace.replica.partition import Partition
    from headrace.runtime.clock import Clock

LOG: Final = logs.LOG_CLEANER

_SHORTEST_PAUSE_MS: Final = 10
_LONGEST_PAUSE_MS: Final = 24 * 3600 * 1000
_MIB: Final = 1 << 20
_REST_BACKOFFS: Final = 20  # rounds of `log.cleaner.backoff.ms` that a log is left alone


class CleanerTally:
    """What was compacted since the start, as numbers."""

    __slots__ = ("bytes_read", "bytes_written", "cleanings", "last_ms", "longest_s", "records_read")

    def __init__(self) -> None:
        self.cleanings = self.bytes_read = self.bytes_written = self.records_read = 0
        self.last_ms = 0
        self.longest_s = 0.0

    def add(self, stats: CleaningStats, seconds: float, now_ms: int) -> None:
        self.cleanings += 1
        self.bytes_read += stats.bytes_read
        self.bytes_written += stats.bytes_written
        self.records_read += stats.records_read
        self.longest_s = max(self.longest_s, seconds)
        self.last_ms = now_ms


class LogCleaner:
    """The cleaner of one broker: `start` once it serves, `stop` before its logs are closed."""

    def __init__(
        self, storage: Storage, clock: Clock, read_config: Callable[[], BrokerConfig]
    ) -> None:
        """`read_config` gives the settings as they are now; most of ours may change any time."""
        self._storage = storage
        self._clock = clock
        self._read_config = read_config
        # The log, why it is left alone, and until when on the monotonic clock.
        self._uncleanable: dict[TopicPartition, tuple[PartitionLog, str, int]] = {}
        self._in_progress: set[TopicPartition] = set()
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._supervisor: asyncio.Task[None] | None = None
        self.tally = CleanerTally()

    @property
    def uncleanable(self) -> dict[TopicPartition, str]:
        """Logs whose last compaction failed, and why."""
        return {each: reason for each, (_, reason, _) in self._uncleanable.items()}

    # -- life -------------------------------------------------------------------------------------

    def start(self) -> None:
        if self._read_config().get_bool("log.cleaner.enable"):
            self._supervisor = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """Drop everything at once: what is half done is found and removed by the next start."""
        tasks = [task for task in (self._supervisor, *self._workers.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _supervise(self) -> None:
        """Keep as many workers as `log.cleaner.threads` says, which may change at any time."""
        while True:
            for number in range(self.threads):
                if number not in self._workers or self._workers[number].done():
                    self._workers[number] = asyncio.create_task(self._work(number))
            await self._pause()

    async def _work(self, number: int) -> None:
        while number < self.threads:
            try:
                await self._clean_all_that_is_due(number)
            except Exception:
                LOG.exception("The cleaner failed; it is tried again later")
            await self._pause()

    async def _pause(self) -> None:
        backoff_ms = self._read_config().get_int("log.cleaner.backoff.ms")
        await asyncio.sleep(max(_SHORTEST_PAUSE_MS, min(backoff_ms, _LONGEST_PAUSE_MS)) / 1000)

    @property
    def memory(self) -> CleanerMemory:
        """What the next compaction may use."""
        config = self._read_config()
        sharing = max(1, self.threads)
        return CleanerMemory(
            key_map_bytes=config.get_int("log.cleaner.dedupe.buffer.size") // sharing,
            key_map_load_factor=config.get_float("log.cleaner.io.buffer.load.factor"),
            io_bytes=config.get_int("log.cleaner.io.buffer.size") // sharing,
        )

    @property
    def threads(self) -> int:
        return self._read_config().get_int("log.cleaner.threads")

    # -- one log after the other ------------------------------------------------------------------

    async def _clean_all_that_is_due(self, number: int) -> None:
        """Compact until nothing is due, or something went wrong. The process ends with the work:
        its memory is large.
        """
        if self.find_next() is None:
            return
        async with CleanerPipe() as pipe:
            # Asked anew: while the process started, another worker may have begun with that log.
            # From here to the first wait in `clean`, which marks the log, nobody comes between.
            while number < self.threads and (cleanable := self.find_next()) is not None:
                if not await self.clean(cleanable, pipe):
                    return

    def find_next(self) -> Cleanable | None:
        """The dirtiest log that is due and that nobody compacts already."""
        now_ms = self._clock.now_ms()
        measured = []
        for partition in self._storage.partitions.values():
            log = partition.log
            if COMPACT not in log.config.cleanup_policy or partition.offline_reason:
                continue
            if log.topic_partition in self._in_progress or self._is_uncleanable(log):
                continue
            try:
                self._make_cleanable(partition, now_ms)
                measured.append(measure(log, now_ms))
            except (CorruptData, OSError) as fault:
                self._give_up(log, str(fault))
        return dirtiest(measured)

    def _make_cleanable(self, partition: Partition, now_ms: int) -> None:
        """Complete an active segment that is old enough, and flush what is complete."""
        log = partition.log
        log.roll_if_due(now_ms)
        if log.recovery_point < log.segments.active.base_offset:
            self._storage.flush(partition)

    async def clean(self, cleanable: Cleanable, pipe: CleanerPipe) -> bool:
        """Compact one log; False if that failed and a pause is advisable."""
        log = cleanable.log
        began = time.monotonic()
        plan = make_plan(cleanable, self._clock.now_ms())
        assert log.topic_partition not in self._in_progress, "two would write the same files"
        self._in_progress.add(log.topic_partition)
        try:
            end_offset, stats = await self._carry_out(log, plan, pipe)
        except (_Overtaken, CleanerFault, OSError) as fault:
            return self._on_fault(log, plan, fault)
        finally:
            self._in_progress.discard(log.topic_partition)
        self._uncleanable.pop(log.topic_partition, None)
        seconds = time.monotonic() - began
        self.tally.add(stats, seconds, self._clock.now_ms())
        _report(log, plan, end_offset, stats, seconds)
        return True

    async def _carry_out(
        self, log: PartitionLog, plan: CleaningPlan, pipe: CleanerPipe
    ) -> tuple[int, CleaningStats]:
        rate = self._read_config().get_float("log.cleaner.io.max.bytes.per.second")
        end_offset = await pipe.begin(plan, self.memory, rate)
        # The recovery point lies beyond all that will be compacted. With that on disk no recovery
        # meets the gaps, whatever the topic's policy is by then.
        self._check(log, plan).write_checkpoints()
        while True:
            cleaned, stats = await pipe.next()
            directory = self._check(log, plan)
            if cleaned is None:
                log.clean_offset = end_offset
                directory.write_checkpoints()
                return end_offset, stats
            try:
                if not exchange(log, plan, cleaned, self._clock.now_ms()):
                    raise _Overtaken
            except OSError as fault:
                # Not even a full disk may pass for harmless in the middle of an exchange: the log
                # must go offline, and its recovery finishes what was begun.
                raise OSError(errno.EIO, f"{log.folder} cannot be changed: {fault}") from fault

    def _check(self, log: PartitionLog, plan: CleaningPlan) -> LogDirectory:
        """The log's directory, if the log is still the one that was planned for.

        A log that was cut, deleted, or let go of segments by retention is not; nor is one whose
        disk has failed.
        """
        directory = self._storage.directory_of(log.topic_partition)
        if (
            directory is None
            or directory.logs[log.topic_partition] is not log
            or log.truncations != plan.truncations
            or log.segments[0].base_offset != plan.sources[0].base_offset
        ):
            raise _Overtaken
        return directory

    # -- what goes wrong --------------------------------------------------------------------------

    def _is_uncleanable(self, log: PartitionLog) -> bool:
        known = self._uncleanable.get(log.topic_partition)
        if known is None or known[0] is not log:
            return False  # A topic of the same name is another log.
        return self._clock.monotonic_ms() < known[2]

    def _give_up(self, log: PartitionLog, reason: str) -> None:
        """Leave a log alone for a while: what is wrong with it may be mended, or pass."""
        rest_ms = _REST_BACKOFFS * self._read_config().get_int("log.cleaner.backoff.ms")
        rested_ms = self._clock.monotonic_ms() + rest_ms
        self._uncleanable[log.topic_partition] = (log, reason, rested_ms)
        LOG.warning(
            "%s cannot be compacted and grows; it is tried again in %d seconds: %s",
            log.topic_partition,
            rest_ms // 1000,
            reason,
        )

    def _on_fault(self, log: PartitionLog, plan: CleaningPlan, fault: Exception) -> bool:
        """Judge what stopped a compaction; returns whether the next one can begin at once.

        Faults of a log that has changed meanwhile mean nothing. A full disk, or one that cannot be
        asked for want of descriptors, is waited for; damage is left to an operator; and what else
        a disk says is the end of its directory.
        """
        topic, partition = log.topic_partition
        try:
            self._check(log, plan)
        except _Overtaken:
            LOG.info("Compaction of %s-%d was dropped: the log has changed", topic, partition)
            return True
        finally:
            self._remove_leftovers(log, plan)
        if not isinstance(fault, OSError) or fault.errno == errno.ENOENT:
            self._give_up(log, str(fault))
        elif is_passing(fault):
            LOG.error("%s-%d cannot be compacted now: %s", topic, partition, fault)
        else:
            self._storage.on_disk_fault(topic, partition, fault)
        return False

    def _remove_leftovers(self, log: PartitionLog, plan: CleaningPlan) -> None:
        if self._storage.directory_of(log.topic_partition) is None:
            return  # A start removes them, if the folder is ever opened again.
        try:
            for source in plan.sources:
                discard(log.disk, log.folder, source.base_offset)
        except OSError:
            pass  # The fault that brought us here weighs more.


class _Overtaken(Exception):
    """The log is not any more what the plan was made for."""


def _report(
    log: PartitionLog, plan: CleaningPlan, end_offset: int, stats: CleaningStats, seconds: float
) -> None:
    LOG.info(
        "Compacted %s (dirty section = [%d, %d)) in %.1f seconds: %d records in %.1f MiB became "
        "%d records in %.1f MiB; %d keys",
        log.topic_partition,
        plan.first_dirty_offset,
        end_offset,
        seconds,
        stats.records_read,
        stats.bytes_read / _MIB,
        stats.records_written,
        stats.bytes_written / _MIB,
        stats.keys,
    )
