"""Any bytes give rows or CorruptData, and no byte outside of a batch is read or written.

Batches stand right before a page that must not be touched: a kernel that reads one byte too many
ends the whole test run. Checksums are computed anew, so that the kernel is reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headrace.errors import CorruptData
from headrace.pipelines.columns import kernels
from headrace.records.batch import HEADER_SIZE, BatchHeader, read_header, seal
from headrace.records.compression import Codec, compress
from headrace.records.record import Record
from tests.pipelines.columns.samples import Fence, Row, decode, expected, opened, plain
from tests.records.samples import RECORDS, batch_of, patient
from tests.records.test_mutations import mutated, mutations

FENCE = Fence()
BATCH = batch_of(RECORDS[:4])
HEADER = read_header(BATCH)
PAYLOAD = BATCH[HEADER_SIZE:]


def rows_or_fault(read: Callable[[], list[Row]]) -> tuple[list[Row], str]:
    try:
        return read(), ""
    except CorruptData as error:
        return [], str(error)


def check(header: BatchHeader, payload: bytes, *, headers: bool = True) -> bool:
    """Whether the batch was taken. It must be if the reader in Python takes it, with its rows."""
    batches = opened(FENCE.before(seal(header, payload)))
    rows, fault = rows_or_fault(lambda: plain(decode(batches, headers=headers)))
    wanted, their_fault = rows_or_fault(lambda: expected(batches))
    if fault:
        assert "orders-3: the batch at offset 0 is damaged" in fault
        assert their_fault
    elif their_fault:
        # The one thing that the reader in Python refuses and this one mends.
        assert "is not UTF-8" in their_fault
    elif headers:
        assert rows == wanted
    return not fault


def test_every_end_that_is_cut_off() -> None:
    """A payload cut after any of its bytes is refused."""
    assert check(HEADER, PAYLOAD)
    for size in range(len(PAYLOAD)):
        assert not check(HEADER, PAYLOAD[:size])


@pytest.mark.parametrize("byte", [0, 1, 2, 11, 12, 13, 0x7E, 0x7F, 0x80, 0xFE, 0xFF])
def test_every_byte_replaced(byte: int) -> None:
    """Each byte in turn becomes one that makes lengths and counts short, negative or endless."""
    for place in range(len(PAYLOAD)):
        changed = bytearray(PAYLOAD)
        changed[place] = byte
        check(HEADER, bytes(changed))


@pytest.mark.parametrize("size", [4, 5, 9, 10, 11])
def test_endless_integers(size: int) -> None:
    """Integers with more bits than they may have, at every place where one can begin."""
    for place in range(len(PAYLOAD)):
        for last in (0x01, 0x0F, 0x10, 0x7F):
            check(HEADER, PAYLOAD[:place] + b"\xff" * (size - 1) + bytes((last,)) + PAYLOAD[place:])


@pytest.mark.parametrize(
    ("time_delta", "sound"),
    [
        ("00", True),
        ("ff ff ff ff ff ff ff ff ff 01", True),
        ("80 80 80 80 80 80 80 80 80 00", True),
        ("ff ff ff ff ff ff ff ff ff 02", False),
        ("80 80 80 80 80 80 80 80 80 7f", False),
        ("80 80 80 80 80 80 80 80 80 80 00", False),
    ],
)
def test_integers_of_all_their_bits(time_delta: str, sound: bool) -> None:
    """A time may have 64 bits and be written long; one bit more is damage, not another time."""
    body = b"\0" + bytes.fromhex(time_delta) + b"\0\1\1\0"
    header = HEADER._replace(record_count=1, last_offset_delta=0)
    assert check(header, bytes((len(body) << 1,)) + body) == sound


@patient
@given(changes=mutations, count=st.integers(0, 4), headers=st.booleans())
def test_mutated_payloads(changes: list[tuple[int, str, int]], count: int, headers: bool) -> None:
    """Changed, lost and added bytes, with counts that may be lies."""
    check(HEADER._replace(record_count=count), mutated(PAYLOAD, changes), headers=headers)


@patient
@given(changes=mutations, codec=st.sampled_from([codec for codec in Codec if codec]))
def test_mutated_before_compression(changes: list[tuple[int, str, int]], codec: Codec) -> None:
    """The same behind every codec."""
    payload = compress(codec, mutated(PAYLOAD, changes))
    check(HEADER._replace(attributes=codec), payload)


@patient
@given(payload=st.binary(max_size=300), count=st.integers(0, 50))
def test_random_payloads(payload: bytes, count: int) -> None:
    """Random bytes behind a header that says there are records."""
    check(HEADER._replace(record_count=count, last_offset_delta=60), payload)


class Columns:
    """Columns of the measured size with a margin on both sides that must stay as it is."""

    MARGIN = 64

    def __init__(self, totals: list[int]) -> None:
        self._margins: list[NDArray[Any]] = []
        rows, key_bytes, value_bytes, headers, name_bytes, content_bytes = totals
        self.numbers = kernels.NumberColumns(
            self._room(rows, np.int64),
            self._room(rows, np.int64),
            self._room((rows + 7) // 8, np.uint8),
            self._room(rows, np.int32),
        )
        self.keys = self._binary(rows, key_bytes)
        self.values = self._binary(rows, value_bytes)
        self.headers = kernels.HeaderColumns(
            self._room(rows + 1, np.int32),
            self._room((rows + 7) // 8, np.uint8),
            self._binary(headers, name_bytes),
            self._binary(headers, content_bytes),
        )

    def _room(self, size: int, kind: type) -> NDArray[Any]:
        whole: NDArray[Any] = np.zeros(size + 2 * self.MARGIN, kind)
        self._margins += (whole[: self.MARGIN], whole[self.MARGIN + size :])
        return whole[self.MARGIN : self.MARGIN + size]

    def _binary(self, rows: int, size: int) -> kernels.BinaryColumn:
        return kernels.BinaryColumn(
            self._room(rows + 1, np.int32),
            self._room(size, np.uint8),
            self._room((rows + 7) // 8, np.uint8),
        )

    def margins_are_clean(self) -> bool:
        return not any(margin.any() for margin in self._margins)


def filled_after(payload: bytes, changed: bytes) -> int:
    """Measure one payload and read another, of the same size, into the columns made for it."""
    count = HEADER.record_count
    place = FENCE.before(payload)
    address = np.frombuffer(place, np.uint8).ctypes.data
    fields = (address, len(payload), count, 0, count - 1, HEADER.base_timestamp, 0, 0)
    table = np.array(fields, np.int64).reshape(1, kernels.BATCH_FIELDS)
    totals = np.zeros(kernels.TOTALS, np.int64)
    assert kernels.measure_records(table, 0, 100, totals)
    columns = Columns(totals.tolist())
    FENCE.before(changed)
    written = kernels.fill_columns(
        table, 0, 100, columns.numbers, columns.keys, columns.values, columns.headers, True
    )
    assert columns.margins_are_clean()
    return written


@patient
@given(changes=mutations)
def test_memory_that_changes_between_the_walks(changes: list[tuple[int, str, int]]) -> None:
    """Even if someone writes into a payload after it was measured, nothing else is touched."""
    changed = mutated(PAYLOAD, changes)[: len(PAYLOAD)].rjust(len(PAYLOAD), b"\x10")
    assert -1 <= filled_after(PAYLOAD, changed) <= 4


def test_a_key_that_grows_past_the_end() -> None:
    """The same where the column would have room for what lies behind the payload."""
    keys = (b"a" * 9, b"b", b"c", b"")
    payload = batch_of([Record(0, 0, key, None) for key in keys])[HEADER_SIZE:]
    changed = payload.replace(b"\x12" + b"a" * 9, b"\0" + b"a" * 9)
    changed = changed[:-3] + b"\x10" + changed[-2:]
    assert filled_after(payload, changed) == 4
