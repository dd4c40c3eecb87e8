"""Cutting a log's end off: files, indexes, producers, epochs, and every offset that counted on it.

Truncations are rare and follow a failure of some broker, so they wait for the disk: a second
failure must not bring back what was cut off. The caller writes the recovery point's checkpoint
before it appends again, for the same reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.log.segment import LogSegment
from headrace.log.transactions import replay

if TYPE_CHECKING:
    from headrace.log.log import PartitionLog


def truncate_to(log: PartitionLog, offset: int) -> None:
    """Drop the batch that holds `offset` and all behind it."""
    if offset >= log.log_end_offset:
        return
    segments = log.segments
    if offset < segments[0].base_offset:
        truncate_fully_and_start_at(log, offset)
        return
    for lost in segments.take_after(segments.index_of(offset)):
        lost.remove()
    end = segments.active.truncate_to(offset, log.config.index_interval_bytes)
    _set_end(log, end)


def truncate_fully_and_start_at(log: PartitionLog, offset: int) -> None:
    """Drop everything, so that the log begins and ends with `offset`."""
    fresh = log.segments[0]
    if fresh.base_offset != offset:
        fresh = LogSegment(log.disk, log.folder, offset, now_ms=log.last_now_ms, create=True)
    for lost in log.segments.replace_all(fresh):
        if lost is not fresh:
            lost.remove()
    fresh.clear()
    log.log_start_offset = offset
    log.leader_epochs.clear()
    _set_end(log, offset)


def _set_end(log: PartitionLog, offset: int) -> None:
    log.segments.active.log.sync()
    log.disk.sync_folder(log.folder)
    log.truncations += 1
    log.producers.map_end_offset = log.log_end_offset
    log.log_end_offset = offset
    log.log_start_offset = min(log.log_start_offset, offset)
    log.recovery_point = min(log.recovery_point, offset)
    log.keep_high_watermark_inside()
    log.leader_epochs.truncate_from_end(offset)
    log.producers.truncate_and_reload(log.snapshots, log.log_start_offset, offset, log.last_now_ms)
    replay(log.producers, log.segments, offset, log.last_now_ms)
