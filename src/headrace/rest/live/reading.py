"""One read of one partition by the raw client: from an offset, bounded, without any state kept.

Batches come as brokers store them; what is before the offset asked for, markers of transactions
and aborted records are left out, and the offset to go on from passes over them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final, NamedTuple

from headrace.admin.client import Admin
from headrace.client.fetching import FetchedSlice, PartitionFetcher
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.errors import ClientFault, CorruptData
from headrace.records.batch import BatchHeader, split_batches
from headrace.records.control import parse_control
from headrace.records.record import iterate
from headrace.rest.live.showing import ReadRecord
from headrace.types import TopicPartition

MAX_DECOMPRESSED_BYTES: Final = 128 << 20
_NOT_FOUND: Final = -1


class ReadRequest(NamedTuple):
    """What a client wants to read."""

    place: TopicPartition
    offset: int
    max_bytes: int
    max_records: int
    read_committed: bool


class ReadResult(NamedTuple):
    """Records, and the offset from which the next read goes on."""

    records: list[ReadRecord]
    next_offset: int
    high_watermark: int
    log_start_offset: int


def resolve(admin: Admin, place: TopicPartition, *, timestamp_ms: int, read_committed: bool) -> int:
    """The offset of a time (`EARLIEST` and `LATEST` included); the end if nothing is that young."""
    admin.partition(place)
    at = {place: timestamp_ms}
    found = list_offsets(admin.cluster, at, read_committed=read_committed)[place].offset
    if found != _NOT_FOUND:
        return found
    return list_offsets(admin.cluster, {place: LATEST}, read_committed=read_committed)[place].offset


def read(admin: Admin, asked: ReadRequest, *, max_wait_ms: int) -> ReadResult:
    """What is there from the offset on, after at most one wait for it."""
    admin.partition(asked.place)
    fetcher = PartitionFetcher(
        admin.cluster,
        *asked.place,
        read_committed=asked.read_committed,
        max_bytes=asked.max_bytes,
        max_wait_ms=max_wait_ms,
    )
    fetched = fetcher.fetch(asked.offset)
    records: list[ReadRecord] = []
    next_offset = asked.offset
    size = 0
    for record, follows in _records(asked, fetched):
        if record is not None:
            size += record.size
            if records and size > asked.max_bytes:
                break
            records.append(record)
        next_offset = follows
        if len(records) == asked.max_records:
            break
    return ReadResult(records, next_offset, fetched.high_watermark, fetched.log_start_offset)


def _records(asked: ReadRequest, fetched: FetchedSlice) -> Iterator[tuple[ReadRecord | None, int]]:
    """Records with the offset after each, and at the end of each batch the offset after it."""
    try:
        for header, batch in _visible(fetched, asked.read_committed):
            if batch is not None:
                for record in iterate(header, batch, MAX_DECOMPRESSED_BYTES):
                    if record.offset >= asked.offset:
                        yield (
                            ReadRecord(
                                asked.place.partition,
                                record.offset,
                                record.timestamp,
                                record.key,
                                record.value,
                                record.headers,
                            ),
                            record.offset + 1,
                        )
            if header.next_offset > asked.offset:
                yield None, header.next_offset
    except ClientFault as fault:
        raise CorruptData(f"{asked.place}: {fault}") from None


def _visible(
    fetched: FetchedSlice, read_committed: bool
) -> Iterator[tuple[BatchHeader, memoryview | None]]:
    """Each batch, without its bytes if a reader must not see what is in it."""
    begun = [(each.first_offset, each.producer_id) for each in fetched.aborted]
    heapq.heapify(begun)
    aborting: set[int] = set()
    for header, batch in split_batches(fetched.records, allow_partial_tail=True):
        while begun and begun[0][0] <= header.last_offset:
            aborting.add(heapq.heappop(begun)[1])
        if header.is_control:
            markers = map(parse_control, iterate(header, batch))
            if any(marker is not None and marker.is_abort for marker in markers):
                aborting.discard(header.producer_id)
            yield header, None
        elif read_committed and header.is_transactional and header.producer_id in aborting:
            yield header, None
        else:
            yield header, batch


ENDS: Final = {"earliest": EARLIEST, "latest": LATEST}
