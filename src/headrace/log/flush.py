"""A flush in three steps, so that the slow one can be done in another thread.

`PartitionLog.begin_flush` saves the indexes and lists the files, `Flush.run` waits for the disk,
`PartitionLog.complete_flush` moves the recovery point. Between the first and the last step the log
may go on growing; the recovery point only covers what was there at the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from headrace.log import partition_metadata
from headrace.log.names import segment_path
from headrace.log.snapshot import SUFFIX as SNAPSHOT
from headrace.runtime.disk import Disk
from headrace.types import ZERO_UUID

if TYPE_CHECKING:
    from headrace.log.log import PartitionLog


class Syncable(Protocol):
    """A file, or something that has one."""

    def sync(self) -> None: ...


class Flush:
    """What must reach the disk for everything below `up_to` to survive a power cut."""

    __slots__ = ("_disk", "_files", "_folders", "folder_changes", "truncations", "up_to")

    def __init__(
        self,
        disk: Disk,
        folders: Sequence[str],
        files: Sequence[Syncable],
        *,
        up_to: int,
        truncations: int,
        folder_changes: int,
    ) -> None:
        self._disk = disk
        self._folders = folders
        self._files = files
        self.up_to = up_to
        self.truncations = truncations
        self.folder_changes = folder_changes

    def run(self) -> None:
        """Sync the files. Safe in any thread: nothing but these files is touched."""
        for file in self._files:
            try:
                file.sync()
            except FileNotFoundError:
                # Retention or a truncation has removed the segment meanwhile; its records are
                # gone on purpose and the rest of the flush still counts.
                continue
        for folder in self._folders:
            self._disk.sync_folder(folder)


def prepare_flush(log: PartitionLog) -> Flush | None:
    """A flush of everything in the log that may not be on disk yet; None if all is."""
    if log.leader_epochs.needs_sync:
        log.folder_changes += 1  # its file was replaced
    if log.segments.active.txn_index.is_new:
        log.folder_changes += 1
        log.segments.active.txn_index.is_new = False
    if log.recovery_point == 0 < log.log_end_offset:
        log.folder_changes += 1  # the first segment's file came into being with its first record
    has_new_names = log.folder_changes > log.folder_changes_synced
    if log.recovery_point >= log.log_end_offset and not has_new_names:
        return None
    segments = log.segments
    # The segment with the last flushed record may have got its final index entries since.
    first = segments.index_of(log.recovery_point - 1)
    files: list[Syncable] = []
    for index in range(first, len(segments)):
        files += segments[index].files_to_sync()
    files += [
        log.disk.open(segment_path(log.folder, offset, SNAPSHOT))
        for offset in log.snapshots.offsets
        if offset in log.unsynced_snapshots
    ]
    log.unsynced_snapshots.clear()
    if log.leader_epochs.needs_sync:
        log.leader_epochs.needs_sync = False
        files.append(log.disk.open(log.leader_epochs.path))
    log.unflushed_since_ms = None
    folders = [log.folder] if has_new_names else []
    if log.is_new:
        # Creating a topic syncs nothing; what its first records need to be found is synced here.
        folders.append(log.folder.rpartition("/")[0])
        if log.topic_id != ZERO_UUID:
            files.append(log.disk.open(f"{log.folder}/{partition_metadata.FILE_NAME}"))
    return Flush(
        log.disk,
        folders,
        files,
        up_to=log.log_end_offset,
        truncations=log.truncations,
        folder_changes=log.folder_changes,
    )
