"""Rows become records that the reader in Python sees, whatever Arrow calls their columns."""

from __future__ import annotations

import mmap
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.producing import RecordsPayload
from headrace.pipelines.columns.binary_fields import UnwritableRows
from headrace.pipelines.columns.encode import WritableRows, encode_rows
from headrace.pipelines.columns.schema import HEADERS, TIMESTAMP
from headrace.records.batch import HEADER_SIZE, MAGIC, BatchHeader, read_header, seal
from headrace.records.builder import build_batch
from headrace.records.compression import Codec
from headrace.records.record import Record, iterate
from tests.records.samples import NOW_MS, codecs, dated_record_lists, patient

LARGE = 1 << 20


def table_of(records: list[Record]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([record.key for record in records], pa.binary()),
            pa.array([record.value for record in records], pa.binary()),
            pa.array([record.timestamp for record in records], pa.int64()),
            pa.array([header_entries(record) for record in records], HEADERS),
        ],
        names=["key", "value", "timestamp", "headers"],
    )


def header_entries(record: Record) -> list[dict[str, Any]]:
    return [{"key": name, "value": content} for name, content in record.headers]


def encoded(
    rows: pa.RecordBatch,
    order: list[int] | None = None,
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    max_batch_bytes: int = LARGE,
) -> list[RecordsPayload]:
    places = np.array(range(rows.num_rows) if order is None else order, np.int64)
    return list(
        encode_rows(
            rows, places, codec=codec, level=level, max_batch_bytes=max_batch_bytes, now_ms=NOW_MS
        )
    )


def batch_from(payload: RecordsPayload) -> bytes:
    header = BatchHeader(
        0, 0, -1, MAGIC, 0, payload.codec, payload.count - 1, payload.base_timestamp,
        payload.max_timestamp, -1, -1, -1, payload.count,
    )  # fmt: skip
    return seal(header, payload.records)


def read_back(payloads: list[RecordsPayload]) -> list[Record]:
    """All records, numbered through as the rows were."""
    records = []
    for payload in payloads:
        view = memoryview(batch_from(payload))
        found = list(iterate(read_header(view), view))
        assert [record.offset for record in found] == list(range(payload.count))
        assert payload.base_timestamp == found[0].timestamp
        assert payload.max_timestamp == max(record.timestamp for record in found)
        records += found
    for offset, record in enumerate(records):
        record.offset = offset
    return records


def one_column(name: str, column: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column], names=[name])


@patient
@given(records=dated_record_lists)
def test_same_bytes_as_the_builder(records: list[Record]) -> None:
    """Without compression a payload is what the builder in Python writes, byte for byte."""
    (payload,) = encoded(table_of(records))
    assert bytes(payload.records) == build_batch(records)[HEADER_SIZE:]


@patient
@given(records=dated_record_lists, codec=codecs, max_batch_bytes=st.integers(1, 600))
def test_any_rows(records: list[Record], codec: Codec, max_batch_bytes: int) -> None:
    """Any rows in any codec come back, cut into payloads of any size."""
    payloads = encoded(table_of(records), codec=codec, max_batch_bytes=max_batch_bytes)
    numbered = [
        Record(offset, record.timestamp, record.key, record.value, record.headers)
        for offset, record in enumerate(records)
    ]
    assert read_back(payloads) == numbered


@patient
@given(records=dated_record_lists, max_batch_bytes=st.integers(1, 600), data=st.data())
def test_payloads_are_as_full_as_may_be(
    records: list[Record], max_batch_bytes: int, data: st.DataObject
) -> None:
    """No payload is larger than allowed unless it has one record, and none could hold the next."""
    places = st.integers(0, len(records) - 1)
    order = data.draw(st.lists(places, min_size=1, max_size=30))
    payloads = encoded(table_of(records), order, max_batch_bytes=max_batch_bytes)
    start = 0
    for payload in payloads:
        chosen = [records[index] for index in order[start : start + payload.count]]
        assert bytes(payload.records) == build_batch(chosen)[HEADER_SIZE:]
        assert len(payload.records) <= max_batch_bytes or payload.count == 1
        start += payload.count
        if start < len(order):
            more = build_batch([*chosen, records[order[start]]])[HEADER_SIZE:]
            assert len(more) > max_batch_bytes
    assert start == len(order)


