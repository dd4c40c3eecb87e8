"""When a log begins a new segment. Asked before every append, so an idle log never rolls by age.

A segment is complete when the next batch would make it larger than `segment.bytes`, when that batch
lies `segment.ms` behind the segment's first one (KIP-33: in the records' own time, so that a copy
of old data is cut like the original), when an index is full, or when an offset no longer fits into
the 32 bits that the indexes have for it.
"""

from __future__ import annotations

from headrace.log.config import LogConfig
from headrace.log.offset_index import MAX_RELATIVE_OFFSET
from headrace.log.segment import LogSegment
from headrace.records.checksum import crc32c


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
    if config.segment_jitter_ms > 0:
        limit_ms -= crc32c(segment.log.path.encode()) % config.segment_jitter_ms
    first = segment.first_timestamp()
    age_ms = timestamp - first if first >= 0 else now_ms - segment.created_ms
    return age_ms > limit_ms
