"""Which batches of a fetch hold rows of a range, and why the others do not.

Markers and the data of aborted transactions are told by their headers and by the list that came
with the fetch; what is dropped is never decompressed. Nothing here talks to a broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headrace.client.fetching import AbortedTransaction, FetchedSlice
from headrace.errors import ClientFault, CorruptData
from headrace.pipelines.source.gaps import Unfilled
from headrace.pipelines.source.split import OffsetRange
from headrace.records.batch import BatchHeader, damage, split_batches
from headrace.records.control import parse_control
from headrace.records.record import iterate

Batch = tuple[BatchHeader, memoryview]


class Selected(NamedTuple):
    """What a fetch brought for a range."""

    data: list[Batch]
    next_offset: int
    """Where to go on; the start of the range, if the fetch brought nothing."""
    data_offsets: int
    """Offsets of the range that the data batches span, with a record or without."""
    bytes_per_offset: float | None


def select(
    fetched: FetchedSlice, wanted: OffsetRange, *, read_committed: bool, unfilled: Unfilled
) -> Selected:
    """The data batches of the range; `unfilled` is told of the offsets that have none."""
    aborted = _Aborted(fetched.aborted if read_committed else ())
    data: list[Batch] = []
    expected = wanted.start
    data_offsets = size = offsets = 0
    for header, view in _split(fetched.records, wanted):
        if header.next_offset <= wanted.start:
            continue
        if header.base_offset > expected:
            unfilled.compacted += min(header.base_offset, wanted.end) - expected
            expected = min(header.base_offset, wanted.end)
        if header.base_offset >= wanted.end:
            break
        size += len(view)
        offsets += header.last_offset_delta + 1
        span = min(header.next_offset, wanted.end) - max(header.base_offset, wanted.start)
        if not header.is_control and not aborted.holds(header):
            data.append((header, view))
            data_offsets += span
        else:
            _check_dropped(header, view, wanted)
            if header.is_control:
                aborted.end(header, view)
                unfilled.markers += span
            else:
                unfilled.aborted += span
        expected = min(header.next_offset, wanted.end)
    return Selected(data, expected, data_offsets, size / offsets if offsets > 0 else None)


class _Aborted:
    """Which batches of one fetch belong to aborted transactions.

    The broker names each by its producer and first offset; its marker in the log ends it.
    """

    def __init__(self, transactions: tuple[AbortedTransaction, ...]) -> None:
        self._coming = sorted(transactions, key=lambda each: each.first_offset, reverse=True)
        self._producers: set[int] = set()

    def holds(self, header: BatchHeader) -> bool:
        """Whether a data batch counts for nothing. To be asked in the order of the log."""
        self._begin(header)
        return header.is_transactional and header.producer_id in self._producers

    def end(self, header: BatchHeader, view: memoryview) -> None:
        """A control batch was reached."""
        self._begin(header)
        markers = [parse_control(record) for record in iterate(header, view)]
        if any(marker is not None and marker.is_abort for marker in markers):
            self._producers.discard(header.producer_id)

    def _begin(self, header: BatchHeader) -> None:
        while self._coming and self._coming[-1].first_offset <= header.last_offset:
            self._producers.add(self._coming.pop().producer_id)


def _split(records: memoryview, wanted: OffsetRange) -> Iterator[Batch]:
    try:
        yield from split_batches(records, allow_partial_tail=True)
    except ClientFault as fault:
        raise CorruptData(
            f"topic {wanted.topic}, partition {wanted.partition}, from offset {wanted.start}: "
            f"{fault}"
        ) from None


def _check_dropped(header: BatchHeader, view: memoryview, wanted: OffsetRange) -> None:
    """What is dropped is not decoded, so a damaged header must not be the reason to drop it."""
    fault = damage(view, header)
    if fault is not None:
        raise CorruptData(
            f"topic {wanted.topic}, partition {wanted.partition}, offset {header.base_offset}: "
            f"the batch is damaged: {fault}"
        )
