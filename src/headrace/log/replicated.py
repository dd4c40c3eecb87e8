"""Appending what a leader has already written: offsets and epochs stay as they are.

A follower is no gate: what its leader has accepted is checked for damage on the way and for its
place, and for nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import CorruptData
from headrace.log.append import Appended
from headrace.log.roll import must_roll
from headrace.log.transactions import note_written, read_marker
from headrace.records.batch import BatchHeader, damage, split_batches
from headrace.types import NO_TIMESTAMP

if TYPE_CHECKING:
    from headrace.log.log import PartitionLog


def append_replicated(log: PartitionLog, batches: memoryview, now_ms: int) -> Appended:
    """Write all whole batches in as few writes as the segments allow.

    A fetch may end inside a batch; that one is left for the next fetch. All batches are checked
    before the first is written.
    """
    headers = _check(log, batches)
    log.last_now_ms = now_ms
    first_offset = headers[0].base_offset if headers else log.log_end_offset
    rolled = False
    start = at = 0
    run: list[BatchHeader] = []
    for header in headers:
        if must_roll(
            log.segments.active,
            log.config,
            size=at - start + header.size,
            last_offset=header.last_offset,
            timestamp=header.max_timestamp,
            now_ms=now_ms,
        ):
            _write(log, batches[start:at], run, now_ms)
            log.roll(header.base_offset)
            rolled = True
            start, run = at, []
        run.append(header)
        at += header.size
        if log.segments.active.size == 0:
            # The first batch of a segment decides about its age, so it goes ahead of the others.
            _write(log, batches[start:at], run, now_ms)
            start, run = at, []
    _write(log, batches[start:at], run, now_ms)
    return Appended(
        base_offset=first_offset,
        last_offset=log.log_end_offset - 1,
        log_append_time_ms=NO_TIMESTAMP,
        log_start_offset=log.log_start_offset,
        size=at,
        duplicate=False,
        flush_due=log.flush_due(now_ms),
        rolled=rolled,
    )


def _check(log: PartitionLog, batches: memoryview) -> list[BatchHeader]:
    expected = log.log_end_offset
    accepted = []
    for header, batch in split_batches(batches, allow_partial_tail=True):
        fault = damage(batch, header)
        if fault is None and header.base_offset < expected:
            fault = f"the log already has offsets up to {expected - 1}"
        if fault is not None:
            raise CorruptData(
                f"{log.topic_partition}: the leader's batch at offset {header.base_offset} "
                f"cannot be appended: {fault}"
            )
        accepted.append(header)
        expected = header.last_offset + 1
    return accepted


def _write(log: PartitionLog, batches: memoryview, headers: list[BatchHeader], now_ms: int) -> None:
    """Write adjacent batches to the active segment in one go."""
    if not headers:
        return
    active = log.segments.active
    for header in headers:
        if header.partition_leader_epoch > log.leader_epochs.latest_epoch:
            log.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
    position = active.write((batches,), len(batches))
    at = 0
    for header in headers:
        active.note_header(position + at, header)
        if header.producer_id >= 0:
            marker = read_marker(header, batches[at : at + header.size])
            note_written(log.producers, active, header, marker, header.base_offset, now_ms)
        at += header.size
    log.log_end_offset = headers[-1].last_offset + 1
