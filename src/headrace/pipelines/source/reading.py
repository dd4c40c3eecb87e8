"""A task in a worker: one range of offsets from the broker, as Arrow record batches.

Raw batches are fetched and decoded in one go; the next fetch is under way while rows go to Spark.
Memory is bounded by two fetches and one record batch; connections stay open in the worker for the
tasks to come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from headrace.client.cluster import Cluster, shared_cluster
from headrace.client.fetching import (
    FetchedSlice,
    OffsetOutOfRange,
    PartitionFetcher,
    UnknownTopic,
)
from headrace.errors import HeadraceError
from headrace.pipelines.columns.decode import decode_in_pieces
from headrace.pipelines.source.gaps import LOGGER, Cause, Loss, Unfilled, out_of_range, report
from headrace.pipelines.source.options import SourceOptions
from headrace.pipelines.source.selection import Batch, select
from headrace.pipelines.source.split import OffsetRange
from headrace.pipelines.worker import freeze_once
from headrace.types import TopicPartition

_MAX_ROWS: Final = 1 << 16
_MIN_FETCH_BYTES: Final = 64 << 10
_FIRST_GUESS_BYTES: Final = 1 << 10
_MAX_EMPTY_FETCHES: Final = 3
_MAX_FETCHES_BEHIND: Final = 60

_bytes_per_offset: dict[TopicPartition, float] = {}
"""What an offset of a partition weighed last time, so that a small range is not over-fetched."""


class Unreadable(HeadraceError):
    """The broker has the offsets, or should have, but does not hand them out."""


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """The rows of a range, in the order of their offsets."""
    cluster = shared_cluster(options.client)
    unfilled = Unfilled()
    try:
        yield from _read(cluster, options, wanted, unfilled)
    except UnknownTopic as fault:
        exists = wanted.topic in cluster.topics([wanted.topic])
        cause = Cause.RECREATED if exists else Cause.DELETED
        loss = Loss(cause, wanted.topic, wanted.partition, wanted.start, wanted.end, str(fault))
        report([loss], fail=options.fail_on_data_loss)
    finally:
        freeze_once()
    if unfilled:
        LOGGER.info(
            "%s-%d: of offsets %d to %d, %s hold no row",
            wanted.topic,
            wanted.partition,
            wanted.start,
            wanted.end - 1,
            unfilled,
        )


def _read(
    cluster: Cluster, options: SourceOptions, wanted: OffsetRange, unfilled: Unfilled
) -> Iterator[pa.RecordBatch]:
    fetcher = PartitionFetcher(
        cluster,
        wanted.topic,
        wanted.partition,
        read_committed=options.read_committed,
        max_bytes=_fetch_bytes(options, wanted),
        max_wait_ms=options.max_wait_ms,
        topic_id=wanted.topic_id,
    )
    place = TopicPartition(wanted.topic, wanted.partition)
    left = wanted
    empty_fetches = 0
    while left.size > 0:
        try:
            fetched = fetcher.fetch(left.start)
        except OffsetOutOfRange as fault:
            left = _after_loss(options, left, fault)
            continue
        found = select(fetched, left, read_committed=options.read_committed, unfilled=unfilled)
        if found.next_offset == left.start:
            empty_fetches += 1
            if _ends_here(fetched, left, options.read_committed, empty_fetches):
                unfilled.compacted += left.size
                return
            continue
        empty_fetches = 0
        if found.bytes_per_offset is not None:
            _bytes_per_offset[place] = found.bytes_per_offset
        if found.next_offset < left.end:
            fetcher.ahead(found.next_offset)
        rows = 0
        for table in _decode(found.data, left, headers=options.include_headers):
            rows += table.num_rows
            yield options.decoding.apply(table)
        unfilled.compacted += found.data_offsets - rows
        left = left._replace(start=found.next_offset)


def _decode(batches: list[Batch], left: OffsetRange, *, headers: bool) -> Iterator[pa.RecordBatch]:
    """Record batches of a bounded number of rows and bytes, none of them empty."""
    for chunk in _chunks(batches):
        for table in decode_in_pieces(
            chunk,
            topic=left.topic,
            partition=left.partition,
            first_offset=left.start,
            end_offset=left.end,
            headers=headers,
        ):
            if table.num_rows:
                yield table


def _chunks(batches: list[Batch]) -> Iterator[list[Batch]]:
    chunk: list[Batch] = []
    rows = 0
    for header, view in batches:
        if chunk and rows + header.record_count > _MAX_ROWS:
            yield chunk
            chunk, rows = [], 0
        chunk.append((header, view))
        rows += header.record_count
    if chunk:
        yield chunk


def _after_loss(options: SourceOptions, left: OffsetRange, fault: OffsetOutOfRange) -> OffsetRange:
    """Report what is gone; what remains to be read, if the query may go on."""
    loss = out_of_range(
        left.topic,
        left.partition,
        start=left.start,
        end=left.end,
        log_start=fault.log_start_offset,
        log_end=fault.end_offset,
    )
    report([loss], fail=options.fail_on_data_loss)
    resumed = fault.log_start_offset if left.start < fault.log_start_offset else left.end
    return left._replace(start=resumed)


def _ends_here(
    fetched: FetchedSlice, left: OffsetRange, read_committed: bool, empty_fetches: int
) -> bool:
    """Whether a fetch without a batch means that the rest of the range holds none."""
    where = f"topic {left.topic}, partition {left.partition}"
    if len(fetched.records):
        raise Unreadable(
            f"{where}: the broker sent {len(fetched.records)} bytes for offset {left.start}, but "
            "no batch with it: raise kafka.max.partition.fetch.bytes above the topic's "
            "max.message.bytes"
        )
    readable = fetched.last_stable_offset if read_committed else fetched.high_watermark
    if readable >= left.end:
        return empty_fetches >= _MAX_EMPTY_FETCHES
    if empty_fetches < _MAX_FETCHES_BEHIND:
        return False
    raise Unreadable(
        f"{where}: offsets {left.start} to {left.end - 1} were announced, but the leader serves "
        f"only those below {readable}. Its followers may be behind after a change of leaders: "
        "start the query again"
    )


def _fetch_bytes(options: SourceOptions, wanted: OffsetRange) -> int:
    weight = _bytes_per_offset.get(
        TopicPartition(wanted.topic, wanted.partition), _FIRST_GUESS_BYTES
    )
    needed = int(wanted.size * weight * 1.1) + _MIN_FETCH_BYTES
    return min(needed, options.max_fetch_bytes)
