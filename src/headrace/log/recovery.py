"""Bringing a partition's folder back to life, after a clean shutdown or after a crash.

After a clean shutdown the files are believed: the names are listed, the active segment's indexes
are loaded and the headers behind its last index entry are read. After a crash every batch from the
recovery point on is read and checked; the log is cut at the first byte that is wrong, and
everything derived from the lost part (indexes, later segments, producer state, leader epochs) goes
with it. What lies below the recovery point was synced and is believed in both cases.

The outcome is always a prefix of what was written that holds everything that was ever flushed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.errors import CorruptData
from headrace.log import names
from headrace.log.append import COMPACT
from headrace.log.config import NEVER, LogConfig
from headrace.log.leader_epochs import LeaderEpochs
from headrace.log.producer_state import ProducerState
from headrace.log.roll import fits
from headrace.log.scan import intact
from headrace.log.segment import LogSegment
from headrace.log.segments import Segments
from headrace.log.snapshot import Snapshots
from headrace.log.swap import finish_interrupted_work
from headrace.log.transactions import note_recovered, read_marker, replay
from headrace.runtime.disk import NO_ROOM, Disk

Progress = Callable[[int, int], None]
"""Called with the bytes validated so far and the bytes to validate in all."""


@dataclass(slots=True)
class Recovered:
    """Everything that a `PartitionLog` is made of."""

    segments: Segments
    snapshots: Snapshots
    producers: ProducerState
    leader_epochs: LeaderEpochs
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    is_as_found: bool
    """Nothing in the folder was changed."""


def recover(
    disk: Disk,
    folder: str,
    config: LogConfig,
    *,
    recovery_point: int,
    log_start_offset: int,
    clean_offset: int,
    clean: bool,
    now_ms: int,
    on_progress: Progress | None = None,
) -> Recovered:
    """Load the log in `folder`; see the module for what `clean` means."""
    files = finish_interrupted_work(disk, folder)
    found = _open_segments(disk, folder, files, config, now_ms)
    if not found:
        found.append(_new_segment(disk, folder, log_start_offset, config, now_ms))
    segments = Segments(found)
    snapshots = Snapshots(disk, folder, files)
    snapshots.remove_strays(set(segments.base_offsets))
    epochs = _load_epochs(disk, folder, segments)
    start = max(log_start_offset, segments[0].base_offset)
    producers = ProducerState(start)
    active = segments.active

    end = -1
    is_as_found = False
    if clean:
        try:
            end = recovery_point = active.warm_up()
            is_as_found = end >= start
        except CorruptData:
            # The mark of a clean shutdown lies, at least here: look at the active segment.
            recovery_point = min(recovery_point, active.base_offset)
    if end < 0:
        gaps_up_to = NEVER if COMPACT in config.cleanup_policy else clean_offset
        work = _Validation(gaps_up_to, snapshots, producers, epochs, now_ms, on_progress)
        end = work.run(segments, start, recovery_point)
        recovery_point = min(recovery_point, end)
        if work.has_cut:
            # Before new records take the place of those that were cut off, the cut must be on
            # disk: a second power cut could bring the old ones back.
            segments.active.log.sync()
            disk.sync_folder(folder)
    if end < start:
        # The log was deleted up to a point that it does not reach any more, cut as it is.
        end = recovery_point = start
        # The name of the new segment must be on disk before the old ones go, or a power cut could
        # leave none, and offsets would be given out again; and they must not come back after it.
        fresh = _new_segment(disk, folder, start, config, now_ms)
        disk.sync_folder(folder)
        for segment in reversed(list(segments)):
            if segment.base_offset != start:
                segment.remove()
        disk.sync_folder(folder)
        segments.start_over(fresh)
        epochs.clear()
    producers.truncate_and_reload(snapshots, start, end, now_ms)
    replay(producers, segments, end, now_ms)
    epochs.truncate_from_start(start)
    epochs.truncate_from_end(end)
    return Recovered(
        segments, snapshots, producers, epochs, start, end, recovery_point, is_as_found
    )


def begin(disk: Disk, folder: str, config: LogConfig, now_ms: int) -> Recovered:
    """A log in a folder that was just made: there is nothing to look for."""
    return Recovered(
        Segments([_new_segment(disk, folder, 0, config, now_ms)]),
        Snapshots(disk, folder, []),
        ProducerState(0),
        LeaderEpochs(disk, folder),
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        is_as_found=False,
    )


def _open_segments(
    disk: Disk, folder: str, files: list[str], config: LogConfig, now_ms: int
) -> list[LogSegment]:
    """The segments by their names alone; indexes without a log are swept away."""
    parsed = [found for found in map(names.parse, files) if found is not None]
    logs = sorted(base for base, suffix in parsed if suffix == names.LOG)
    known = set(logs)
    with_txn_index = set()
    for base, suffix in parsed:
        if suffix in names.SEGMENT_FILES and base not in known:
            disk.remove(names.segment_path(folder, base, suffix))
        elif suffix == names.TXN_INDEX:
            with_txn_index.add(base)
    return [
        LogSegment(
            disk,
            folder,
            base,
            index_interval_bytes=config.index_interval_bytes,
            now_ms=now_ms,
            has_txn_index=base in with_txn_index,
        )
        for base in logs
    ]


def _new_segment(
    disk: Disk, folder: str, base_offset: int, config: LogConfig, now_ms: int
) -> LogSegment:
    return LogSegment(
        disk,
        folder,
        base_offset,
        index_interval_bytes=config.index_interval_bytes,
        now_ms=now_ms,
        create=True,
    )


def _load_epochs(disk: Disk, folder: str, segments: Segments) -> LeaderEpochs:
    try:
        return LeaderEpochs.load(disk, folder)
    except CorruptData:
        # Every batch carries the epoch of its leader, so the file can be written anew.
        epochs = LeaderEpochs(disk, folder)
    for segment in segments:
        try:
            for _, header in segment.headers_from(segment.base_offset):
                if header.partition_leader_epoch > epochs.latest_epoch:
                    epochs.assign(header.partition_leader_epoch, header.base_offset)
        except CorruptData:
            break  # Recovery decides about this segment; epochs behind it are not believed.
    return epochs


@dataclass(slots=True)
class _Validation:
    """One pass over all batches from the recovery point on."""

    gaps_up_to: int
    """Where the log may have been compacted, under its present policy or an earlier one."""
    snapshots: Snapshots
    producers: ProducerState
    epochs: LeaderEpochs
    now_ms: int
    on_progress: Progress | None
    done_bytes: int = 0
    total_bytes: int = 0
    has_cut: bool = False
    """Records were found that are not part of the log any more."""

    def run(self, segments: Segments, log_start_offset: int, recovery_point: int) -> int:
        """Validate, cut where needed, and return the log's end. The active segment is hot then."""
        # The segment with the last flushed record: its final index entries may not be there.
        first = segments.index_of(recovery_point - 1)
        segment = segments[first]
        sane = segment.has_sane_txn_index()
        place = segment.distrust_from(recovery_point if sane else segment.base_offset)
        start, position = place.base_offset, place.position
        self.total_bytes = sum(segments[i].size for i in range(first, len(segments))) - position
        self.producers.truncate_and_reload(self.snapshots, log_start_offset, start, self.now_ms)
        replay(self.producers, segments, start, self.now_ms)

        end, cut = self._validate(segment, position, start)
        index = first
        while not cut and index + 1 < len(segments):
            following = segments[index + 1]
            # A hole right below the recovery point is one that retention made: of the segments it
            # removed, a power cut may have brought this one back and not the others.
            if following.base_offset != recovery_point and not self._may_follow(
                following.base_offset, end
            ):
                break  # The end of this segment is missing, although it ends with a whole batch.
            segment.seal()
            segment.cool()
            segment = following
            self.producers.map_end_offset = segment.base_offset
            self._write_snapshot(segment.base_offset)
            segment.txn_index.reset()
            segment.clear_indexes()
            end, cut = self._validate(segment, 0, segment.base_offset)
            index += 1
        lost = segments.take_after(index)
        for each in lost:
            each.remove()
        self.has_cut = cut or bool(lost)
        return end

    def _write_snapshot(self, offset: int) -> None:
        """Spare the next start some reading. A full disk has no room for it, and needs none."""
        try:
            self.snapshots.write(offset, self.producers.active_producers(), sync=False)
        except OSError as fault:
            if fault.errno not in NO_ROOM:
                raise

    def _may_follow(self, offset: int, end: int) -> bool:
        """Whether a batch or segment can begin here. Only compaction leaves gaps; without it a
        gap is a loss, or a base offset that was damaged outside the CRC.
        """
        return offset == end or end < offset <= self.gaps_up_to

    def _validate(self, segment: LogSegment, position: int, end: int) -> tuple[int, bool]:
        """Check all batches from `position` on; returns the end and whether bytes were cut."""
        epochs, producers = self.epochs, self.producers
        applied_up_to = producers.map_end_offset
        valid = position
        if position >= segment.size:
            producers.map_end_offset = max(end, applied_up_to)
            return end, False
        for at, header, batch in intact(segment.log, position, segment.size):
            base_offset = header.base_offset
            if not self._may_follow(base_offset, end) or not fits(segment, header.last_offset):
                break
            try:
                marker = read_marker(header, batch)
            except CorruptData:
                break
            segment.note_header(at, header)
            end = base_offset + header.last_offset_delta + 1
            valid = at + header.size
            epochs.confirm(header.partition_leader_epoch, base_offset)
            if header.producer_id >= 0 and end > applied_up_to:
                note_recovered(producers, segment, header, marker, base_offset, self.now_ms)
        producers.map_end_offset = max(end, applied_up_to)
        self._report(segment.size - position)
        cut = valid < segment.size
        if cut:
            segment.cut_at(valid)
        return end, cut

    def _report(self, size: int) -> None:
        self.done_bytes += size
        if self.on_progress is not None:
            self.on_progress(self.done_bytes, self.total_bytes)
