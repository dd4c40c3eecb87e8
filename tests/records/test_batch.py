from __future__ import annotations

import struct

import pytest

from headrace.errors import ClientFault, CorruptData, Error
from headrace.records.batch import (
    HEADER,
    HEADER_SIZE,
    BatchHeader,
    TimestampType,
    check_batch,
    check_from_client,
    damage,
    read_header,
    restamp,
    seal,
    split_batches,
    stamp_prefix,
)
from headrace.records.checksum import crc32c
from headrace.records.compression import Codec
from headrace.records.control import EndTxnMarker, build_end_txn_marker
from tests.records.samples import NOW_MS, RECORDS, batch_of, opened, read_all

BATCH = batch_of(RECORDS, producer_id=7, producer_epoch=1, base_sequence=9)


def changed(batch: bytes, **fields: int) -> bytes:
    """The batch with other header fields and a CRC that agrees with them."""
    return seal(read_header(batch)._replace(**fields), batch[HEADER_SIZE:])


def refused(batch: bytes | bytearray) -> ClientFault:
    header, view = opened(batch)
    with pytest.raises(ClientFault) as caught:
        check_batch(view, header)
    assert str(caught.value)
    return caught.value


def test_header_layout() -> None:
    """The header has 61 bytes and its fields stand where format v2 puts them."""
    assert (HEADER_SIZE, HEADER.size) == (61, 61)
    raw = bytes(range(100, 161))
    header = read_header(b"ahead" + raw + b"behind", 5)
    (crc,) = struct.unpack_from(">I", raw, 17)
    assert header.crc == crc
    for name, offset, kind in [
        ("base_offset", 0, ">q"),
        ("batch_length", 8, ">i"),
        ("partition_leader_epoch", 12, ">i"),
        ("magic", 16, ">b"),
        ("attributes", 21, ">h"),
        ("last_offset_delta", 23, ">i"),
        ("base_timestamp", 27, ">q"),
        ("max_timestamp", 35, ">q"),
        ("producer_id", 43, ">q"),
        ("producer_epoch", 51, ">h"),
        ("base_sequence", 53, ">i"),
        ("record_count", 57, ">i"),
    ]:
        assert getattr(header, name) == struct.unpack_from(kind, raw, offset)[0], name


def test_header_says_what_the_batch_is() -> None:
    """Codec, timestamp type and the three flags are read from their attribute bits."""
    header = read_header(BATCH)
    assert header.size == len(BATCH)
    assert (header.last_offset, header.next_offset) == (4, 5)
    assert header.compression is Codec.NONE
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert not header.is_transactional
    assert not header.is_control
    assert header.has_producer_id
    assert header.delete_horizon_ms is None

    other = header._replace(attributes=0b1111100, producer_id=-1, base_timestamp=99)
    assert other.compression is Codec.ZSTD
    assert other.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert other.is_transactional
    assert other.is_control
    assert not other.has_producer_id
    assert other.delete_horizon_ms == 99
    with pytest.raises(CorruptData, match="codec 6"):
        _ = header._replace(attributes=6).compression


def test_last_sequence_starts_again_after_the_largest() -> None:
    """Sequence numbers wrap from 2147483647 to 0, and -1 stays -1."""
    header = read_header(BATCH)
    assert header.last_sequence == 13
    assert header._replace(base_sequence=2**31 - 2).last_sequence == 2
    assert header._replace(base_sequence=-1).last_sequence == -1


@pytest.mark.parametrize("size", [0, 1, 16, 60])
def test_short_memory_is_no_header(size: int) -> None:
    """A header needs 61 bytes; fewer raise CorruptData and not an error of struct."""
    with pytest.raises(CorruptData, match="61 bytes"):
        read_header(BATCH[:size])
    with pytest.raises(CorruptData, match="61 bytes"):
        read_header(BATCH, len(BATCH) - size)


def test_intact_batch_passes() -> None:
    """What a producer builds is accepted by the leader and found intact on disk."""
    header, view = opened(BATCH)
    check_batch(view, header)
    check_from_client(header)
    assert damage(view, header) is None
    assert damage(memoryview(BATCH + b"next batch"), header) is None


