"""Any bytes, however damaged, give a clear error: only ClientFault and CorruptData get out."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ClientFault, CorruptData
from headrace.records.batch import (
    HEADER_SIZE,
    check_batch,
    check_from_client,
    damage,
    read_header,
    seal,
    split_batches,
)
from headrace.records.compression import Codec, windows
from headrace.records.control import parse_control
from headrace.records.inspection import Inspection, heads
from headrace.records.record import count_records, iterate
from tests.records.samples import RECORDS, batch_of, patient

BATCHES = {codec: batch_of(RECORDS[:4], compression=codec) for codec in Codec}
LIMIT = 2**20

mutations = st.lists(
    st.tuples(st.integers(0, 10**6), st.sampled_from("xid"), st.integers(0, 255)),
    min_size=1,
    max_size=6,
)


def mutated(data: bytes, changes: list[tuple[int, str, int]]) -> bytes:
    out = bytearray(data)
    for place, kind, byte in changes:
        position = place % (len(out) + 1)
        if kind == "i":
            out.insert(position, byte)
        elif kind == "d":
            del out[position : position + 1 + byte % 4]
        elif position < len(out):
            out[position] = byte
    return bytes(out)


def walk(data: bytes) -> None:
    """Everything that a broker or a reader does with bytes from outside."""
    for header, view in split_batches(memoryview(data)):
        damage(view, header)
        count_records(view[HEADER_SIZE:], header.record_count)
        for record in iterate(header, view, LIMIT):
            if header.is_control:
                parse_control(record)
        inspection = Inspection(header.record_count, counts_up=True, needs_keys=True)
        pieces = list(windows(header.compression, view[HEADER_SIZE : header.size], LIMIT))
        for piece in pieces:
            inspection.feed(piece)
        inspection.finish()
        assert sum(head is not None for head in heads(pieces)) == header.record_count
        check_from_client(header)
        check_batch(view, header)


def survives(data: bytes) -> None:
    with contextlib.suppress(ClientFault, CorruptData):
        walk(data)


@patient
@given(codec=st.sampled_from(list(Codec)), changes=mutations)
def test_mutated_batches(codec: Codec, changes: list[tuple[int, str, int]]) -> None:
    """A batch with changed, lost or added bytes raises only our errors."""
    survives(mutated(BATCHES[codec], changes))


@patient
@given(codec=st.sampled_from(list(Codec)), changes=mutations, count=st.integers(-2, 9))
def test_mutated_payloads_with_true_crc(
    codec: Codec, changes: list[tuple[int, str, int]], count: int
) -> None:
    """The same where length and CRC agree, so that the readers inside are reached."""
    batch = BATCHES[codec]
    header = read_header(batch)._replace(record_count=count)
    survives(seal(header, mutated(batch[HEADER_SIZE:], changes)))


@patient
@given(data=st.binary(max_size=300), codec=st.integers(0, 7), count=st.integers(-1, 50))
def test_random_payloads(data: bytes, codec: int, count: int) -> None:
    """Random payloads behind a true header, for every codec number."""
    header = read_header(BATCHES[Codec.NONE])
    survives(seal(header._replace(attributes=codec | 0x20, record_count=count), data))


@patient
@given(data=st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    """Random bytes from the network."""
    survives(data)
