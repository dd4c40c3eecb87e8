"""A segment: a piece of a log in a file of its own, with its indexes beside it.

Only the last segment of a log is written; it is *hot*, which means that its indexes and the places
of its latest batches are in memory. All others are *cold* and hold nothing but names. A segment
knows bytes, positions and offsets; which batches may be written is decided in `append`, which
segments may go in `retention`. The files are described in docs/formats/segment.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.errors import CorruptData, InvariantViolated
from headrace.log import names
from headrace.log.flush import Syncable
from headrace.log.offset_index import MAX_POSITION, OffsetIndex
from headrace.log.recent import BatchPlace, RecentBatches
from headrace.log.scan import walk
from headrace.log.time_index import TimeIndex, TimestampOffset
from headrace.log.txn_index import TransactionIndex
from headrace.records.batch import BatchHeader
from headrace.runtime.disk import Disk, File
from headrace.types import NO_TIMESTAMP, Buffer


class LogSegment:
    """The files that share one base offset."""

    __slots__ = (
        "_bytes_since_index",
        "_checked",
        "_disk",
        "_first_timestamp",
        "_index_interval_bytes",
        "_log",
        "_rebuilt",
        "_recent",
        "base_offset",
        "created_ms",
        "max_timestamp",
        "max_timestamp_offset",
        "offset_index",
        "path",
        "size",
        "time_index",
        "txn_index",
    )

    def __init__(
        self,
        disk: Disk,
        folder: str,
        base_offset: int,
        *,
        index_interval_bytes: int,
        now_ms: int,
        create: bool = False,
        has_txn_index: bool = False,
        suffix: str = "",
    ) -> None:
        def path(kind: str) -> str:
            return names.segment_path(folder, base_offset, kind + suffix)

        self._disk = disk
        self.base_offset = base_offset
        self.created_ms = now_ms
        self._index_interval_bytes = index_interval_bytes
        self.path = path(names.LOG)
        self._log: File | None = None
        self.size = 0
        if base_offset > 0 or not create:
            # The name of an empty segment remembers where the log goes on. At offset 0 there is
            # nothing to remember, and a topic without records needs no files.
            self._log = disk.open(self.path, create=create)
            self.size = self._log.size()
        self.offset_index = OffsetIndex(disk, path(names.OFFSET_INDEX), base_offset)
        self.time_index = TimeIndex(disk, path(names.TIME_INDEX), base_offset)
        self.txn_index = TransactionIndex(disk, path(names.TXN_INDEX), exists=has_txn_index)
        self.max_timestamp: int | None = None  # not known while the segment is cold
        self.max_timestamp_offset = base_offset
        self._first_timestamp: int | None = None
        self._bytes_since_index = 0
        self._checked = False
        self._rebuilt = False
        self._recent: RecentBatches | None = None
        if create:
            self.clear()

    @property
    def log(self) -> File:
        """The file with the batches; it comes into being when it is first asked for."""
        file = self._log
        if file is None:
            file = self._log = self._disk.open(self.path, create=True)
        return file

    def clear(self) -> None:
        """Begin hot and empty."""
        self.cut_at(0)
        self.txn_index.reset()
        self.clear_indexes()

    def clear_indexes(self) -> None:
        """Become hot with empty indexes, to be filled with the batches that are in the log."""
        self.offset_index.start()
        self.time_index.start()
        self._first_timestamp = None
        self._bytes_since_index = 0
        self._note_time_index()
        self._recent = RecentBatches()
        self._checked = True

    # Writing.

    def write(self, chunks: Sequence[Buffer], size: int) -> int:
        """Append bytes to the log file; an OSError leaves everything as it was."""
        position = self.log.append(chunks)
        if position != self.size:
            raise InvariantViolated(
                f"{self.log.path}: bytes were written at {position}, the log ended at {self.size}"
            )
        self.size = position + size
        return position

    def note(
        self,
        position: int,
        size: int,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
    ) -> None:
        """Take a batch into account that was written, or found by recovery, at `position`."""
        recent = self._recent
        assert self.max_timestamp is not None
        assert recent is not None, "only a hot segment is written"
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self._bytes_since_index > self._index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
            self._bytes_since_index = 0
        self._bytes_since_index += size
        if position == 0:
            self._first_timestamp = max_timestamp
        recent.add(position, base_offset, last_offset)

    # Hot and cold.

    @property
    def is_hot(self) -> bool:
        return self.offset_index.entries is not None

    def warm_up(self) -> int:
        """Become hot after a clean shutdown; returns the offset after the last batch.

        Reads the indexes and the headers behind the last index entry. CorruptData if they do not
        fit the log: then the segment must be recovered.
        """
        try:
            self.offset_index.load()
            self.time_index.load()
        except FileNotFoundError as error:
            raise CorruptData(f"{error.filename}: the index is missing") from None
        if not self.offset_index.is_plausible(self.size) or not self.time_index.is_plausible():
            raise CorruptData(f"{self.offset_index.path}: the index does not fit the log")
        return self.resume()

    def resume(self) -> int:
        """Continue behind the last index entry; returns the offset after the last batch."""
        last = self.offset_index.last()
        position = 0 if last is None else last.position
        self._note_time_index()
        self._recent = RecentBatches()
        self._bytes_since_index = 0
        end_offset = self.base_offset
        for at, header in self._headers(position):
            if last is not None and at == position and header.last_offset != last.offset:
                raise CorruptData(f"{self.offset_index.path}: no batch ends with {last.offset}")
            self.note_header(at, header)
            end_offset = header.last_offset + 1
        self._checked = True
        return end_offset

    def note_header(self, position: int, header: BatchHeader) -> None:
        self.note(
            position,
            header.size,
            header.base_offset,
            header.last_offset,
            header.max_timestamp,
        )

    def seal(self) -> None:
        """Bring the indexes into their final form on disk; nothing more will be written."""
        if self.is_hot:
            assert self.max_timestamp is not None
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
            for index in (self.time_index, self.offset_index):
                index.save()
                if self.size:
                    index.make_real()

    def cool(self) -> None:
        """Give back the memory of a sealed segment."""
        self.offset_index.cool()
        self.time_index.cool()
        self._recent = None

    def _note_time_index(self) -> None:
        last = self.time_index.last()
        self.max_timestamp, self.max_timestamp_offset = last

    # Finding.

    def locate(self, offset: int) -> BatchPlace | None:
        """The batch that holds `offset`, or the next one behind a gap; None at the end."""
        recent = self._recent
        if recent is not None and recent.covers(offset):
            return recent.find(offset, self.size)
        self.check_indexes()
        entry = self.offset_index.lookup(offset)
        try:
            return self._walk_to(offset, entry.position)
        except CorruptData:
            if entry.position == 0 or self._rebuilt:
                raise
            # The index sent us to a place where no batch begins, or not the one it promised.
            self.rebuild_indexes()
            return self._walk_to(offset, self.offset_index.lookup(offset).position)

    def _walk_to(self, offset: int, position: int) -> BatchPlace | None:
        for at, header in self._headers(position):
            if header.last_offset >= offset:
                if 0 < position == at and header.base_offset > offset:
                    raise CorruptData(f"{self.offset_index.path}: points beyond offset {offset}")
                return BatchPlace(at, header.size, header.base_offset)
        return None

    def _headers(self, position: int) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of every batch from `position` on."""
        return walk(self.log, position, self.size) if position < self.size else iter(())

    def headers_from(self, offset: int) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of the batch that holds `offset` and of all behind it."""
        place = self.locate(offset)
        return iter(()) if place is None else self._headers(place.position)

    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch, by which the segment's age is measured."""
        known = self._first_timestamp
        if known is None:
            if self.size == 0:
                return NO_TIMESTAMP
            known = next(self._headers(0))[1].max_timestamp
            self._first_timestamp = known
        return known

    def largest_timestamp(self) -> TimestampOffset:
        """The largest timestamp of all batches and the last offset of the batch that has it."""
        if self.max_timestamp is None:
            self.check_indexes()
            self._note_time_index()
        assert self.max_timestamp is not None
        return TimestampOffset(self.max_timestamp, self.max_timestamp_offset)

    # Mending.

    def check_indexes(self) -> None:
        """Rebuild the indexes of a cold segment if they are missing or cannot be right."""
        if self._checked:
            return
        if not (self.offset_index.is_plausible(self.size) and self.time_index.is_plausible()):
            self.rebuild_indexes()
        self._checked = True

    def rebuild_indexes(self) -> None:
        """Write both indexes anew from the headers in the log; the log itself is not judged."""
        was_hot = self.is_hot
        self._rebuilt = True
        self.offset_index.start()
        self.time_index.start()
        try:
            self.resume()
        except CorruptData:
            pass  # What lies behind the damage cannot be found; what lies before it can.
        self.seal()
        self.offset_index.sync()
        self.time_index.sync()
        if not was_hot:
            self.cool()

    def has_sane_txn_index(self) -> bool:
        try:
            self.txn_index.sanity_check(self.base_offset)
        except CorruptData:
            return False
        return True

    def distrust_from(self, offset: int) -> BatchPlace:
        """Become hot, believing only what the indexes say about batches below `offset`.

        Returns the last batch that they name, or the segment's beginning: everything before it is
        believed, and `note` must be told of everything from it on.
        """
        found = self._load_believable(offset)
        if found is None:
            self.clear_indexes()
            self.txn_index.reset()
            return BatchPlace(0, 0, self.base_offset)
        position, header = found
        self.offset_index.truncate_to(header.base_offset)
        self.time_index.truncate_to(header.next_offset)
        self.txn_index.truncate(header.base_offset)
        self._note_time_index()
        self._recent = RecentBatches()
        # As if an entry were due, which makes the batch at `position` get its entry back.
        self._bytes_since_index = MAX_POSITION
        self._checked = True
        return BatchPlace(position, header.size, header.base_offset)

    def _load_believable(self, offset: int) -> tuple[int, BatchHeader] | None:
        """Position and header of the batch that the last index entry below `offset` names."""
        try:
            self.offset_index.load()
            self.time_index.load()
        except FileNotFoundError:
            return None
        self.offset_index.keep_plausible(self.size)
        self.time_index.keep_plausible()
        self.offset_index.truncate_to(offset)
        last = self.offset_index.last()
        if last is None:
            return None
        try:
            header = next(self._headers(last.position))[1]
        except CorruptData:
            return None
        return (last.position, header) if header.last_offset == last.offset else None

    def cut_at(self, position: int) -> None:
        """Drop all bytes from `position` on; the indexes are the caller's business."""
        if position < self.size:
            self.log.truncate(position)
            self.size = position

    def truncate_to(self, offset: int) -> int:
        """Cut off the batch that holds `offset` and all behind it; returns the new end offset."""
        place = self.locate(offset)
        self.offset_index.load()
        self.time_index.load()
        if place is not None:
            # Other bytes will take the place of those that are cut: no reader may go on over it.
            self.log.abandon()
            self._log = self._disk.open(self.path)
            self._log.truncate(place.position)
            self.size = place.position
            offset = place.base_offset
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate(offset)
        if self.size == 0:
            self._first_timestamp = None
        return self.resume()

    # The files as a group.

    def files_to_sync(self) -> list[Syncable]:
        """Save the indexes and list every file that a flush must sync."""
        files: list[Syncable] = [] if self._log is None else [self._log]
        for index in (self.time_index, self.offset_index):
            index.save()
            if index.needs_sync:
                files.append(index.file)
                index.needs_sync = False
        if self.txn_index.exists:
            files.append(self.txn_index)
        return files

    def rename(self, folder: str, suffix: str = "") -> None:
        """Move the files; readers that hold the log's file can go on. The log moves first, so that
        a crash leaves indexes without a log, which are swept away, and never the reverse. After an
        OSError the same call goes on where this one stopped."""

        def path(kind: str) -> str:
            return names.segment_path(folder, self.base_offset, kind + suffix)

        if self._log is not None:
            self._log.rename(path(names.LOG))
        self.path = path(names.LOG)
        self.offset_index.rename(path(names.OFFSET_INDEX))
        self.time_index.rename(path(names.TIME_INDEX))
        self.txn_index.rename(path(names.TXN_INDEX))

    def remove(self) -> None:
        """Delete the files; it does not matter if some are gone already."""
        if self._log is not None:
            self._log.abandon()
        try:
            self._disk.remove(self.path)
        except FileNotFoundError:
            pass
        self.offset_index.remove()
        self.time_index.remove()
        self.txn_index.remove()

    def abandon(self) -> None:
        """Close for good; a reader that is inside of the log's file can not go on."""
        if self._log is not None:
            self._log.abandon()
        self.close()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
        self.offset_index.close()
        self.time_index.close()
        self.txn_index.close()
