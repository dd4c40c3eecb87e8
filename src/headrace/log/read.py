"""Finding records in a log, by offset and by time. Nothing here changes anything.

What is found by offset is a range of a file, not bytes: whoever asked sends it to a socket. A time
is found by the segments' largest timestamps, then by the time index, then by the batches' headers;
only the one batch that holds the answer is unpacked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.errors import CorruptData
from headrace.log.segment import LogSegment
from headrace.log.segments import Segments
from headrace.log.time_index import TimestampOffset
from headrace.records.batch import (
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
    split_batches,
)
from headrace.records.compression import windows
from headrace.records.inspection import heads
from headrace.records.record import MAX_PAYLOAD_BYTES, wrap_int64
from headrace.runtime.disk import File
from headrace.runtime.steps import Steps, finish


@dataclass(slots=True)
class LogSlice:
    """A range of a log file. It begins with a batch and may end inside one."""

    file: File | None
    position: int
    size: int
    base_offset: int
    """Of the first batch, which may begin before the offset that was asked for; of the offset
    itself if the slice is empty."""

    def __len__(self) -> int:
        return self.size

    def data(self) -> bytes:
        """The bytes themselves, for whoever cannot send a file."""
        return b"" if self.file is None else self.file.read(self.position, self.size)

    def whole_batches(self) -> LogSlice:
        """Without the part of a batch with which it may end."""
        data, end = self.data(), 0
        for _, batch in split_batches(memoryview(data), allow_partial_tail=True):
            end += len(batch)
        return LogSlice(self.file, self.position, end, self.base_offset)

    def after(self, sent: int) -> LogSlice:
        """What is left when the first `sent` bytes are gone."""
        return LogSlice(self.file, self.position + sent, self.size - sent, self.base_offset)


def read_slice(
    segments: Segments,
    offset: int,
    max_bytes: int,
    *,
    up_to: int,
    log_end_offset: int,
    at_least_one: bool,
) -> LogSlice:
    """Batches from the one that holds `offset`, of one segment, none of them reaching `up_to`.

    `at_least_one` gives the whole first batch even if it is larger than `max_bytes`, so that a
    reader with a small buffer makes progress; without it such a batch is left out.
    """
    if offset >= up_to:
        return LogSlice(None, 0, 0, offset)
    segment = segments.active
    end_offset = log_end_offset
    if offset >= segment.base_offset:
        place = segment.locate(offset)
    else:
        index = segments.index_of(offset)
        segment = segments[index]
        place = segment.locate(offset)
        while place is None and index + 1 < len(segments):
            # Compaction may have emptied the end of a segment.
            index += 1
            segment = segments[index]
            place = segment.locate(offset)
        end_offset = segments.end_of(index, log_end_offset)
    if place is None:
        return LogSlice(None, 0, 0, offset)
    position, first_size, base_offset = place
    end = segment.size
    if up_to < end_offset:
        bound = segment.locate(up_to)
        if bound is not None:
            end = bound.position
    size = end - position
    if size > max_bytes:
        size = max_bytes
        if size < first_size:
            size = first_size if at_least_one else 0
    if size <= 0 or end <= position:
        return LogSlice(None, 0, 0, offset)
    return LogSlice(segment.log, position, size, base_offset)


Look = Callable[[BatchHeader, memoryview, int, int], TimestampOffset | None]
"""`first_at`, or what a caller has in its place that must not wait for it."""


def find_timestamp(
    segments: Segments, timestamp: int, *, log_start_offset: int, look: Look
) -> TimestampOffset | None:
    """The first record at or after `log_start_offset` whose time is `timestamp` or later."""
    for segment in segments:
        if segment.largest_timestamp().timestamp >= timestamp:
            found = _find_in_segment(segment, timestamp, log_start_offset, look)
            if found is not None:
                return found
    return None


def _find_in_segment(
    segment: LogSegment, timestamp: int, start_offset: int, look: Look
) -> TimestampOffset | None:
    # All batches up to this entry are older, or it is itself the first one that is not.
    entry = segment.time_index.lookup(timestamp)
    return _find_from(segment, max(entry.offset, start_offset), timestamp, start_offset, look)


def _find_from(
    segment: LogSegment, offset: int, timestamp: int, start_offset: int, look: Look
) -> TimestampOffset | None:
    for position, header in segment.headers_from(offset):
        if header.max_timestamp >= timestamp and header.record_count:
            batch = memoryview(segment.log.read(position, header.size))
            found = look(header, batch, timestamp, start_offset)
            if found is not None:
                return found
    return None


def find_max_timestamp(segments: Segments, *, look: Look) -> TimestampOffset | None:
    """The first record with the largest timestamp of the log; None for a log without times."""
    best = max(segments, key=lambda segment: segment.largest_timestamp().timestamp)
    timestamp, offset = best.largest_timestamp()
    if timestamp < 0:
        return None
    return _find_from(best, offset, timestamp, 0, look)


def first_at(
    header: BatchHeader, batch: memoryview, timestamp: int, start_offset: int
) -> TimestampOffset | None:
    """The first record of a batch at or after an offset whose time is `timestamp` or later."""
    return finish(look_for_first(header, batch, timestamp, start_offset))


def look_for_first(
    header: BatchHeader, batch: memoryview, timestamp: int, start_offset: int
) -> Steps[TimestampOffset | None]:
    """`first_at`, one window at a step; safe on any thread.

    The header says that there is such a time. Where no record has it, or records cannot be read,
    the header answers for them: records are the clients' own, and a search that goes on from batch
    to batch for as long as headers lie would not end.
    """
    by_header = TimestampOffset(header.max_timestamp, max(header.base_offset, start_offset))
    content = windows(header.compression, batch[HEADER_SIZE : header.size], MAX_PAYLOAD_BYTES)
    is_there = False
    try:
        for head in heads(content):
            if head is None:
                yield
                continue
            time_delta, offset_delta = head
            time = header.max_timestamp
            if not header.attributes & LOG_APPEND_TIME_BIT:
                time = wrap_int64(header.base_timestamp + time_delta)
            if time >= timestamp:
                is_there = True
                if header.base_offset + offset_delta >= start_offset:
                    return TimestampOffset(time, header.base_offset + offset_delta)
    except CorruptData:
        return by_header
    return None if is_there or header.last_offset < start_offset else by_header
