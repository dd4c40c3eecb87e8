"""How much of a log is dirty, and which log should be compacted next.

    log start        clean offset                first uncleanable        log end
    |  clean         |  dirty                    |  not to be touched     |

Clean is what was compacted before: every key is there once. Dirty is what was written since. The
rest must be left alone: the active segment, what is not flushed or not committed, what belongs to
an open transaction, and what is younger than `min.compaction.lag.ms`. Whole segments are judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import InvariantViolated
from headrace.log.config import NEVER, LogConfig
from headrace.log.segment import LogSegment

if TYPE_CHECKING:
    from headrace.log.log import PartitionLog


@dataclass(frozen=True, slots=True)
class Cleanable:
    """A log as the cleaner sees it."""

    log: PartitionLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """Something dirty is older than `max.compaction.lag.ms`."""

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the log should be compacted now."""
        if self.dirty_bytes == 0:
            return False
        return self.is_overdue or self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def measure(log: PartitionLog, now_ms: int) -> Cleanable:
    """What of the log is clean, dirty, or not to be touched."""
    start = _first_dirty_offset(log)
    end = _first_uncleanable_offset(log, start, now_ms)
    clean_bytes = dirty_bytes = 0
    is_overdue = False
    segments = log.segments
    for index, segment in enumerate(segments):
        if segment.base_offset >= end:
            break
        if segments.end_of(index, log.log_end_offset) <= start:
            clean_bytes += segment.size
            continue
        dirty_bytes += segment.size
        is_overdue = is_overdue or _is_overdue(segment, log.config, now_ms)
    return Cleanable(log, start, end, clean_bytes, dirty_bytes, is_overdue)


def dirtiest(measured: Iterable[Cleanable]) -> Cleanable | None:
    """The one to compact next; None if none is due."""
    due = [cleanable for cleanable in measured if cleanable.is_due]
    return max(due, key=lambda cleanable: cleanable.dirty_ratio, default=None)


def _is_overdue(segment: LogSegment, config: LogConfig, now_ms: int) -> bool:
    if config.max_compaction_lag_ms == NEVER:
        return False  # No need to look into the file.
    first_ms = segment.first_timestamp()
    return first_ms > 0 and now_ms - first_ms > config.max_compaction_lag_ms


def _first_dirty_offset(log: PartitionLog) -> int:
    """Where the last compaction ended. An offset outside the log says nothing about this log: it
    was cut, or deleted from its beginning, since then.
    """
    if log.log_start_offset <= log.clean_offset <= log.log_end_offset:
        return log.clean_offset
    return log.log_start_offset


def _first_uncleanable_offset(log: PartitionLog, start: int, now_ms: int) -> int:
    """The base offset of the first segment that must not be touched.

    A record is only removed in favour of one that is flushed: a power cut may take the newer one,
    and the key would be gone.
    """
    limit = min(log.last_stable_offset, log.recovery_point)
    segments = log.segments
    lag_ms = log.config.min_compaction_lag_ms
    for index, segment in enumerate(segments):
        end = segments.end_of(index, log.log_end_offset)
        if segment is segments.active or end > limit:
            return segment.base_offset
        is_dirty = end > start
        if is_dirty and lag_ms > 0 and segment.largest_timestamp().timestamp > now_ms - lag_ms:
            return segment.base_offset
    raise InvariantViolated(f"{log.topic_partition} has no active segment")
