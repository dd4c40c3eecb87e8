"""Partitions that move between the directories of `log.dirs`: when, how fast, and what if not.

Records are copied in a thread, so that no client waits, slice by slice; only the last slice and the
switch happen on the event loop, where nothing can come between. A move that cannot go on is given
up and leaves the partition where it was. Moves are not remembered: a restart calls them off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from headrace.broker.watching import logs
from headrace.errors import ClientFault, CorruptData, Error
from headrace.log.moving import Move

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.storage.storage import Storage
    from headrace.log.directory import LogDirectory
    from headrace.replica.partition import Partition
    from headrace.runtime.clock import Clock
    from headrace.types import TopicPartition

_SLICE_BYTES: Final = 1 << 20


class _UnderWay:
    """A move, its task, and the word to stop."""

    def __init__(self, move: Move) -> None:
        self.move = move
        self.called_off = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class Moves:
    """See the module."""

    def __init__(self, storage: Storage, metadata: Metadata, clock: Clock) -> None:
        self._storage = storage
        self._metadata = metadata
        self._clock = clock
        self._under_way: dict[TopicPartition, _UnderWay] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        threads = metadata.settings.config.get("num.replica.alter.log.dirs.threads")
        self._turns = asyncio.Semaphore(threads or len(storage.directories))

    def begin(self, topic: str, index: int, path: str) -> None:
        """Let a partition move to the directory with this path; ClientFault if it cannot.

        Where it is, or is going, already there is nothing to do; another move of it is called off.
        """
        target = next((each for each in self._storage.directories if each.path == path), None)
        if target is None:
            raise ClientFault(Error.LOG_DIR_NOT_FOUND, f"{path} is not among this broker's folders")
        if not target.online:
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, target.offline_reason)
        if path in self._storage.cordoned:
            raise ClientFault(
                Error.INVALID_REPLICA_ASSIGNMENT, f"{path} is cordoned: see cordoned.log.dirs"
            )
        partition = self._storage.find(topic, index)
        topic_partition = partition.topic_partition
        current = self._under_way.get(topic_partition)
        if current is not None:
            if current.move.target is target:
                return
            current.called_off.set()
        home = self._storage.directory_of(topic_partition)
        assert home is not None, "a partition that is served has a directory"
        if home is target:
            return
        try:
            move = Move(partition.log, home, target, self._clock.now_ms())
        except OSError as fault:
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, str(fault)) from None
        work = self._under_way[topic_partition] = _UnderWay(move)
        work.task = asyncio.create_task(self._carry_out(partition, work))
        self._tasks.add(work.task)
        work.task.add_done_callback(self._tasks.discard)

    def arriving_in(self, directory: LogDirectory) -> Iterator[tuple[TopicPartition, int, int]]:
        """The partitions that are on their way to a directory, with their bytes and their lag."""
        for topic_partition, work in self._under_way.items():
            if work.move.target is directory and directory.online:
                yield topic_partition, work.move.copy.size_bytes, work.move.lag

    async def stop(self) -> None:
        """Call everything off, and return when no thread is copying any more."""
        for work in self._under_way.values():
            work.called_off.set()
        await asyncio.gather(*self._tasks)

    # -- one move ---------------------------------------------------------------------------------

    async def _carry_out(self, partition: Partition, work: _UnderWay) -> None:
        move = work.move
        name, home, target = partition.topic_partition, move.home.path, move.target.path
        logs.LOG_MANAGER.info("Moving %s from %s to %s", name, home, target)
        try:
            async with self._turns:
                if await self._copy(work):
                    move.prepare(self._clock.now_ms())
                    self._switch(partition, move)
                    return
        except (OSError, CorruptData, ClientFault) as fault:
            logs.LOG_MANAGER.error("Could not move %s to %s: %s", name, target, fault)
        finally:
            if self._under_way.get(name) is work:
                del self._under_way[name]
        logs.LOG_MANAGER.warning("%s stays in %s", name, home)
        try:
            await self._storage.in_thread(move.discard)
        except OSError as fault:
            logs.LOG_MANAGER.warning("%s is left behind: %s", move.copy.folder, fault)

    async def _copy(self, work: _UnderWay) -> bool:
        """Copy until one slice at most is missing and the others are durable; False: called off."""
        move = work.move
        is_durable = False
        while move.is_possible and not work.called_off.is_set():
            part = move.next_slice(_SLICE_BYTES)
            if not move.is_last(part):
                is_durable = False
                await self._storage.in_thread(move.take, part, self._clock.now_ms())
                await self._keep_to_rate(len(part), work.called_off)
            elif not is_durable:
                is_durable = True
                await self._storage.in_thread(move.flush)
            else:
                return True
        return False

    async def _keep_to_rate(self, size: int, called_off: asyncio.Event) -> None:
        rate = self._metadata.settings.config.get_int(
            "replica.alter.log.dirs.io.max.bytes.per.second"
        )
        try:
            async with asyncio.timeout(size / max(rate, 1)):
                await called_off.wait()
        except TimeoutError:
            pass  # The usual end of the pause.

    def _switch(self, partition: Partition, move: Move) -> None:
        """Serve the copy from now on. If nobody knows whether it is the partition, nobody serves
        it until the next start.
        """
        now_ms = self._clock.now_ms()
        try:
            moved = move.commit(now_ms)
        except (OSError, CorruptData) as fault:
            self._storage.fail_directory(move.target, fault)
            return
        self._storage.serve_from(partition, moved)
        logs.LOG_MANAGER.info("Moved %s to %s", partition.topic_partition, move.target.path)
        try:
            move.tidy(moved, now_ms)
        except OSError as fault:
            self._storage.fail_directory(move.home, fault)
