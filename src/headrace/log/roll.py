"""When a log begins a new segment. Asked before every append, so an idle log never rolls by age.

A segment is complete when the next batch would make it larger than `segment.bytes`, when that batch
lies `segment.ms` behind the segment's first one (KIP-33: in the records' own time, so that a copy
of old data is cut like the original), when an index is full, or when an offset no longer fits into
the 32 bits that the indexes have for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.log.append import COMPACT
from headrace.log.config import LogConfig
from headrace.log.offset_index import MAX_RELATIVE_OFFSET
from headrace.log.segment import LogSegment
from headrace.records.checksum import crc32c

if TYPE_CHECKING:
    from headrace.log.log import PartitionLog


def must_roll(
    segment: LogSegment,
    config: LogConfig,
    *,
    size: int,
    last_offset: int,
    timestamp: int,
    now_ms: int,
) -> bool:
    """Whether the next `size` bytes, up to `last_offset`, belong into a new segment."""
    if not fits(segment, last_offset):
        return True
    if segment.size == 0:
        return False
    return (
        segment.size + size > config.segment_bytes
        or is_old(segment, config, timestamp, now_ms)
        or segment.offset_index.is_full(config.segment_index_bytes)
        or segment.time_index.is_full(config.segment_index_bytes)
    )


def fits(segment: LogSegment, last_offset: int) -> bool:
    """Whether the segment's indexes can express this offset."""
    return last_offset - segment.base_offset <= MAX_RELATIVE_OFFSET


def is_old(segment: LogSegment, config: LogConfig, timestamp: int, now_ms: int) -> bool:
    """Whether `timestamp` lies too far behind the first batch; without times, the file is too old.

    The jitter is different for each segment but always the same for this one: partitions that were
    created together do not all roll together.
    """
    limit_ms = config.segment_ms
    if COMPACT in config.cleanup_policy:
        # Only a complete segment can be compacted in time (KIP-354).
        limit_ms = min(limit_ms, config.max_compaction_lag_ms)
    if config.segment_jitter_ms > 0:
        limit_ms -= crc32c(segment.path.encode()) % config.segment_jitter_ms
    first = segment.first_timestamp()
    age_ms = timestamp - first if first >= 0 else now_ms - segment.created_ms
    return age_ms > limit_ms


def begin_segment(log: PartitionLog, base_offset: int) -> None:
    """Complete the active segment and go on in a new one. An OSError leaves the log as it was."""
    segments = log.segments
    if segments.active.base_offset == base_offset:
        return  # It is empty.
    segments.active.seal()
    log.write_snapshot(base_offset)
    if len(segments) == 1:
        # A later segment must not outlive the first one in a power cut: the log would seem to
        # begin there.
        log.sync_folder()
    fresh = new_segment(log, base_offset)
    segments.active.cool()
    segments.add(fresh)
    log.log_end_offset = base_offset


def new_segment(log: PartitionLog, base_offset: int) -> LogSegment:
    """Empty files for a segment; the caller gives it its place."""
    log.folder_changes += 1
    return LogSegment(
        log.disk,
        log.folder,
        base_offset,
        index_interval_bytes=log.config.index_interval_bytes,
        now_ms=log.last_now_ms,
        create=True,
    )
