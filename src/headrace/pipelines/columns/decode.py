"""Fetched record batches as Arrow rows: checked, opened, and copied once, into their columns.

A row is what Spark's own Kafka source makes of a record: no headers are null and not an empty list,
a header's name that is not UTF-8 is mended as Java mends it, and with log append time every row
carries the batch's time. One difference is on purpose: a time that does not fit into microseconds,
such as nanoseconds written by mistake, is null here, where Spark's source fails on that record for
ever.

The module refuses to know where batches come from and which of them belong to aborted transactions.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.errors import CorruptData, InvariantViolated
from headrace.pipelines.columns.schema import HEADER, HEADERS, TIMESTAMP, arrow_schema
from headrace.records.batch import HEADER_SIZE, BatchHeader, damage
from headrace.records.compression import Codec, decompress
from headrace.records.record import MAX_PAYLOAD_BYTES

if TYPE_CHECKING:
    from headrace.pipelines.columns.kernels import BinaryColumn, HeaderColumns, NumberColumns
    from headrace.pipelines.kernels.memory import Bytes, Words

PIECE_BYTES: Final = 32 << 20
"""How much of opened batches makes one piece, unless the caller says otherwise."""

_MAX_COLUMN_BYTES: Final = 2**31 - 1
_MAX_OFFSET: Final = 2**63 - 1


class _Place(NamedTuple):
    """What the rows have in common, and which of them are wanted."""

    topic: str
    partition: int
    first_offset: int
    end_offset: int
    headers: bool


class _OpenBatch(NamedTuple):
    header: BatchHeader
    payload: pa.Buffer


def decode_in_pieces(
    batches: Sequence[tuple[BatchHeader, memoryview]],
    *,
    topic: str,
    partition: int,
    first_offset: int,
    end_offset: int,
    headers: bool,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[pa.RecordBatch]:
    """The rows with `first_offset <= offset < end_offset` of these data batches, in their order.

    They come piece by piece, so that no more than `piece_bytes` of decompressed batches and one
    batch more are in memory at a time, however well they were compressed. CorruptData names topic,
    partition and the offset of the batch that is damaged.
    """
    place = _Place(topic, partition, first_offset, end_offset, headers)
    gathered: list[_OpenBatch] = []
    size = 0
    for batch in _open_batches(batches, place):
        if gathered and size + batch.payload.size > piece_bytes:
            yield _rows(gathered, place)
            gathered, size = [], 0
        gathered.append(batch)
        size += batch.payload.size
    if gathered:
        yield _rows(gathered, place)


def _open_batches(
    batches: Sequence[tuple[BatchHeader, memoryview]], place: _Place
) -> Iterator[_OpenBatch]:
    """The batches that may have wanted rows, each checked and decompressed when its turn comes."""
    for header, view in batches:
        if header.last_offset < place.first_offset or header.base_offset >= place.end_offset:
            continue
        fault = damage(view, header)
        if fault is None and header.last_offset > _MAX_OFFSET:
            fault = f"its offsets go past {_MAX_OFFSET}"
        if fault is not None:
            raise _corrupt(place, header, fault)
        payload = view[HEADER_SIZE : header.size]
        codec = header.compression
        if codec == Codec.NONE:
            yield _OpenBatch(header, pa.py_buffer(payload))
            continue
        try:
            opened = decompress(codec, payload, MAX_PAYLOAD_BYTES)
        except CorruptData as error:
            raise _corrupt(place, header, str(error)) from None
        yield _OpenBatch(header, pa.py_buffer(opened))


def _rows(batches: Sequence[_OpenBatch], place: _Place) -> pa.RecordBatch:
    # numba takes half a second to import: who only plans a read must not wait for it.
    from headrace.pipelines.columns import kernels

    table = _table(batches)
    totals = _measured(batches, table, place)
    rows, key_bytes, value_bytes, header_count, name_bytes, content_bytes = totals
    times_valid = _all_valid(rows)
    numbers = kernels.NumberColumns(
        np.empty(rows, np.int64), np.empty(rows, np.int64), times_valid, np.empty(rows, np.int32)
    )
    keys = _binary_column(rows, key_bytes)
    values = _binary_column(rows, value_bytes)
    header_columns = kernels.HeaderColumns(
        _ends(rows),
        _all_valid(rows),
        _binary_column(header_count, name_bytes),
        _binary_column(header_count, content_bytes),
    )
    written = kernels.fill_columns(
        table,
        place.first_offset,
        place.end_offset,
        numbers,
        keys,
        values,
        header_columns,
        place.headers,
    )
    if written != rows:
        raise InvariantViolated("the memory of fetched batches was changed while they were read")
    columns = _columns(place, rows, numbers, keys, values)
    if place.headers:
        columns.append(_headers(rows, header_columns))
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(headers=place.headers))


def _measured(batches: Sequence[_OpenBatch], table: Words, place: _Place) -> list[int]:
    """Rows, bytes of keys and of values; headers, bytes of their names and of their contents."""
    from headrace.pipelines.columns import kernels

    totals = np.zeros(kernels.TOTALS, np.int64)
    sound = kernels.measure_records(table, place.first_offset, place.end_offset, totals)
    measured: list[int] = totals.tolist()
    if not sound:
        header, payload = batches[measured[kernels.FAULTY_BATCH]]
        raise _corrupt(
            place,
            header,
            f"the record at byte {measured[kernels.FAULTY_BYTE]} of its {payload.size} bytes of "
            f"records is malformed, or is not one of {header.record_count}",
        )
    largest = max(*measured, measured[kernels.ROWS] * len(place.topic))
    if largest > _MAX_COLUMN_BYTES:
        raise InvariantViolated(
            f"rows of {place.topic}-{place.partition} have {largest} bytes in one column, "
            f"which holds {_MAX_COLUMN_BYTES}: decode fewer batches at once"
        )
    if not place.headers:
        measured[kernels.HEADERS :] = 0, 0, 0
    return measured


def _table(batches: Sequence[_OpenBatch]) -> Words:
    """One row of numbers for each batch, in the order of the names in `kernels`."""
    from headrace.pipelines.columns.kernels import BATCH_FIELDS

    numbers = array("q")
    for header, payload in batches:
        numbers.extend(
            (
                payload.address,
                payload.size,
                header.record_count,
                header.base_offset,
                header.last_offset_delta,
                header.base_timestamp,
                header.max_timestamp,
                header.timestamp_type,
            )
        )
    return np.array(numbers, np.int64).reshape(len(batches), BATCH_FIELDS)


def _ends(rows: int) -> NDArray[np.int32]:
    ends = np.empty(rows + 1, np.int32)
    ends[0] = 0
    return ends


def _all_valid(rows: int) -> Bytes:
    return np.full((rows + 7) // 8, 0xFF, np.uint8)


def _binary_column(rows: int, size: int) -> BinaryColumn:
    from headrace.pipelines.columns.kernels import BinaryColumn

    return BinaryColumn(_ends(rows), np.empty(size, np.uint8), _all_valid(rows))


def _validity(bits: Bytes) -> pa.Buffer | None:
    """Arrow takes a column without a bitmap for one without nulls, and reads it faster."""
    return None if (bits == 0xFF).all() else pa.py_buffer(bits)


def _binary(kind: pa.DataType, rows: int, column: BinaryColumn) -> pa.Array:
    buffers = [_validity(column.valid), pa.py_buffer(column.ends), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind, rows, buffers)


def _columns(
    place: _Place, rows: int, numbers: NumberColumns, keys: BinaryColumn, values: BinaryColumn
) -> list[pa.Array]:
    return [
        _binary(pa.binary(), rows, keys),
        _binary(pa.binary(), rows, values),
        _repeated(place.topic.encode(), rows),
        _numbers(pa.int32(), np.full(rows, place.partition, np.int32)),
        _numbers(pa.int64(), numbers.offsets),
        _numbers(TIMESTAMP, numbers.timestamps, _validity(numbers.timestamps_valid)),
        _numbers(pa.int32(), numbers.timestamp_types),
    ]


def _numbers(
    kind: pa.DataType, numbers: NDArray[np.integer], validity: pa.Buffer | None = None
) -> pa.Array:
    # `pa.array` would do, but it imports pandas first, to see whether that made the numbers.
    return pa.Array.from_buffers(kind, len(numbers), [validity, pa.py_buffer(numbers)])


def _repeated(text: bytes, rows: int) -> pa.Array:
    ends = np.arange(rows + 1, dtype=np.int32) * np.int32(len(text))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(text * rows)]
    return pa.Array.from_buffers(pa.string(), rows, buffers)


def _headers(rows: int, columns: HeaderColumns) -> pa.Array:
    count = len(columns.names.ends) - 1
    names = _binary(pa.string(), count, columns.names)
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        mended = [_java_text(name) for name in names.cast(pa.binary()).to_pylist()]
        names = pa.array(mended, pa.string())
    contents = _binary(pa.binary(), count, columns.contents)
    entries = pa.StructArray.from_arrays([names, contents], fields=list(HEADER))
    lists = [_validity(columns.valid), pa.py_buffer(columns.ends)]
    return pa.Array.from_buffers(HEADERS, rows, lists, children=[entries])


_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def _java_text(name: bytes) -> str:
    """Bytes that are not UTF-8 as Java reads them.

    It agrees with Python on what one replacement character stands for, but for half of a surrogate
    pair, which is one fault to Java and three to Python.
    """
    return _SURROGATE.sub(_REPLACEMENT.encode(), name).decode(errors="replace")


def _corrupt(place: _Place, header: BatchHeader, what: str) -> CorruptData:
    return CorruptData(
        f"{place.topic}-{place.partition}: the batch at offset {header.base_offset} is damaged: "
        f"{what}"
    )
