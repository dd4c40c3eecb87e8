"""Carrying out a plan: first the map of newest records, then one new segment after the other.

Nothing of the log itself is touched. The results are files with the suffix `.cleaned`, synced and
complete; `headrace.log.swap` gives them their place. Everything read is checked for damage first,
so that a broken batch is never given a new checksum.

The work is synchronous and may take minutes. It tells about its progress all the time, and whoever
listens may slow it down, or stop it by raising an error of his own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headrace.errors import ConfigError, CorruptData
from headrace.log import names
from headrace.log.compaction.grouping import Measured, group
from headrace.log.compaction.key_map import KeyMap
from headrace.log.compaction.plan import CleaningPlan, Source
from headrace.log.compaction.record_keys import read_keys
from headrace.log.compaction.retained import Retention
from headrace.log.compaction.transactions import TransactionWalk
from headrace.log.scan import intact
from headrace.log.segment import LogSegment
from headrace.log.txn_index import AbortedTransaction, TransactionIndex
from headrace.records.batch import BatchHeader, read_header
from headrace.records.record import read_payload
from headrace.runtime.disk import Disk
from headrace.types import Buffer

Progress = Callable[[int], None]
"""Called with the bytes that were read or written since the last call."""


@dataclass(frozen=True, slots=True)
class CleanerMemory:
    """What one compaction may use."""

    key_map_bytes: int = 128 << 20
    key_map_load_factor: float = 0.9
    io_bytes: int = 512 << 10


@dataclass(slots=True)
class CleaningStats:
    """What a compaction has done so far."""

    bytes_read: int = 0
    records_read: int = 0
    bytes_written: int = 0
    records_written: int = 0
    keys: int = 0


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """A new segment that waits, as `.cleaned`, to take the place of those it was made from."""

    base_offset: int
    has_txn_index: bool
    replaces: list[int]
    """Base offsets of the old segments, ascending; the first is that of the new one."""


class Cleaning:
    """One compaction under way: `build_map` once, then `write_next` until there is no more."""

    def __init__(
        self, disk: Disk, plan: CleaningPlan, memory: CleanerMemory, on_progress: Progress
    ) -> None:
        self.stats = CleaningStats()
        self.end_offset = plan.first_dirty_offset
        """Up to here the log is clean when everything is done."""
        self._disk = disk
        self._plan = plan
        self._memory = memory
        self._on_progress = on_progress
        self._aborted = self._read_aborted()
        self._groups: Iterator[list[Source]] = iter(())
        self._retention: Retention | None = None

    # The map.

    def build_map(self) -> None:
        """Find the newest record of each key in the dirty part, as far as the memory goes."""
        plan, memory = self._plan, self._memory
        start = plan.first_dirty_offset
        keys = KeyMap(
            memory.key_map_bytes,
            memory.key_map_load_factor,
            plan.first_uncleanable_offset - start,
        )
        transactions = TransactionWalk(each for each in self._aborted if each.last_offset >= start)
        mapped_from = self.end_offset = plan.first_uncleanable_offset
        for header, batch in self._dirty_batches():
            mapped_from = min(mapped_from, header.base_offset)
            if header.is_control:
                transactions.is_spent(header, batch)
                continue
            if not keys.has_room_for(header.record_count):
                self.end_offset = header.base_offset
                if keys.record_count == 0:
                    raise self._too_small()
                break
            if transactions.is_aborted(header):
                keys.skip(header.record_count)
            else:
                keys.put(read_keys(read_payload(header, batch), header.record_count))
        self.stats.keys = keys.key_count
        walk = TransactionWalk(self._aborted)
        self._retention = Retention(plan, keys, mapped_from, self.end_offset, walk)
        self._groups = iter(group(self._measured(), plan))

    def _too_small(self) -> ConfigError:
        return ConfigError(
            f"{self._plan.folder} has a batch at offset {self.end_offset} whose keys alone need "
            f"more than {self._memory.key_map_bytes} bytes: raise log.cleaner.dedupe.buffer.size"
        )

    def _dirty_batches(self) -> Iterator[tuple[BatchHeader, memoryview]]:
        start = self._plan.first_dirty_offset
        for source, following in zip(self._plan.sources, self._next_offsets(), strict=True):
            if following > start:
                for header, batch in self._batches(source):
                    if header.last_offset >= start:
                        yield header, batch

    # The new segments.

    def write_next(self) -> CleanedSegment | None:
        """Write the next new segment; None if all are written."""
        sources = next(self._groups, None)
        if sources is None:
            return None
        folder, base_offset = self._plan.folder, sources[0].base_offset
        discard(self._disk, folder, base_offset)
        # The exchange before this one must be over on disk as well: a result that is still called
        # `.swap` would not count beside a new `.cleaned`.
        self._disk.sync_folder(folder)
        segment = LogSegment(
            self._disk,
            folder,
            base_offset,
            index_interval_bytes=self._plan.index_interval_bytes,
            now_ms=self._plan.now_ms,
            create=True,
            suffix=names.CLEANED,
        )
        output = _Output(segment, self._memory.io_bytes // 2, self._on_progress, self.stats)
        for source in sources:
            self._filter(source, output)
        output.flush()
        segment.seal()
        for file in (segment.log, *segment.files_to_sync()):
            file.sync()
        segment.close()
        replaced = [source.base_offset for source in sources]
        return CleanedSegment(base_offset, segment.txn_index.exists, replaced)

    def _filter(self, source: Source, output: _Output) -> None:
        retention = self._retention
        assert retention is not None, "the map is built first"
        stats = self.stats
        for header, batch in self._batches(source):
            stats.bytes_read += header.size
            stats.records_read += header.record_count
            left = retention.what_is_left(header, batch)
            if left is not None:
                output.add(header if left is batch else read_header(left), left)
            for transaction in retention.transactions.take_needed():
                output.segment.txn_index.append(transaction)

    # The old segments.

    def _batches(self, source: Source) -> Iterator[tuple[BatchHeader, memoryview]]:
        """All batches of a segment; CorruptData where one is damaged."""
        file = self._disk.open(self._path(source.base_offset, names.LOG))
        end = 0
        try:
            for position, header, batch in intact(file, 0, source.size, self._memory.io_bytes // 2):
                end = position + header.size
                self._on_progress(header.size)
                yield header, batch
        finally:
            file.close()
        if end != source.size:
            raise CorruptData(f"{file.path}: the batch at byte {end} is damaged")

    def _read_aborted(self) -> list[AbortedTransaction]:
        plan = self._plan
        indexes = [source.base_offset for source in plan.sources if source.has_txn_index]
        found = []
        for base_offset in [*indexes, *plan.later_txn_indexes]:
            index = TransactionIndex(
                self._disk, self._path(base_offset, names.TXN_INDEX), exists=True
            )
            found += [
                transaction
                for transaction in index
                if transaction.first_offset < plan.first_uncleanable_offset
            ]
            index.close()
        return found

    def _measured(self) -> Iterator[Measured]:
        """The segments to be rewritten: all that hold something clean, or something in the map."""
        for source, following in zip(self._plan.sources, self._next_offsets(), strict=True):
            if source.base_offset < self.end_offset:
                yield Measured(
                    source,
                    self._size(source.base_offset, names.OFFSET_INDEX),
                    self._size(source.base_offset, names.TIME_INDEX),
                    following,
                )

    def _next_offsets(self) -> list[int]:
        bases = [source.base_offset for source in self._plan.sources]
        return [*bases[1:], self._plan.first_uncleanable_offset]

    def _size(self, base_offset: int, kind: str) -> int:
        path = self._path(base_offset, kind)
        return self._disk.open(path).size() if self._disk.exists(path) else 0

    def _path(self, base_offset: int, kind: str) -> str:
        return names.segment_path(self._plan.folder, base_offset, kind)


class _Output:
    """Batches on their way into a new segment, several with one write."""

    def __init__(
        self, segment: LogSegment, max_bytes: int, on_progress: Progress, stats: CleaningStats
    ) -> None:
        self.segment = segment
        self._max_bytes = max_bytes
        self._on_progress = on_progress
        self._stats = stats
        self._waiting: list[Buffer] = []
        self._headers: list[BatchHeader] = []
        self._size = 0

    def add(self, header: BatchHeader, batch: Buffer) -> None:
        self._waiting.append(batch)
        self._headers.append(header)
        self._size += header.size
        if self._size >= self._max_bytes:
            self.flush()

    def flush(self) -> None:
        if not self._headers:
            return
        position = self.segment.write(self._waiting, self._size)
        for header in self._headers:
            self.segment.note_header(position, header)
            position += header.size
            self._stats.records_written += header.record_count
        self._stats.bytes_written += self._size
        self._on_progress(self._size)
        self._waiting, self._headers, self._size = [], [], 0


def discard(disk: Disk, folder: str, base_offset: int) -> None:
    """Remove what an interrupted compaction may have left of a new segment."""
    for kind in names.SEGMENT_FILES:
        path = names.segment_path(folder, base_offset, kind + names.CLEANED)
        if disk.exists(path):
            disk.remove(path)
