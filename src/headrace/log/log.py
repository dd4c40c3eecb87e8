"""One partition on a disk: an append-only sequence of batches with offsets.

`PartitionLog` is the whole public face of this package for one partition. It owns the files and the
order in which they change: a batch is in the log file before anything in memory knows of it, so a
full disk changes nothing. The rules live beside it: `append` (what may enter), `read` (where things
are), `retention` (what may leave), `recovery` (what survived). It knows no clock, no thread and no
other replica; how far the others have come arrives as `high_watermark`.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from headrace.errors import ClientFault, CorruptData, Error
from headrace.log import partition_metadata, retention, truncation
from headrace.log.append import (
    CREATE_TIME,
    PREFIX_SIZE,
    Appended,
    Records,
    admit,
    repeated,
    stamped,
)
from headrace.log.config import LogConfig
from headrace.log.flush import Flush, prepare_flush
from headrace.log.origin import REPLICATION, Origin
from headrace.log.read import (
    LogSlice,
    Look,
    find_max_timestamp,
    find_timestamp,
    first_at,
    read_slice,
)
from headrace.log.recovery import Progress, Recovered, begin, recover
from headrace.log.replicated import append_replicated
from headrace.log.roll import begin_segment, is_old, must_roll
from headrace.log.segment import LogSegment
from headrace.log.time_index import TimestampOffset
from headrace.log.transactions import aborted_in, note_written, read_marker
from headrace.log.txn_index import AbortedTransaction
from headrace.records.batch import stamp_prefix
from headrace.records.control import EndTxnMarker
from headrace.runtime.disk import Disk
from headrace.types import NO_TIMESTAMP, ZERO_UUID, Buffer, TopicPartition


class PartitionLog:
    """The log of one partition. `config` may be replaced at any time; the next call obeys it.

    Other rooms read the attributes; only this package writes them.
    """

    __slots__ = (
        "_high_watermark",
        "clean_offset",
        "config",
        "disk",
        "doomed",
        "folder",
        "folder_changes",
        "folder_changes_synced",
        "is_new",
        "last_now_ms",
        "leader_epochs",
        "log_end_offset",
        "log_start_offset",
        "producers",
        "recovery_point",
        "segments",
        "snapshots",
        "topic_id",
        "topic_partition",
        "truncations",
        "unflushed_since_ms",
        "unsynced_snapshots",
    )

    def __init__(
        self,
        disk: Disk,
        folder: str,
        topic_partition: TopicPartition,
        topic_id: UUID,
        config: LogConfig,
        parts: Recovered,
        now_ms: int,
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.config = config
        self.segments = parts.segments
        self.snapshots = parts.snapshots
        self.producers = parts.producers
        self.leader_epochs = parts.leader_epochs
        self.log_start_offset = parts.log_start_offset
        self.log_end_offset = parts.log_end_offset
        self.recovery_point = parts.recovery_point
        self._high_watermark = parts.log_start_offset
        self.doomed: list[tuple[int, LogSegment]] = []
        self.folder_changes = 0 if parts.is_as_found else 1
        self.folder_changes_synced = 0
        self.is_new = False  # perhaps nothing of the folder has ever been synced
        self.last_now_ms = now_ms
        self.unflushed_since_ms: int | None = None
        self.unsynced_snapshots: list[int] = []
        self.truncations = 0
        self.clean_offset = 0  # up to here the log was compacted

    @classmethod
    def open(
        cls,
        disk: Disk,
        folder: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        *,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean_offset: int = 0,
        clean: bool,
        now_ms: int,
        on_progress: Progress | None = None,
    ) -> PartitionLog:
        """The log in an existing folder. Unless the last shutdown was `clean`, everything from
        the recovery point on is validated and a damaged end is cut off.
        """
        parts = recover(
            disk,
            folder,
            config,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean_offset=clean_offset,
            clean=clean,
            now_ms=now_ms,
            on_progress=on_progress,
        )
        try:
            topic_id = partition_metadata.read(disk, folder) or ZERO_UUID
        except CorruptData:
            # The file is synced with the first records. Before that a power cut may tear it, and
            # whoever knows the topic writes it again.
            if clean and parts.log_end_offset > 0:
                raise
            disk.remove(f"{folder}/{partition_metadata.FILE_NAME}")
            topic_id = ZERO_UUID
        log = cls(disk, folder, topic_partition, topic_id, config, parts, now_ms)
        # Nothing was flushed that anybody knows of, be it because the log is new or because whoever
        # made it was killed: its first flush syncs the id and the folder's name as well.
        log.is_new = not clean and recovery_point == 0
        # A log that lost its end is dirty from the start on: nobody knows what was compacted.
        log.clean_offset = clean_offset if clean_offset <= log.log_end_offset else 0
        return log

    @classmethod
    def create(
        cls,
        disk: Disk,
        folder: str,
        topic_partition: TopicPartition,
        topic_id: UUID,
        config: LogConfig,
        now_ms: int,
    ) -> PartitionLog:
        """A new and empty log in a new folder."""
        disk.make_folder(folder)
        if topic_id != ZERO_UUID:
            partition_metadata.write(disk, folder, topic_id)
        parts = begin(disk, folder, config, now_ms)
        log = cls(disk, folder, topic_partition, topic_id, config, parts, now_ms)
        log.is_new = True
        return log

    # What is known about the log.

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    @property
    def high_watermark(self) -> int:
        """The offset after the last record that is replicated well enough to be read."""
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        """It never goes back and never leaves the log."""
        if offset > self._high_watermark:
            self._high_watermark = min(offset, self.log_end_offset)
            self.producers.on_high_watermark(self._high_watermark)

    def keep_high_watermark_inside(self) -> None:
        """After the log's end or start moved; a cut is the one reason for which it may go back."""
        self._high_watermark = max(
            self.log_start_offset, min(self._high_watermark, self.log_end_offset)
        )

    @property
    def last_stable_offset(self) -> int:
        """The end of what a `read_committed` reader may see."""
        unstable = self.producers.first_unstable_offset
        if unstable is None or unstable > self._high_watermark:
            return self._high_watermark
        return unstable

    # Appending.

    def append(
        self,
        batches: memoryview,
        *,
        leader_epoch: int,
        origin: Origin,
        now_ms: int,
        transaction_version: int = 0,
        records: Records = Records.NOW,
    ) -> Appended:
        """Write one batch at the end, or a leader's batches where the origin is REPLICATION.

        `transaction_version` is that of the transaction which a marker ends (KIP-890).

        ClientFault: the batch must not be written. OSError: it could not be; nothing has changed.
        Heavy: its records must be inspected first, see `Records`.
        """
        if origin is REPLICATION:
            return append_replicated(self, batches, now_ms)
        config = self.config
        header, batches = admit(batches, config, origin, now_ms, records)
        marker: EndTxnMarker | None = None
        if header.producer_id >= 0:
            if header.is_control:
                marker = read_marker(header, batches)
                if marker is not None:
                    self.producers.check_marker(
                        header, marker, origin, transaction_version=transaction_version
                    )
            else:
                written = self.producers.check(header, origin)
                if written is not None:
                    return repeated(written, config, self.log_start_offset)
        body: Sequence[Buffer]
        if config.message_timestamp_type == CREATE_TIME:
            body = (batches[PREFIX_SIZE:],)
        else:
            header, body = stamped(batches, header, config, now_ms)

        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        size = header.size
        max_timestamp = header.max_timestamp
        self.last_now_ms = now_ms
        active = self.segments.active
        rolled = must_roll(
            active,
            config,
            size=size,
            last_offset=last_offset,
            timestamp=max_timestamp,
            now_ms=now_ms,
        )
        if rolled:
            self.roll()
            active = self.segments.active
        if leader_epoch != self.leader_epochs.latest_epoch:
            self.leader_epochs.assign(leader_epoch, base_offset)
        prefix = stamp_prefix(base_offset, header.batch_length, leader_epoch)
        position = active.write((prefix, *body), size)
        active.note(position, size, base_offset, last_offset, max_timestamp)
        self.log_end_offset = last_offset + 1
        if header.producer_id >= 0:
            note_written(self.producers, active, header, marker, base_offset, now_ms)
        time_ms = NO_TIMESTAMP if config.message_timestamp_type == CREATE_TIME else max_timestamp
        flush_due = self.flush_due(now_ms)
        return Appended(
            base_offset, last_offset, time_ms, self.log_start_offset, size, False, flush_due, rolled
        )

    # Reading.

    def read(
        self, offset: int, max_bytes: int, *, up_to: int, at_least_one: bool = True
    ) -> LogSlice:
        """Batches from the one that holds `offset`, none of them reaching `up_to`.

        ClientFault OFFSET_OUT_OF_RANGE if the log neither holds the offset nor ends with it.
        """
        end = self.log_end_offset
        if not self.log_start_offset <= offset <= end:
            raise ClientFault(
                Error.OFFSET_OUT_OF_RANGE,
                f"{self.topic_partition} has offsets {self.log_start_offset} to {end}, "
                f"{offset} is not among them",
            )
        return read_slice(
            self.segments,
            offset,
            max_bytes,
            up_to=up_to,
            log_end_offset=end,
            at_least_one=at_least_one,
        )

    def offset_for_time(
        self, timestamp_ms: int, *, up_to: int, look: Look = first_at
    ) -> TimestampOffset | None:
        """The first record below `up_to` with this time or a later one; `look` opens its batch."""
        found = find_timestamp(
            self.segments, timestamp_ms, log_start_offset=self.log_start_offset, look=look
        )
        return found if found is not None and found.offset < up_to else None

    def offset_of_max_timestamp(self, *, look: Look = first_at) -> TimestampOffset | None:
        """The record with the largest timestamp; None if no record has a time (KIP-734)."""
        return find_max_timestamp(self.segments, look=look)

    def aborted_transactions(self, from_offset: int, up_to: int) -> list[AbortedTransaction]:
        """What a `read_committed` reader of [from_offset, up_to) must be told to drop."""
        return aborted_in(self.segments, from_offset, up_to)

    # Segments.

    def roll_if_due(self, now_ms: int) -> bool:
        """Complete the active segment if it is older than `segment.ms`, although nothing is
        appended; compaction asks for it, since it never touches the active segment.
        """
        self.last_now_ms = now_ms
        active = self.segments.active
        if active.size and is_old(active, self.config, now_ms, now_ms):
            self.roll()
            return True
        return False

    def roll(self, base_offset: int | None = None) -> None:
        """Begin a new segment at the log's end, or at a later offset where a leader's batches
        leave a gap.
        """
        begin_segment(self, self.log_end_offset if base_offset is None else base_offset)

    def write_snapshot(self, offset: int) -> None:
        """Keep what is known of the producers before `offset`; the next flush makes it durable."""
        self.snapshots.write(offset, self.producers.active_producers(), sync=False)
        self.unsynced_snapshots.append(offset)
        self.folder_changes += 1

    def apply_retention(self, now_ms: int) -> int:
        """Let go of old segments; returns how many bytes. `remove_doomed` deletes their files."""
        return retention.let_go_of_expired(self, now_ms)

    def remove_doomed(self, now_ms: int) -> None:
        """Delete the files whose `file.delete.delay.ms` has passed. Those that cannot be deleted
        wait once more; the OSError of one of them is raised when all were tried.
        """
        due = [segment for due_ms, segment in self.doomed if due_ms <= now_ms]
        self.doomed = [entry for entry in self.doomed if entry[0] > now_ms]
        fault = None
        for segment in due:
            try:
                segment.remove()
            except OSError as error:
                fault = error
                self.doomed.append((now_ms + self.config.file_delete_delay_ms, segment))
        if fault is not None:
            raise fault

    def delete_records_before(self, offset: int) -> int:
        """Move the log's start (DeleteRecords); -1 means the high watermark. Returns the start.

        ClientFault OFFSET_OUT_OF_RANGE for records that are not committed.
        """
        return retention.delete_before(self, offset)

    # Truncation.

    def truncate_to(self, offset: int) -> None:
        """Drop the batch that holds `offset` and all behind it, as a follower must whose leader
        never had them. The cut is on disk when this returns.
        """
        truncation.truncate_to(self, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything; the next record gets this offset, or a later one."""
        truncation.truncate_fully_and_start_at(self, offset)

    # Durability.

    def flush_due(self, now_ms: int) -> bool:
        """Whether `flush.messages` or `flush.ms` asks for a flush now."""
        unflushed = self.log_end_offset - self.recovery_point
        if unflushed <= 0:
            return False
        since = self.unflushed_since_ms
        if since is None:
            since = self.unflushed_since_ms = now_ms
        config = self.config
        return unflushed >= config.flush_messages or now_ms - since >= config.flush_ms

    def begin_flush(self) -> Flush | None:
        """Prepare a flush of everything written so far; None if there is nothing to do."""
        return prepare_flush(self)

    def complete_flush(self, flush: Flush) -> None:
        """Believe that everything below `flush.up_to` is on disk, unless the log was cut since:
        then other records may have taken the place of those that were flushed.
        """
        self.folder_changes_synced = max(self.folder_changes_synced, flush.folder_changes)
        self.is_new = False
        if flush.truncations == self.truncations:
            self.recovery_point = max(self.recovery_point, flush.up_to)

    def sync_folder(self) -> None:
        """Make the names of all files durable now, where the order of changes matters."""
        if self.folder_changes > self.folder_changes_synced:
            self.disk.sync_folder(self.folder)
            self.folder_changes_synced = self.folder_changes

    def flush(self) -> None:
        flush = self.begin_flush()
        if flush is not None:
            flush.run()
            self.complete_flush(flush)

    def close(self) -> None:
        """Make everything durable and final, so that the next start reads next to nothing. A log
        to which nothing happened since it was opened, or ever, is left as it is.
        """
        if not (self.is_new and self.log_end_offset == 0):
            self.segments.active.seal()
            end = self.log_end_offset
            if end > self.log_start_offset and end not in self.snapshots.offsets:
                self.write_snapshot(end)
            self.flush()
        for segment in self.segments:
            segment.close()
