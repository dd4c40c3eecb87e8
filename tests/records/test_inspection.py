"""The walk over windows agrees with the full reader, wherever the windows are cut."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ClientFault, CorruptData, Error, InvalidRecords
from headrace.records.batch import HEADER_SIZE, read_header, seal
from headrace.records.builder import encode_record
from headrace.records.compression import Codec, Oversized, compress, decompress_small, windows
from headrace.records.inspection import MAX_INDEXES, Inspection, heads
from headrace.records.record import Record, iterate, wrap_int64
from tests.records.samples import RECORDS, batch_of, patient, record_lists

TIMES = st.sampled_from((0, 1, 63, 64, 8191, 8192, 2**40))


def payload_of(records: list[Record]) -> bytes:
    return bytes(batch_of(records)[HEADER_SIZE:])


def cut(payload: bytes, sizes: Iterator[int]) -> list[bytes]:
    pieces = []
    at = 0
    while at < len(payload):
        size = next(sizes)
        pieces.append(payload[at : at + size])
        at += size
    return pieces


def inspect(pieces: list[bytes], count: int, *, counts_up: bool = True, keys: bool = False) -> None:
    inspection = Inspection(count, counts_up=counts_up, needs_keys=keys)
    for piece in pieces:
        inspection.feed(piece)
    inspection.finish()


def is_good(payload: bytes, count: int, pieces: list[bytes]) -> bool:
    error = Error.NONE
    try:
        inspect(pieces, count)
    except ClientFault as fault:
        error = fault.error
    assert error in (Error.NONE, Error.INVALID_RECORD)
    return error is Error.NONE


def reads_well(payload: bytes, count: int) -> bool:
    """What the full reader says, which looks at more."""
    header = read_header(batch_of(RECORDS[:1]))
    header = header._replace(record_count=count, last_offset_delta=count - 1)
    batch = seal(header, payload)
    try:
        found = list(iterate(read_header(batch), memoryview(batch)))
    except CorruptData:
        return False
    return [record.offset for record in found] == list(range(count))


@patient
@given(records=record_lists, seed=st.integers(0, 2**32))
def test_any_cut_into_windows(records: list[Record], seed: int) -> None:
    """Records are found however the payload is cut; a byte less or more is found out."""
    payload = payload_of(records)
    rng = random.Random(seed)
    pieces = cut(payload, iter(lambda: rng.choice((1, 2, 3, 30, 1000)), 0))
    inspect(pieces, len(records))
    inspect(pieces, len(records), counts_up=False)
    first = records[0].timestamp  # deltas wrap around, as the timestamps of a batch do
    assert [head for head in heads(pieces) if head is not None] == [
        (wrap_int64(record.timestamp - first), index) for index, record in enumerate(records)
    ]
    for wrong in (payload[:-1], payload + b"\0", payload + b"\x0c"):
        assert not is_good(wrong, len(records), [wrong])
    for count in (len(records) - 1, len(records) + 1):
        assert not is_good(payload, count, pieces)


@patient
@given(
    count=st.integers(1, 400),
    sizes=st.sampled_from(((0,), (3, 3, 3, 3, 4), (100,), (5, 300))),
    times=st.lists(TIMES, min_size=1, max_size=3),
    window=st.sampled_from((7, 100, 4096, 1 << 20)),
    flip=st.tuples(st.integers(0, 2**32), st.integers(1, 255)),
)
def test_runs_of_equal_records(
    count: int, sizes: tuple[int, ...], times: list[int], window: int, flip: tuple[int, int]
) -> None:
    """Columns of equal records prove the same as a look at each; a damaged byte is not overlooked
    where the full reader stops because of lengths or offsets.
    """
    payload = b"".join(
        encode_record(index, times[index % len(times)], b"k", bytes(sizes[index % len(sizes)]), [])
        for index in range(count)
    )
    assert is_good(payload, count, cut(payload, iter(lambda: window, 0)))
    damaged = bytearray(payload)
    damaged[flip[0] % len(damaged)] ^= flip[1]
    pieces = cut(bytes(damaged), iter(lambda: window, 0))
    if reads_well(bytes(damaged), count):
        assert is_good(bytes(damaged), count, pieces)
    small = cut(bytes(damaged), iter(lambda: 11, 0))  # too small for a run
    assert is_good(bytes(damaged), count, pieces) == is_good(bytes(damaged), count, small)


@pytest.mark.parametrize("deltas", [(1,), (0, 0), (0, 2), (0, 1, 1), (1, 0), tuple([0] * 100)])
def test_offset_deltas_that_do_not_count_up(deltas: tuple[int, ...]) -> None:
    """Apache Kafka takes them for compressed batches neither; without a codec it does not look."""
    payload = b"".join(encode_record(delta, 0, b"k", b"v", []) for delta in deltas)
    assert not is_good(payload, len(deltas), [payload])
    inspect([payload], len(deltas), counts_up=False)


def test_two_and_three_bytes_of_delta() -> None:
    """Batches of more records than one and two bytes of offset delta can count."""
    for size in (1, 37):
        payload = b"".join(encode_record(n, 0, None, bytes(size), []) for n in range(20_000))
        inspect(cut(payload, iter(lambda: 65_536, 0)), 20_000)
        assert not is_good(payload, 19_999, [payload])


def test_keys() -> None:
    """Records without a key are named, a thousand of them at most."""
    keyed = [encode_record(n, 0, b"k", b"v", []) for n in range(3_000)]
    inspect([b"".join(keyed)], 3_000, keys=True)
    keyed[40] = encode_record(40, 0, None, b"vv", [])
    with pytest.raises(InvalidRecords) as fault:
        inspect([b"".join(keyed)], 3_000, keys=True)
    assert fault.value.indexes == [40]
    keyless = b"".join(encode_record(n, 0, None, b"v", []) for n in range(3_000))
    with pytest.raises(InvalidRecords) as fault:
        inspect([keyless], 3_000, keys=True)
    assert fault.value.indexes == list(range(MAX_INDEXES))


@pytest.mark.parametrize("length", [b"\x01", b"\x0a", b"\xff\xff\xff\xff\x0f", b"\x80\x00"])
def test_impossible_lengths(length: bytes) -> None:
    """Negative and too short records are found at once, not after the rest of the content."""
    inspection = Inspection(2, counts_up=True, needs_keys=False)
    with pytest.raises(ClientFault, match="header promises"):
        inspection.feed(length + bytes(100))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 3_000_000])
def test_windows_are_the_content(codec: Codec, size: int) -> None:
    """Nothing is lost between the windows, and none is large."""
    content = random.Random(size).randbytes(1000) * (size // 1000) + bytes(size % 1000)
    packed = compress(codec, content)
    pieces = list(windows(codec, packed, size))
    assert b"".join(pieces) == content
    assert max(map(len, pieces), default=0) <= 32_768
    if codec is not Codec.NONE:
        assert decompress_small(codec, packed, size) == content
    if size:
        with pytest.raises(Oversized):
            list(windows(codec, packed, size - 1))
        if codec is not Codec.NONE:
            assert decompress_small(codec, packed, size - 1) is None


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_damaged_data(codec: Codec) -> None:
    """What cannot be decompressed is corrupt, in windows as in one piece."""
    packed = compress(codec, bytes(200_000))
    for damaged in (packed[:-5], b"\xff" * 50):
        with pytest.raises(CorruptData):
            list(windows(codec, damaged, 1 << 20))
        assert decompress_small(codec, damaged, 1 << 20) is None


def test_a_zstd_window_is_memory() -> None:
    """A frame that makes the decoder remember 128 MB may not fill them."""
    content = bytes(40 << 20)
    greedy, modest = (compress(Codec.ZSTD, content, level) for level in (22, 3))
    with pytest.raises(Oversized, match=str(32 << 20)):
        list(windows(Codec.ZSTD, greedy, 128 << 20))
    assert sum(map(len, windows(Codec.ZSTD, modest, 128 << 20))) == len(content)


def test_a_reader_that_stops_ends_the_writer() -> None:
    """Closing the windows early leaves neither a thread nor an open file behind."""
    before = len(os.listdir("/proc/self/fd"))
    packed = compress(Codec.ZSTD, bytes(64 << 20))
    for _ in range(3):
        stream = windows(Codec.ZSTD, packed, 128 << 20)
        next(iter(stream))
        stream.close()  # type: ignore[attr-defined]
    assert len(os.listdir("/proc/self/fd")) == before
    assert not any(thread.name == "headrace-pipe" for thread in threading.enumerate())
