"""Batches and records that several tests of this folder need."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from headrace.records.batch import BatchHeader, read_header
from headrace.records.builder import BatchBuilder
from headrace.records.compression import Codec
from headrace.records.record import Record, iterate

# The first example loads native libraries; how long that takes says nothing about the code.
patient = settings(deadline=None)

NOW_MS = 1_700_000_000_000

RECORDS = [
    Record(0, NOW_MS, b"key", b"value", []),
    Record(1, NOW_MS + 3, None, b"no key", [("trace", b"\x00\x01"), ("empty", b""), ("nul", None)]),
    Record(2, NOW_MS - 70_000, b"tombstone", None, [("näme", b"x")]),
    Record(3, NOW_MS + 1, b"", b"", []),
    Record(4, NOW_MS, b"k" * 70, b"v" * 20_000, []),
]


def batch_of(records: list[Record], **options: Any) -> bytes:
    builder = BatchBuilder(**options)
    for record in records:
        builder.append(record.key, record.value, record.timestamp, record.headers)
    return builder.build()


def opened(batch: bytes | bytearray) -> tuple[BatchHeader, memoryview]:
    view = memoryview(batch)
    return read_header(view), view


def read_all(batch: bytes | bytearray) -> list[Record]:
    return list(iterate(*opened(batch)))


codecs = st.sampled_from(list(Codec))
header_lists = st.lists(
    st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=20)), max_size=4
)
nullable_bytes = st.none() | st.binary(max_size=200)


def lists_of_records(timestamps: st.SearchStrategy[int]) -> st.SearchStrategy[list[Record]]:
    record = st.builds(
        Record,
        offset=st.just(0),
        timestamp=timestamps,
        key=nullable_bytes,
        value=nullable_bytes,
        headers=header_lists,
    )
    return st.lists(record, min_size=1, max_size=12)


record_lists = lists_of_records(st.integers(-1, 2**63 - 1))
dated_record_lists = lists_of_records(st.integers(0, 2**63 - 1))
