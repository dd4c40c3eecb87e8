"""Rows as Spark hands them over, gathered into pieces that are worth routing.

Spark sends a few thousand rows at a time. Spread over many partitions those would make small
batches, so they are collected up to a number of bytes first; a piece is in memory twice at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_MICROSECONDS: Final = 1e6


def gathered(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str], max_bytes: int
) -> Iterator[pa.RecordBatch]:
    """The same rows in the same order, these columns only, in pieces of about `max_bytes`."""
    pending: list[pa.RecordBatch] = []
    pending_bytes = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = _chosen(batch, columns)
        pending.append(rows)
        pending_bytes += rows.nbytes
        if pending_bytes >= max_bytes:
            yield _combined(pending)
            pending, pending_bytes = [], 0
    if pending:
        yield _combined(pending)


def _combined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole


def _chosen(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    arrays = [batch.column(name) for name in columns]
    if "timestamp" in columns:
        index = list(columns).index("timestamp")
        arrays[index] = _as_timestamps(arrays[index])
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _as_timestamps(column: pa.Array) -> pa.Array:
    """Seconds since 1970 as Spark itself casts a double to a timestamp; others as they are."""
    if not pa.types.is_float64(column.type):
        return column
    return pc.multiply(column, _MICROSECONDS).cast(pa.int64(), safe=False).cast(pa.timestamp("us"))
