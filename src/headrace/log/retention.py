"""What may leave a log from its beginning: old segments, and records that someone deleted.

A segment is judged as a whole, oldest first, and the first one that must stay keeps all behind it.
Records at or above the high watermark always stay: a follower, or this replica after an election,
may still need them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.errors import ClientFault, Error
from headrace.log.config import LogConfig
from headrace.log.names import DELETED, LOG, segment_path
from headrace.log.segment import LogSegment
from headrace.log.segments import Segments
from headrace.runtime.disk import is_passing

if TYPE_CHECKING:
    from headrace.log.log import PartitionLog


def let_go_of_expired(log: PartitionLog, now_ms: int) -> int:
    """Take the expired segments out of the log; returns their bytes.

    The files are renamed at once, so that a restart does not find them, and deleted after
    `file.delete.delay.ms`: until then a reader that holds one can finish. An OSError leaves the
    log with the segments that could not be renamed.
    """
    count = count_expired(
        log.segments,
        log.config,
        now_ms=now_ms,
        log_start_offset=log.log_start_offset,
        high_watermark=log.high_watermark,
        log_end_offset=log.log_end_offset,
    )
    if count == 0:
        return 0
    if count == len(log.segments):
        log.last_now_ms = now_ms
        try:
            log.roll()
        except OSError as fault:
            if count == 1 or not is_passing(fault):
                raise
            count -= 1  # A full disk: those before the active one make room for the next time.
    # The segment that will be the first must be there after a power cut, or offsets would be given
    # out again from an earlier one on.
    log.sync_folder()
    expired: list[LogSegment] = []
    try:
        for _ in range(count):
            # One by one, and renamed first: the new name is longer and may find no room.
            doom(log, (log.segments[0],), now_ms)
            expired += log.segments.take_first(1)
    finally:
        first_offset = log.segments[0].base_offset
        _move_start(log, max(log.log_start_offset, first_offset))
        if first_offset > log.recovery_point:
            # Some of it was never flushed. If a power cut gave only a part of it back, the hole
            # would look like a loss; so this deletion is made durable, and what is gone needs no
            # flush.
            log.sync_folder()
            log.recovery_point = first_offset
    return sum(segment.size for segment in expired)


def doom(log: PartitionLog, segments: Iterable[LogSegment], now_ms: int) -> None:
    """Take the names of segments that the log has let go of away from them.

    Compaction lets go of segments with the same base offset again and again. Each gets a name of
    its own: a reader that holds one may have to open its file once more.
    """
    for segment in segments:
        taken = {other.path for _, other in log.doomed}
        suffix, number = DELETED, 0
        while segment_path(log.folder, segment.base_offset, LOG + suffix) in taken:
            number += 1
            suffix = f".{number}{DELETED}"
        segment.rename(log.folder, suffix)
        log.doomed.append((now_ms + log.config.file_delete_delay_ms, segment))
    log.folder_changes += 1


def delete_before(log: PartitionLog, offset: int) -> int:
    """Move the log's start to `offset`, or to the high watermark for -1; returns the start.

    The records are out of reach at once; their segments go with the next round of retention.
    """
    if offset == -1:
        offset = log.high_watermark
    if not 0 <= offset <= log.high_watermark:
        raise ClientFault(
            Error.OFFSET_OUT_OF_RANGE,
            f"records of {log.topic_partition} can be deleted up to the high watermark "
            f"{log.high_watermark}, not up to {offset}",
        )
    if offset > log.log_start_offset:
        _move_start(log, offset)
    return log.log_start_offset


def _move_start(log: PartitionLog, offset: int) -> None:
    """What lies below is gone: forget what was derived from it."""
    log.log_start_offset = offset
    log.keep_high_watermark_inside()
    log.producers.on_log_start_offset(offset)
    for stale in log.snapshots.offsets:
        if stale < log.segments[0].base_offset:
            log.snapshots.remove(stale)
    try:
        log.leader_epochs.truncate_from_start(offset)
    except OSError as fault:
        if not is_passing(fault):
            raise
        # Forgotten here, and still in the file, which a full disk keeps: a start repeats it.


def count_expired(
    segments: Segments,
    config: LogConfig,
    *,
    now_ms: int,
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
) -> int:
    """How many segments, from the oldest on, have outlived time, size or the log's start."""
    deletes = "delete" in config.cleanup_policy
    excess_bytes = 0
    if deletes and config.retention_bytes >= 0:
        excess_bytes = segments.size_bytes - config.retention_bytes
    count = 0
    for index, segment in enumerate(segments):
        end_offset = segments.end_of(index, log_end_offset)
        is_last = index + 1 == len(segments)
        if end_offset > high_watermark or (is_last and segment.size == 0):
            break
        too_large = excess_bytes >= segment.size and excess_bytes > 0
        before_start = end_offset <= log_start_offset and not is_last
        if not (before_start or too_large or (deletes and _is_too_old(segment, config, now_ms))):
            break
        excess_bytes -= segment.size
        count += 1
    return count


def _is_too_old(segment: LogSegment, config: LogConfig, now_ms: int) -> bool:
    if config.retention_ms < 0:
        return False
    newest = segment.largest_timestamp().timestamp
    # Records without any time are as old as this process knows the segment to be.
    return now_ms - (newest if newest >= 0 else segment.created_ms) > config.retention_ms
