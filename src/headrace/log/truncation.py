"""Cutting a log's end off: files, indexes, producers, epochs, and every offset that counted on it.

Truncations are rare and follow a failure of some broker, so they wait for the disk: a second
failure must not bring back what was cut off. The caller writes the recovery point's checkpoint
before it appends again, for the same reason.

A cut that fails half-way leaves a log that nobody can use any more, also if it only failed because
the disk is full: the fault says so with another number.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.log.roll import new_segment
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
    with _as_directory_failure(log):
        _remove(log, segments.take_after(segments.index_of(offset)))
        _set_end(log, segments.active.truncate_to(offset))


def truncate_fully_and_start_at(log: PartitionLog, offset: int) -> None:
    """Drop everything, so that the log begins and ends with `offset`."""
    with _as_directory_failure(log):
        _remove(log, list(log.segments))
        log.segments.start_over(new_segment(log, offset))
        log.log_start_offset = offset
        log.leader_epochs.clear()
        _set_end(log, offset)


@contextmanager
def _as_directory_failure(log: PartitionLog) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        reason = f"{log.topic_partition} could not be cut as a whole: {fault.strerror or fault}"
        raise OSError(errno.EIO, reason) from fault


def _remove(log: PartitionLog, segments: list[LogSegment]) -> None:
    """Delete the last segments of the log, one after the other from the end, each for good.

    A power cut in between must leave a prefix: nobody would notice a hole in what was flushed.
    """
    for segment in reversed(segments):
        segment.remove()
        log.folder_changes += 1
        log.sync_folder()


def _set_end(log: PartitionLog, offset: int) -> None:
    log.segments.active.log.sync()
    log.sync_folder()
    log.truncations += 1
    log.producers.map_end_offset = log.log_end_offset
    log.log_end_offset = offset
    log.log_start_offset = min(log.log_start_offset, offset)
    log.recovery_point = min(log.recovery_point, offset)
    log.clean_offset = min(log.clean_offset, offset)
    log.keep_high_watermark_inside()
    log.leader_epochs.truncate_from_end(offset)
    log.producers.truncate_and_reload(log.snapshots, log.log_start_offset, offset, log.last_now_ms)
    replay(log.producers, log.segments, offset, log.last_now_ms)
