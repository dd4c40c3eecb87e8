"""The log's side of transactions: markers in batches, aborted transactions over all segments."""

from __future__ import annotations

from errno import EIO
from typing import Final

from headrace.log.producer_state import ProducerState
from headrace.log.segment import LogSegment
from headrace.log.segments import Segments
from headrace.log.txn_index import AbortedTransaction
from headrace.records.batch import BatchHeader
from headrace.records.control import EndTxnMarker, parse_control
from headrace.records.record import iterate

_MAX_MARKER_BYTES: Final = 64 * 1024


def read_marker(header: BatchHeader, batch: memoryview) -> EndTxnMarker | None:
    """The transaction marker in a batch; None in a batch of data or of another kind of control."""
    if not header.is_control:
        return None
    record = next(iterate(header, batch, _MAX_MARKER_BYTES), None)
    return None if record is None else parse_control(record)


def note_written(
    producers: ProducerState,
    segment: LogSegment,
    header: BatchHeader,
    marker: EndTxnMarker | None,
    base_offset: int,
    now_ms: int,
) -> None:
    """Show a batch that was just written to the producer state, and its abort to the index."""
    try:
        note_recovered(producers, segment, header, marker, base_offset, now_ms)
    except OSError as fault:
        # The marker is in the log, but readers would not be told of it. Not even a full disk may
        # pass for harmless here: the log must go offline, and its recovery repeats the entry.
        raise OSError(EIO, f"{segment.txn_index.path} cannot be written: {fault}") from fault


def note_recovered(
    producers: ProducerState,
    segment: LogSegment,
    header: BatchHeader,
    marker: EndTxnMarker | None,
    base_offset: int,
    now_ms: int,
) -> None:
    """As `note_written`, where nobody reads before all of it is noted."""
    completed = producers.update(header, base_offset, now_ms, marker)
    if completed is not None and completed.is_abort:
        segment.txn_index.append(
            AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                completed.last_stable_offset,
            )
        )


def replay(producers: ProducerState, segments: Segments, up_to: int, now_ms: int) -> None:
    """Bring the producer state from where it stands to `up_to`, by the headers in the log."""
    start = producers.map_end_offset
    if start >= up_to:
        return
    for index in range(segments.index_of(start), len(segments)):
        segment = segments[index]
        if segment.base_offset >= up_to:
            break
        for position, header in segment.headers_from(start):
            if header.producer_id >= 0:
                marker = None
                if header.is_control:
                    batch = memoryview(segment.log.read(position, header.size))
                    marker = read_marker(header, batch)
                producers.update(header, header.base_offset, now_ms, marker)
            if header.next_offset >= up_to:
                break  # What lies behind may be damaged and is not looked at.
    producers.map_end_offset = up_to


def aborted_in(segments: Segments, from_offset: int, up_to: int) -> list[AbortedTransaction]:
    """Aborted transactions that touch [from_offset, up_to), ordered by first offset."""
    found: list[AbortedTransaction] = []
    for index in range(segments.index_of(from_offset), len(segments)):
        some, complete = segments[index].txn_index.collect(from_offset, up_to)
        found += some
        if complete:
            break
    return sorted(found, key=lambda transaction: transaction.first_offset)