def test_a_payload_may_be_exactly_as_large_as_allowed() -> None:
    """The limit itself is allowed; one byte less makes two payloads."""
    rows = table_of([Record(0, NOW_MS, b"k", b"v")] * 2)
    (whole,) = encoded(rows)
    size = len(whole.records)
    assert [payload.count for payload in encoded(rows, max_batch_bytes=size)] == [2]
    assert [payload.count for payload in encoded(rows, max_batch_bytes=size - 1)] == [1, 1]


def test_a_record_has_a_limit() -> None:
    """A value of 2 GiB is refused by its length, before a byte of it is touched."""
    offsets = pa.py_buffer(np.array([0, 1, 1 + 2**31], np.int64))
    untouched = pa.py_buffer(mmap.mmap(-1, 1 + 2**31, mmap.MAP_PRIVATE))
    column = pa.Array.from_buffers(pa.large_binary(), 2, [None, offsets, untouched])
    with pytest.raises(UnwritableRows, match="row 1 has more than 2 GiB"):
        encoded(one_column("value", column), max_batch_bytes=2**40)


BYTES_TYPES = [
    pa.binary(),
    pa.large_binary(),
    pa.string(),
    pa.large_string(),
    pa.binary_view(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
]


@pytest.mark.parametrize("kind", BYTES_TYPES, ids=str)
@pytest.mark.parametrize("name", ["key", "value"])
def test_every_kind_of_bytes(name: str, kind: pa.DataType) -> None:
    """Bytes and text in every layout that Arrow has, also as slices and with nulls."""
    texts = ["skipped", "a", None, "", "longer than twelve bytes", "ä", "skipped"]
    column = pa.array(texts, pa.string()).cast(kind)
    rows = one_column(name, column).slice(1, 5)
    wanted = [None if text is None else text.encode() for text in texts[1:6]]
    assert [getattr(record, name) for record in read_back(encoded(rows))] == wanted
    assert [getattr(record, name) for record in read_back(encoded(rows, [3, 1, 3]))] == [
        wanted[3],
        wanted[1],
        wanted[3],
    ]


def test_fixed_size_bytes() -> None:
    """Ids of one size, such as UUIDs, are bytes too."""
    column = pa.array([b"0123456789abcdef", None, b"fedcba9876543210"], pa.binary(16))
    records = read_back(encoded(one_column("key", column)))
    assert [record.key for record in records] == column.to_pylist()


@pytest.mark.parametrize("name", ["key", "value", "headers", "timestamp", "other"])
def test_columns_without_a_type_or_missing(name: str) -> None:
    """A column of nulls, and columns that are not there, leave their fields empty."""
    records = read_back(encoded(one_column(name, pa.nulls(2))))
    assert records == [Record(offset, NOW_MS, None, None) for offset in range(2)]


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pa.array([1_700_000_000_123_999, None], TIMESTAMP), [1_700_000_000_123, NOW_MS]),
        (pa.array([1_999, None], pa.timestamp("us")), [1, NOW_MS]),
        (pa.array([1_999, None], pa.timestamp("ms", "UTC")), [1_999, NOW_MS]),
        (pa.array([1_999_999, None], pa.timestamp("ns")), [1, NOW_MS]),
        (pa.array([5, None], pa.int64()), [5, NOW_MS]),
        (pa.array([7, 8, None], pa.int64()).slice(1), [8, NOW_MS]),
        (pa.array([7_000, 8_000, None], TIMESTAMP).slice(1), [8, NOW_MS]),
        (pa.array([datetime(2024, 2, 29, tzinfo=UTC)], TIMESTAMP), [1_709_164_800_000]),
        (pa.array([None], TIMESTAMP), [NOW_MS]),
    ],
    ids=str,
)
def test_times(column: pa.Array, wanted: list[int]) -> None:
    """Timestamps of any unit and bigints of milliseconds; null means now."""
    records = read_back(encoded(one_column("timestamp", column)))
    assert [record.timestamp for record in records] == wanted


