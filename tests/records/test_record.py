from __future__ import annotations

import pytest
from hypothesis import given

from headrace.errors import CorruptData
from headrace.records.batch import HEADER_SIZE, read_header, seal
from headrace.records.builder import build_batch, encode_record
from headrace.records.compression import Codec
from headrace.records.record import Record, count_records, iterate, read_payload
from headrace.records.varint import encode_varint, read_varint
from tests.records.samples import RECORDS, batch_of, codecs, opened, patient, read_all, record_lists


def sealed(payload: bytes, count: int = 1, **fields: int) -> bytes:
    """A batch with a true CRC around any payload."""
    header = read_header(batch_of(RECORDS[:1]))
    fields = {"record_count": count, "last_offset_delta": max(count - 1, 0)} | fields
    return seal(header._replace(**fields), payload)


def framed(body: bytes) -> bytes:
    return encode_varint(len(body)) + body


@pytest.mark.spec("slides:A01", "admin:LS-05", "book1:B-02")
@pytest.mark.parametrize("codec", list(Codec))
def test_records_come_back(codec: Codec) -> None:
    """Keys, values and headers are opaque bytes, present or absent, and return unchanged."""
    assert read_all(batch_of(RECORDS, compression=codec)) == RECORDS


@patient
@given(records=record_lists, codec=codecs)
def test_round_trip(records: list[Record], codec: Codec) -> None:
    """Whatever is built is read back, with offsets counted from the base."""
    batch = build_batch(records, compression=codec, base_offset=1000)
    expected = [
        Record(1000 + i, r.timestamp, r.key, r.value, r.headers) for i, r in enumerate(records)
    ]
    assert read_all(batch) == expected
    header, view = opened(batch)
    assert count_records(read_payload(header, view), len(records))


def test_timestamps_wrap_as_in_java() -> None:
    """A delta that overflows 64 bits still gives the true timestamp back."""
    extreme = [Record(0, -(2**63), None, None), Record(1, 2**63 - 1, None, None)]
    assert read_all(batch_of(extreme)) == extreme


def test_view_may_go_on_behind_the_batch() -> None:
    """The header decides where a batch ends, not the memory."""
    batch = batch_of(RECORDS)
    assert list(iterate(read_header(batch), memoryview(batch + b"more"))) == RECORDS


def test_memory_shorter_than_the_batch() -> None:
    """A batch that is not all there raises CorruptData with both sizes."""
    batch = batch_of(RECORDS)
    with pytest.raises(CorruptData, match=str(len(batch) - 1)):
        list(iterate(read_header(batch), memoryview(batch)[:-1]))


BODY = b"\x00\x00\x00\x02k\x02v\x00"


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"", "inside a record"),
        (framed(BODY)[:-1], "a record of"),
        (framed(BODY) + b"\x00", "1 bytes follow"),
        (framed(BODY) + framed(BODY), "9 bytes follow"),
        (framed(BODY + b"\x00"), "its length says"),
        (encode_varint(len(BODY) - 1) + BODY, "where the record ends|inside|its length says"),
        (encode_varint(-1) + BODY, "a record of -1"),
        (encode_varint(5) + BODY[:5], "a record of 5"),
        (encode_varint(2**31 - 1) + BODY, "a record of 2147483647"),
        (framed(b"\x00\x00\x01\x01\x01\x00"), "offset delta -1"),
        (framed(b"\x00\x00\x02\x01\x01\x00"), "offset delta 1 after -1"),
        (framed(b"\x00\x00\x00\x03\x01\x00"), "-2 bytes"),
        (framed(b"\x00\x00\x00\x40k\x01\x00"), "32 bytes"),
        (framed(b"\x00\x00\x00\x01\x7f\x00"), "-64 bytes"),
        (framed(b"\x00\x00\x00\x01\x01\x01"), "-1 headers"),
        (framed(b"\x00\x00\x00\x01\x01\x7e"), "63 headers in 0 bytes"),
        (framed(b"\x00\x00\x00\x01\x01\x02\x01\x01"), "without a name"),
        (framed(b"\x00\x00\x00\x01\x01\x02\x02\xff\x01"), "not UTF-8"),
        (framed(b"\x00\x00\x00\x01\x01\x02\x02h\x04x"), "2 bytes at"),
        (framed(b"\x00" + b"\xff" * 10 + b"\x01\x00\x01\x01\x00"), "more than 64 bits"),
        (framed(b"\x00\x00" + b"\xff" * 5 + b"\x00\x01\x01\x00"), "more than 32 bits"),
        (b"\xff\xff\xff\xff\x10" + BODY, "more than 32 bits"),
        (b"\xff", "inside a record"),
    ],
)
def test_malformed_records(payload: bytes, text: str) -> None:
    """Each way in which a record can be wrong raises CorruptData that names the batch and it."""
    with pytest.raises(CorruptData, match=text) as caught:
        read_all(sealed(payload))
    assert "the batch at offset 0" in str(caught.value)


