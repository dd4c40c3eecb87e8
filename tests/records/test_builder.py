from __future__ import annotations

import pytest

from headrace.records.batch import TimestampType, check_batch, damage
from headrace.records.builder import BatchBuilder, build_batch, rebuild_batch
from headrace.records.compression import Codec
from headrace.records.record import Record
from tests.records.samples import NOW_MS, RECORDS, batch_of, opened, read_all


def test_fields_of_a_plain_batch() -> None:
    """Without options a batch has no producer, no epoch and CreateTime."""
    header, view = opened(build_batch(RECORDS))
    check_batch(view, header)
    assert header[2:4] == (-1, 2)
    assert header[5:] == (0, 4, NOW_MS, NOW_MS + 3, -1, -1, -1, 5)


def test_fields_of_a_transactional_batch() -> None:
    """Every option arrives in its field."""
    header, _ = opened(
        build_batch(
            RECORDS,
            compression=Codec.ZSTD,
            level=19,
            timestamp_type=TimestampType.LOG_APPEND_TIME,
            producer_id=2**40,
            producer_epoch=3,
            base_sequence=77,
            transactional=True,
            control=True,
            base_offset=10**12,
            leader_epoch=9,
        )
    )
    assert header.attributes == 0b0111100
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (2**40, 3, 77)
    assert (header.base_offset, header.partition_leader_epoch) == (10**12, 9)
    assert header.max_timestamp == NOW_MS + 3


def test_append_returns_offsets_and_grows_the_estimate() -> None:
    """The estimate is exact without compression, so a producer knows when a batch is full."""
    builder = BatchBuilder(base_offset=40)
    assert builder.size_estimate == 61
    offsets = [builder.append(r.key, r.value, r.timestamp, r.headers) for r in RECORDS]
    assert offsets == [40, 41, 42, 43, 44]
    assert len(builder) == 5
    assert builder.size_estimate == len(builder.build())


def test_gaps_and_a_kept_range() -> None:
    """Records may keep their offsets, and a batch the last offset that it once had."""
    builder = BatchBuilder(base_offset=10)
    builder.append(b"a", b"1", NOW_MS, offset=12)
    builder.append(b"b", b"2", NOW_MS, offset=15)
    with pytest.raises(ValueError, match="offset 15"):
        builder.append(b"c", b"3", NOW_MS, offset=15)
    with pytest.raises(ValueError, match="offset 15"):
        builder.build(last_offset=14)
    batch = builder.build(last_offset=19)
    header, view = opened(batch)
    assert (header.last_offset, header.record_count) == (19, 2)
    assert damage(view, header) is None
    assert [record.offset for record in read_all(batch)] == [12, 15]


def test_a_batch_needs_a_record() -> None:
    """An empty batch is a mistake of the caller; only compaction may leave one."""
    with pytest.raises(ValueError, match="at least one"):
        BatchBuilder().build()


@pytest.mark.parametrize("codec", list(Codec))
def test_rebuild_keeps_what_the_producer_state_needs(codec: Codec) -> None:
    """Compaction drops records and keeps offsets, sequence, epoch and flags of the batch."""
    batch = batch_of(
        RECORDS,
        compression=codec,
        producer_id=5,
        producer_epoch=2,
        base_sequence=30,
        transactional=True,
        base_offset=100,
        leader_epoch=4,
    )
    before, _ = opened(batch)
    kept = [record for record in read_all(batch) if record.offset in (101, 103)]
    rebuilt = rebuild_batch(before, kept)
    after, view = opened(rebuilt)
    assert damage(view, after) is None
    assert read_all(rebuilt) == kept
    assert (after.base_offset, after.last_offset) == (100, 104)
    assert (after.last_sequence, after.producer_id, after.producer_epoch) == (34, 5, 2)
    assert after.partition_leader_epoch == 4
    assert after.attributes == before.attributes
    assert after.max_timestamp == max(record.timestamp for record in kept)


def test_rebuild_with_a_delete_horizon() -> None:
    """KIP-534: the horizon stands in base_timestamp and the records keep their times."""
    batch = batch_of(RECORDS)
    header, _ = opened(batch)
    rebuilt = rebuild_batch(header, RECORDS[2:3], delete_horizon_ms=NOW_MS + 86_400_000)
    after, _ = opened(rebuilt)
    assert after.delete_horizon_ms == NOW_MS + 86_400_000
    assert read_all(rebuilt) == RECORDS[2:3]

    again, _ = opened(rebuild_batch(after, RECORDS[2:3]))
    assert again.delete_horizon_ms == NOW_MS + 86_400_000


def test_rebuild_without_records_leaves_a_header() -> None:
    """An emptied batch is 61 bytes that remember the producer's sequence and the largest time."""
    batch = batch_of(
        RECORDS, compression=Codec.LZ4, producer_id=5, producer_epoch=2, base_sequence=30
    )
    before, _ = opened(batch)
    rebuilt = rebuild_batch(before, [])
    after, view = opened(rebuilt)
    assert len(rebuilt) == 61
    assert damage(view, after) is None
    assert read_all(rebuilt) == []
    assert (after.record_count, after.last_offset, after.last_sequence) == (0, 4, 34)
    assert (after.base_timestamp, after.max_timestamp) == (-1, before.max_timestamp)


def test_rebuild_keeps_log_append_time() -> None:
    """The broker's time of a batch survives compaction."""
    batch = batch_of(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME)
    header, _ = opened(batch)
    rebuilt = rebuild_batch(header, read_all(batch)[1:2])
    assert read_all(rebuilt) == [
        Record(1, NOW_MS + 3, None, RECORDS[1].value, list(RECORDS[1].headers))
    ]
    assert opened(rebuilt)[0].timestamp_type is TimestampType.LOG_APPEND_TIME