@pytest.mark.spec("slides:A01")
def test_every_changed_byte_is_noticed() -> None:
    """A record is immutable: a batch with one changed bit after the prefix fails its check."""
    batch = batch_of(RECORDS[:4], producer_id=7, producer_epoch=1, base_sequence=9)
    for position in range(8, len(batch)):
        if 12 <= position < 16:
            continue  # the leader epoch is stamped by the leader and not covered
        tampered = bytearray(batch)
        tampered[position] ^= 0x10
        header, view = opened(tampered)
        with pytest.raises(ClientFault):
            check_batch(view, header)
        assert damage(view, header) is not None, position


def test_crc_mismatch() -> None:
    """A wrong CRC is CORRUPT_MESSAGE, which clients retry, and names both values."""
    tampered = bytearray(BATCH)
    tampered[-1] ^= 1
    fault = refused(tampered)
    assert fault.error is Error.CORRUPT_MESSAGE
    assert f"{read_header(BATCH).crc:08x}" in fault.message


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"record_count": 0, "last_offset_delta": -1}, Error.INVALID_RECORD),
        ({"record_count": 0}, Error.INVALID_RECORD),
        ({"record_count": -5, "last_offset_delta": -6}, Error.INVALID_RECORD),
        ({"record_count": 4}, Error.INVALID_RECORD),
        ({"record_count": 6}, Error.INVALID_RECORD),
        ({"last_offset_delta": 5}, Error.INVALID_RECORD),
        ({"attributes": 5}, Error.UNSUPPORTED_COMPRESSION_TYPE),
        ({"attributes": 7}, Error.UNSUPPORTED_COMPRESSION_TYPE),
    ],
)
def test_lying_header_with_a_true_crc(fields: dict[str, int], error: Error) -> None:
    """Counts and codecs that cannot be are refused with Kafka's error, however true the CRC."""
    assert refused(changed(BATCH, **fields)).error is error


@pytest.mark.parametrize("difference", [-1, 1, -62, 1000])
def test_length_must_fit(difference: int) -> None:
    """A batch whose length field disagrees with the bytes that are there is CORRUPT_MESSAGE."""
    tampered = bytearray(BATCH)
    struct.pack_into(">i", tampered, 8, read_header(BATCH).batch_length + difference)
    assert refused(tampered).error is Error.CORRUPT_MESSAGE
    header, view = opened(tampered)
    assert damage(view, header) is not None


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_refused(magic: int) -> None:
    """Messages of format v0 and v1 get UNSUPPORTED_FOR_MESSAGE_FORMAT with a remedy."""
    tampered = bytearray(BATCH)
    tampered[16] = magic
    fault = refused(tampered)
    assert fault.error is Error.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert "v2" in fault.message
    header, view = opened(tampered)
    assert damage(view, header) == f"magic {magic} is not 2"


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_unknown_magic_is_corrupt(magic: int) -> None:
    """A magic that no format has is CORRUPT_MESSAGE."""
    tampered = bytearray(BATCH)
    tampered[16] = magic
    assert refused(tampered).error is Error.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": 0x20},
        {"attributes": 0x40},
        {"base_offset": 1},
        {"base_sequence": -1},
        {"producer_epoch": -1},
        {"producer_id": -1, "attributes": 0x10},
    ],
)
def test_what_clients_may_not_write(fields: dict[str, int]) -> None:
    """Control batches, offsets and half a producer identity are INVALID_RECORD from a client."""
    with pytest.raises(ClientFault) as caught:
        check_from_client(read_header(BATCH)._replace(**fields))
    assert caught.value.error is Error.INVALID_RECORD


def test_control_batch_passes_all_checks_but_the_client_one() -> None:
    """A coordinator's marker is a well-formed batch that no client may send."""
    marker = build_end_txn_marker(
        EndTxnMarker(commit=True, coordinator_epoch=1),
        producer_id=7,
        producer_epoch=0,
        timestamp=NOW_MS,
    )
    header, view = opened(marker)
    check_batch(view, header)
    with pytest.raises(ClientFault, match="never by clients"):
        check_from_client(header)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_compacted_batches_are_intact(count: int) -> None:
    """Compaction leaves fewer records than offsets; on disk that is no damage (KAFKA-5059)."""
    header, view = opened(changed(BATCH, record_count=count))
    assert damage(view, header) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"record_count": -1},
        {"record_count": 6},
        {"last_offset_delta": -1, "record_count": 0},
        {"base_offset": -1},
        {"attributes": 5},
    ],
)
def test_damage_with_a_true_crc(fields: dict[str, int]) -> None:
    """Fields that no log can hold are damage even where the CRC agrees."""
    header, view = opened(changed(BATCH, **fields))
    assert damage(view, header)