def test_offsets_must_ascend() -> None:
    """Two records with the same offset are CorruptData."""
    payload = encode_record(1, 0, b"a", b"b") * 2
    with pytest.raises(CorruptData, match="offset delta 1 after 1"):
        read_all(sealed(payload, count=2))


@pytest.mark.parametrize("count", [-1, 0, 4, 6, 2**31 - 1])
def test_lying_count(count: int) -> None:
    """A count above or below the records that are there raises CorruptData."""
    payload = batch_of(RECORDS)[HEADER_SIZE:]
    with pytest.raises(CorruptData):
        read_all(sealed(payload, count=count, last_offset_delta=2**31 - 1))
    assert not count_records(payload, count)


def test_empty_batch_has_no_records() -> None:
    """A batch that compaction has emptied yields nothing."""
    assert read_all(sealed(b"", count=0)) == []
    assert count_records(b"", 0)
    with pytest.raises(CorruptData):
        read_all(sealed(b"", count=-1))


@pytest.mark.parametrize("size", [10, 100])
@pytest.mark.parametrize("more", [1, 64])
@pytest.mark.parametrize("count", [15, 16, 63, 64, 65, 200, 1_000])
def test_counting_sees_one_record_of_another_size(size: int, more: int, count: int) -> None:
    """Runs of one size are proven at once; a single record that differs in them is not overseen."""
    records = [encode_record(i % 64, 0, None, bytes(size)) for i in range(count)]
    assert count_records(b"".join(records), count)
    for odd in {0, 1, count // 3, count // 2, count - 2, count - 1}:
        larger = encode_record(0, 0, None, bytes(size + more))
        changed = [*records[:odd], larger, *records[odd + 1 :]]
        payload = b"".join(changed)
        assert count_records(payload, count)
        # It says that it is as long as its neighbours, which puts all behind it out of step.
        at = sum(map(len, changed[:odd]))
        lying = payload[:at] + records[0][:2] + payload[at + 2 :]
        assert not count_records(lying, count)


def test_unknown_codec() -> None:
    """Codec 5 is CorruptData for a reader."""
    with pytest.raises(CorruptData, match="codec 5"):
        read_all(sealed(framed(BODY), attributes=5))


@pytest.mark.parametrize("size", [0, 1, 56, 57, 58, 63, 64, 8000, 8185, 8192, 1_048_570, 2**20])
@pytest.mark.parametrize("count", [1, 3])
def test_counting_agrees_with_reading(size: int, count: int) -> None:
    """The walk by lengths is exact around every size at which a length field grows."""
    payload = b"".join(encode_record(i, 0, None, bytes(size)) for i in range(count))
    assert len(read_all(sealed(payload, count=count))) == count
    for memory in (payload, bytearray(payload), memoryview(payload)):
        assert count_records(memory, count)
        assert not count_records(memory, count - 1)
        assert not count_records(memory, count + 1)
    assert not count_records(payload[:-1], count)
    assert not count_records(payload + b"\x0c", count)


@pytest.mark.parametrize(
    "payload",
    [
        b"\x00",
        b"\x0a" + bytes(5),
        b"\x0d" + bytes(20),
        b"\x81\x01" + bytes(80),
        b"\xff\xff\xff\xff\x0f" + bytes(20),
        b"\xff\xff\xff\xff\x7f" + bytes(20),
        b"\xff" * 9,
        b"\x80",
        b"\x80\x80",
    ],
)
def test_counting_refuses_impossible_lengths(payload: bytes) -> None:
    """Lengths that are negative, too short for any record, or cut do not count."""
    assert not count_records(payload, 1)


@patient
@given(records=record_lists)
def test_counting_refuses_every_cut(records: list[Record]) -> None:
    """A payload cut anywhere no longer holds its records."""
    payload = build_batch(records)[HEADER_SIZE:]
    assert count_records(payload, len(records))
    for size in range(0, len(payload), 7):
        assert not count_records(payload[:size], len(records))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (8191, "fe7f"),
        (-8192, "ff7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_varints(value: int, encoded: str) -> None:
    """Zigzag integers have the bytes that the protocol guide gives them."""
    raw = bytes.fromhex(encoded)
    assert encode_varint(value) == raw
    assert read_varint(b"\xaa" + raw + b"\xaa", 1, 64) == (value, 1 + len(raw))


@pytest.mark.parametrize(("encoded", "bits"), [("feffffff1f", 32), ("feffffffffffffffff03", 64)])
def test_too_many_bits(encoded: str, bits: int) -> None:
    """An integer of the right number of bytes with a bit too many is CorruptData."""
    with pytest.raises(CorruptData, match=f"more than {bits} bits"):
        read_varint(bytes.fromhex(encoded), 0, bits)


def test_timestamps_are_optional() -> None:
    """A record without a timestamp carries -1 (NO_TIMESTAMP)."""
    assert [r.timestamp for r in read_all(batch_of([Record(0, -1, None, b"v")]))] == [-1]