def test_headers_in_slices_and_under_nulls() -> None:
    """Null and empty lists have no headers, even where a null list hides some in its memory."""
    entry = {"key": "seen", "value": b"x"}
    hidden = {"key": "hidden", "value": None}
    lists = pa.array([[hidden], [entry, entry], [hidden], [], None, [entry]], HEADERS)
    bitmap = pa.array([True, True, False, True, False, True]).buffers()[1]
    masked = pa.Array.from_buffers(
        HEADERS, 6, [bitmap, lists.buffers()[1]], children=[lists.values]
    )
    records = read_back(encoded(one_column("headers", masked).slice(1)))
    seen = ("seen", b"x")
    assert [record.headers for record in records] == [[seen, seen], [], [], [], [seen]]


def test_large_lists_of_headers() -> None:
    """Lists with 64-bit offsets and texts with them are the same to us."""
    kind = pa.large_list(pa.struct([("key", pa.large_string()), ("value", pa.string_view())]))
    column = pa.array([[{"key": "ä", "value": None}], [{"key": "", "value": "v"}]], kind)
    records = read_back(encoded(one_column("headers", column)))
    assert [record.headers for record in records] == [[("ä", None)], [("", b"v")]]


@pytest.mark.parametrize("entry", [None, {"key": None, "value": b"x"}])
def test_headers_need_a_key(entry: dict[str, Any] | None) -> None:
    """A header without a key is refused, and the error names the row."""
    rows = one_column("headers", pa.array([[], [{"key": "k", "value": b""}, entry]], HEADERS))
    with pytest.raises(UnwritableRows, match="row 1 has a header without a key"):
        encoded(rows)


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("key", pa.array([1]), "the column 'key' has type int64"),
        ("value", pa.array([[b"x"]]), "the column 'value' has type list"),
        ("timestamp", pa.array(["now"]), "the column 'timestamp' has type string"),
        ("timestamp", pa.array([0], pa.timestamp("s")), "has type timestamp"),
        ("timestamp", pa.array([-1]), "the timestamp -1 ms"),
        ("headers", pa.array([b"x"]), "the column 'headers' has type binary"),
        ("headers", pa.array([["x"]]), "the column 'headers' has type list<"),
        ("headers", pa.array([[{"value": "k", "key": b"v"}]]), "make it array<struct<key:string"),
        ("headers", pa.array([[{"key": 1, "value": b"v"}]]), "the column 'headers.key'"),
    ],
    ids=str,
)
def test_columns_that_no_record_can_hold(name: str, column: pa.Array, message: str) -> None:
    """A column of the wrong type is named, with the type that would do."""
    with pytest.raises(UnwritableRows, match=message):
        encoded(one_column(name, column))


@pytest.mark.parametrize("order", [[-1], [0, 2], [2**40]])
def test_orders_name_rows(order: list[int]) -> None:
    """An index that names no row is refused before any memory is read."""
    with pytest.raises(IndexError, match="outside of 0 to 1"):
        encoded(one_column("key", pa.array([b"a", b"b"])), order)


def test_no_rows_no_payload() -> None:
    """Without rows there is nothing to send."""
    rows = table_of([])
    assert encoded(rows) == []
    assert encoded(table_of([Record(0, 1, b"k", b"v")]), []) == []


def test_levels_reach_the_codec() -> None:
    """A higher level makes a smaller payload."""
    rows = one_column("value", pa.array([b"%d" % (n * n * 7919) for n in range(3000)]))
    quick, small = (encoded(rows, codec=Codec.ZSTD, level=level)[0] for level in (-50, 19))
    assert len(small.records) < len(quick.records)


def test_rows_are_prepared_once_for_all_partitions() -> None:
    """One look at the columns serves the rows of each partition, in an order of their own."""
    rows = WritableRows(one_column("key", pa.array([b"%d" % n for n in range(6)])), now_ms=NOW_MS)
    for order in ([0, 2, 4], [5, 3, 1]):
        # A read-only order of another width is as good.
        places = np.array(order, np.int32)
        places.flags.writeable = False
        payloads = list(
            rows.payloads(places, codec=Codec.LZ4, level=None, max_batch_bytes=LARGE)  # type: ignore[arg-type]
        )
        assert [record.key for record in read_back(payloads)] == [b"%d" % n for n in order]
