"""Moving a partition to another directory of `log.dirs` while it is written and read (KIP-113).

Batches are copied as a follower copies them from its leader, into a folder whose name ends with
`-future`. When the copy has caught up it gets the partition's name: this one rename is the move.
The old folder cannot vanish in the same instant, for it is on another disk, so the copy says in the
file `moved-from` whom it replaces, until the old one is gone. What a start finds after a crash:

    what is found                           what it means                   what is done
    ….<32 hex>-future                       the copy is not complete        it is deleted
    two folders, `moved-from` in one        the copy is complete            the old one is deleted
    `moved-from` in the only folder         the old folder is gone          the file is removed

`moved-from` is text: the `directory.id` of the old directory, as in its meta.properties. The module
knows no thread and no request; who moves what, and when, is decided above.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from headrace.errors import ClientFault, Error
from headrace.log.directory import (
    LogDirectory,
    deleted_folder_name,
    folder_name,
    parse_folder_name,
)
from headrace.log.log import PartitionLog
from headrace.log.origin import Origin
from headrace.log.read import LogSlice, read_slice
from headrace.runtime.disk import Disk, read_all, write_atomically
from headrace.types import NO_EPOCH, uuid_to_text

MOVED_FROM: Final = "moved-from"
_FUTURE: Final = re.compile(r"(.*\.[0-9a-f]{32})-future")


class Move:
    """One partition on its way. `take` and `flush` touch the copy alone, so a thread may run them;
    everything else belongs to whoever owns the log.
    """

    def __init__(
        self, log: PartitionLog, home: LogDirectory, target: LogDirectory, now_ms: int
    ) -> None:
        if log.disk.exists(f"{log.folder}/{MOVED_FROM}"):
            raise ClientFault(
                Error.KAFKA_STORAGE_ERROR,
                f"{log.topic_partition} was moved before and its old folder could not be removed; "
                f"a restart of the broker completes that move",
            )
        self.log = log
        self.home = home
        self.target = target
        self.copy = target.create_future(log.topic_partition, log.topic_id, log.config, now_ms)
        # What is copied later may be compacted further, never less.
        self._clean_offset = log.clean_offset
        self._truncations = log.truncations

    @property
    def lag(self) -> int:
        """How many offsets the copy is behind."""
        return self.log.log_end_offset - self.copy.log_end_offset

    @property
    def is_possible(self) -> bool:
        """Whether both directories work and the log still has everything that was copied."""
        return (
            self.home.logs.get(self.log.topic_partition) is self.log
            and self.target.online
            and self.log.truncations == self._truncations
        )

    def next_slice(self, max_bytes: int) -> LogSlice:
        """What the copy needs next, of one segment; empty if it has everything."""
        first = self.log.segments[0].base_offset
        if self.copy.log_end_offset < first:
            # The log begins later than 0, or retention was faster than the copy.
            self.copy.truncate_fully_and_start_at(first)
        end = self.log.log_end_offset
        return read_slice(
            self.log.segments,
            self.copy.log_end_offset,
            max_bytes,
            up_to=end,
            log_end_offset=end,
            at_least_one=True,
        )

    def is_last(self, part: LogSlice) -> bool:
        """Whether nothing follows this slice at present."""
        active = self.log.segments.active
        return not part or (part.file is active.log and part.position + part.size == active.size)

    def take(self, part: LogSlice, now_ms: int) -> None:
        """Copy a slice. OSError, or CorruptData if the log's disk has damaged it."""
        if part:
            self.copy.append(
                memoryview(part.data()),
                leader_epoch=NO_EPOCH,
                origin=Origin.REPLICATION,
                now_ms=now_ms,
            )

    def flush(self) -> None:
        self.copy.flush()

    def prepare(self, now_ms: int) -> None:
        """Copy the last slice and make the copy complete and durable; nothing else changes.

        From here to `commit` nothing may happen to the log. OSError: the move has failed.
        """
        log, copy = self.log, self.copy
        while part := self.next_slice(log.config.segment_bytes):
            self.take(part, now_ms)
        # The log remembers producers whose records are gone.
        copy.producers = log.producers
        copy.config = log.config
        if self.lag > 0:
            copy.roll(log.log_end_offset)  # Compaction has emptied the end.
        copy.high_watermark = log.high_watermark
        if log.log_start_offset > copy.log_start_offset:
            copy.delete_records_before(log.log_start_offset)
        if copy.leader_epochs.entries != log.leader_epochs.entries:
            copy.leader_epochs.clear()
            for entry in log.leader_epochs.entries:
                copy.leader_epochs.assign(*entry)
        copy.clean_offset = self._clean_offset
        copy.close()
        write_atomically(
            copy.disk, f"{copy.folder}/{MOVED_FROM}", uuid_to_text(self.home.directory_id).encode()
        )
        self._note_offsets()

    def _note_offsets(self) -> None:
        """A crash right after the move must find the copy's offsets in its directory."""
        logs = self.target.logs
        logs[self.log.topic_partition] = self.copy
        try:
            self.target.write_checkpoints()
        except OSError:
            del logs[self.log.topic_partition]
            raise

    def commit(self, now_ms: int) -> PartitionLog:
        """Give the copy the partition's name; the log under it, which is to be served from now on.

        After an OSError only a start can tell which of the two is the partition: neither may be
        written until then.
        """
        log, copy, path = self.log, self.copy, self.target.path
        folder = f"{path}/{folder_name(log.topic_partition)}"
        copy.disk.rename(copy.folder, folder)
        copy.disk.sync_folder(path)
        moved = PartitionLog.open(
            copy.disk,
            folder,
            log.topic_partition,
            log.config,
            recovery_point=copy.recovery_point,
            log_start_offset=copy.log_start_offset,
            clean_offset=copy.clean_offset,
            clean=True,
            now_ms=now_ms,
        )
        # The file knows the last batch of each producer, memory the last five.
        moved.producers = log.producers
        moved.high_watermark = log.high_watermark
        moved.is_new = moved.log_end_offset == 0  # nothing was flushed
        self.target.logs[log.topic_partition] = moved
        return moved

    def tidy(self, moved: PartitionLog, now_ms: int) -> None:
        """Let go of the old folder; its files go when whoever reads them has finished."""
        self.home.retire(self.log.topic_partition, now_ms)
        moved.disk.remove(f"{moved.folder}/{MOVED_FROM}")
        moved.folder_changes += 1
        moved.sync_folder()

    def discard(self) -> None:
        """Remove what was copied so far; a thread may do it."""
        for segment in self.copy.segments:
            segment.close()
        self.copy.disk.remove_folder(self.copy.folder)


