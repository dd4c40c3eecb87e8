"""What a broker does on its own: retention, checkpoints, flushes by age, idle connections.

Each duty is a loop with its period from the settings. A duty that fails is logged and tried again
at its next turn; it never takes the broker down with it. What fails for one partition or one
directory is done for the others all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from headrace.broker.sharing.coordinators import prune
from headrace.broker.watching import logs
from headrace.runtime.disk import is_passing

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.net.listener import Listener
    from headrace.log.directory import LogDirectory

_PRODUCER_EXPIRY_MS: Final = 600_000
_IDLE_SWEEP_MS: Final = 5_000
_PRUNE_MS: Final = 300_000  # as Kafka: share.coordinator.state.topic.prune.interval.ms
_DOOMED_SWEEP_MS: Final = 1_000
_REMOVE_AGAIN_MS: Final = 60_000
_LONGEST_SLEEP_MS: Final = 24 * 3600 * 1000


class Housekeeping:
    """The broker's own duties as tasks of the event loop."""

    def __init__(self, broker: Broker, listeners: Sequence[Listener]) -> None:
        self._broker = broker
        self._listeners = listeners
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        config = self._broker.config
        duties: list[tuple[Callable[[], None], int]] = [
            (self.apply_retention, config.get_int("log.retention.check.interval.ms")),
            (self.write_checkpoints, config.get_int("log.flush.offset.checkpoint.interval.ms")),
            (self.flush_by_age, config.get_int("log.flush.scheduler.interval.ms")),
            (self.remove_doomed, _DOOMED_SWEEP_MS),
            (self.expire_producers, _PRODUCER_EXPIRY_MS),
            (self.close_idle_connections, _IDLE_SWEEP_MS),
            (self.prune_share_states, _PRUNE_MS),
        ]
        if self._broker.metadata.in_cluster:
            # Where a replica begins after a crash: alone it begins at its end, among others at
            # what it knew to be committed.
            period_ms = config.get_int("replica.high.watermark.checkpoint.interval.ms")
            duties.append((self.write_checkpoints, period_ms))
        for duty, period_ms in duties:
            self._tasks.append(asyncio.create_task(self._repeat(duty, period_ms)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @staticmethod
    async def _repeat(duty: Callable[[], None], period_ms: int) -> None:
        while True:
            await asyncio.sleep(min(period_ms, _LONGEST_SLEEP_MS) / 1000)
            try:
                duty()
            except Exception:
                logs.LOG_MANAGER.exception("%s failed; it is tried again later", duty.__name__)

    def apply_retention(self) -> None:
        now_ms = self._broker.clock.now_ms()
        storage = self._broker.storage
        for partition in list(storage.partitions.values()):
            if not partition.offline_reason:
                try:
                    deleted = partition.log.apply_retention(now_ms)
                except OSError as fault:
                    storage.on_disk_fault(*partition.topic_partition, fault)
                    continue
                if deleted:
                    logs.LOG_MANAGER.info(
                        "Deleted %d bytes of %s by retention", deleted, partition.topic_partition
                    )

    def write_checkpoints(self) -> None:
        storage = self._broker.storage
        for directory in storage.directories:
            if directory.online:
                try:
                    directory.write_checkpoints()
                except OSError as fault:
                    if is_passing(fault):
                        logs.LOG_MANAGER.error(
                            "The checkpoints of %s are written later: %s", directory.path, fault
                        )
                    else:
                        storage.fail_directory(directory, fault)

    def flush_by_age(self) -> None:
        """`flush.ms`: what waits longer than that for stable storage is brought there."""
        storage = self._broker.storage
        now_ms = self._broker.clock.now_ms()
        for partition in list(storage.partitions.values()):
            if not partition.offline_reason and partition.log.flush_due(now_ms):
                storage.flush(partition)

    def remove_doomed(self) -> None:
        now_ms = self._broker.clock.now_ms()
        for directory in self._broker.storage.directories:
            if directory.online:
                if due := directory.take_doomed(now_ms):
                    removal = self._broker.storage.in_thread(directory.remove_folders, due)
                    removal.add_done_callback(partial(self._note_removal, directory))
                for log in directory.logs.values():
                    if log.doomed:
                        try:
                            log.remove_doomed(now_ms)
                        except OSError as fault:
                            logs.LOG_MANAGER.error(
                                "A deleted segment of %s is removed later: %s",
                                log.topic_partition,
                                fault,
                            )

    def _note_removal(
        self, directory: LogDirectory, removal: asyncio.Future[dict[str, OSError]]
    ) -> None:
        faults = removal.result()
        for fault in faults.values():
            logs.LOG_MANAGER.error("A deleted log is removed later: %s", fault)
        directory.doom_again(faults, self._broker.clock.now_ms() + _REMOVE_AGAIN_MS)

    def expire_producers(self) -> None:
        now_ms = self._broker.clock.now_ms()
        for partition in self._broker.storage.partitions.values():
            log = partition.log
            log.producers.expire(now_ms, log.config.producer_id_expiration_ms)

    def prune_share_states(self) -> None:
        prune(self._broker.share_states.coordinators.active())

    def close_idle_connections(self) -> None:
        for listener in self._listeners:
            listener.close_idle()