@pytest.mark.spec("slides:A19")
def test_split_walks_batches() -> None:
    """Batches travel joined end to end and come apart as they were, without a copy."""
    batches = [BATCH, batch_of(RECORDS[:1]), batch_of(RECORDS, compression=Codec.GZIP)]
    joined = b"".join(batches)
    parts = list(split_batches(memoryview(joined)))
    assert [bytes(view) for _, view in parts] == batches
    assert [header for header, _ in parts] == [read_header(batch) for batch in batches]
    assert all(view.obj is joined for _, view in parts)
    assert list(split_batches(memoryview(b""))) == []


@pytest.mark.parametrize("cut", [1, 16, 17, 60, 61, len(BATCH) - 1])
def test_cut_tail(cut: int) -> None:
    """A cut last batch is CORRUPT_MESSAGE when produced and ignored when fetched."""
    joined = memoryview(BATCH + BATCH[:cut])
    with pytest.raises(ClientFault) as caught:
        list(split_batches(joined))
    assert caught.value.error is Error.CORRUPT_MESSAGE
    parts = list(split_batches(joined, allow_partial_tail=True))
    assert [bytes(view) for _, view in parts] == [BATCH]


@pytest.mark.parametrize("length", [-(2**31), -13, -12, -1, 0, 48])
@pytest.mark.parametrize("allow_partial_tail", [False, True])
def test_length_below_a_header_stops_the_walk(length: int, allow_partial_tail: bool) -> None:
    """A length that would make the walk stand still or go back is CORRUPT_MESSAGE."""
    tampered = bytearray(BATCH)
    struct.pack_into(">i", tampered, 8, length)
    with pytest.raises(ClientFault) as caught:
        list(split_batches(memoryview(tampered), allow_partial_tail=allow_partial_tail))
    assert caught.value.error is Error.CORRUPT_MESSAGE


def test_length_past_the_end() -> None:
    """A length that promises more than is there is CORRUPT_MESSAGE."""
    tampered = bytearray(BATCH)
    struct.pack_into(">i", tampered, 8, 2**31 - 1)
    with pytest.raises(ClientFault) as caught:
        list(split_batches(memoryview(tampered)))
    assert caught.value.error is Error.CORRUPT_MESSAGE


def test_stamping_the_prefix_leaves_the_crc_alone() -> None:
    """The leader assigns offset and epoch by replacing 16 bytes (KIP-98, KIP-101)."""
    prefix = stamp_prefix(1 << 40, read_header(BATCH).batch_length, 12)
    assert len(prefix) == 16
    stamped = prefix + BATCH[16:]
    header, view = opened(stamped)
    assert (header.base_offset, header.partition_leader_epoch) == (1 << 40, 12)
    check_batch(view, header)
    assert [record.offset for record in read_all(stamped)] == [(1 << 40) + i for i in range(5)]


@pytest.mark.parametrize("codec", list(Codec))
def test_restamp_with_log_append_time(codec: Codec) -> None:
    """LogAppendTime: the header carries the broker's time, all records show it, the CRC agrees."""
    batch = batch_of(RECORDS, compression=codec, producer_id=7, producer_epoch=1, base_sequence=9)
    stamped = restamp(
        memoryview(batch + b"next"),
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        max_timestamp=NOW_MS + 10**6,
    )
    assert len(stamped) == HEADER_SIZE
    whole = stamped + batch[HEADER_SIZE:]
    header, view = opened(whole)
    check_batch(view, header)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.compression is codec
    assert {record.timestamp for record in read_all(whole)} == {NOW_MS + 10**6}

    back = restamp(view, timestamp_type=TimestampType.CREATE_TIME, max_timestamp=NOW_MS + 3)
    assert back == batch[:HEADER_SIZE]


def test_seal_computes_length_and_crc() -> None:
    """Length, magic and CRC given to seal do not matter."""
    nonsense: BatchHeader = read_header(BATCH)._replace(batch_length=1, magic=9, crc=3)
    assert seal(nonsense, memoryview(BATCH)[HEADER_SIZE:]) == BATCH


def test_crc_is_castagnoli() -> None:
    """CRC-32C of the standard check string, in one piece and in two."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"456789", crc32c(b"123")) == 0xE3069283