def settle_moves(
    disk: Disk, directories: Sequence[LogDirectory], uuid_factory: Callable[[], UUID]
) -> list[str]:
    """Bring to an end what a crash interrupted, before any log is opened; returns what was done."""
    done = []
    homes: dict[str, list[LogDirectory]] = {}
    for directory in directories:
        for name in disk.list(directory.path):
            path = f"{directory.path}/{name}"
            unfinished = _FUTURE.fullmatch(name)
            if unfinished is not None:
                disk.rename(path, f"{directory.path}/{unfinished[1]}-delete")
                done.append(f"{path} is not complete and is deleted")
            elif parse_folder_name(name) is not None:
                homes.setdefault(name, []).append(directory)
    if len(directories) == 1:
        return done
    for name, places in homes.items():
        for directory in places:
            marker = f"{directory.path}/{name}/{MOVED_FROM}"
            if disk.exists(marker):
                origin = read_all(disk, marker).decode(errors="replace")
                done += _remove_replaced(disk, name, places, origin, uuid_factory)
                disk.remove(marker)
                disk.sync_folder(f"{directory.path}/{name}")
    return done


def _remove_replaced(
    disk: Disk,
    name: str,
    places: Sequence[LogDirectory],
    origin: str,
    uuid_factory: Callable[[], UUID],
) -> list[str]:
    done = []
    for old in places:
        if uuid_to_text(old.directory_id) == origin:
            topic_partition = parse_folder_name(name)
            assert topic_partition is not None
            doomed = deleted_folder_name(topic_partition, uuid_factory())
            disk.rename(f"{old.path}/{name}", f"{old.path}/{doomed}")
            disk.sync_folder(old.path)
            done.append(f"{old.path}/{name} has moved to another directory and is deleted")
    return done
