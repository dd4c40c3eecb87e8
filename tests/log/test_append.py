"""Appending: offsets, stamps, order, what is written, and what a full disk leaves behind."""

from __future__ import annotations

import errno
import struct

import pytest

from headrace.errors import ClientFault, Error
from headrace.records.batch import TimestampType, read_header
from headrace.records.compression import Codec
from headrace.records.record import iterate
from tests.log.logs import (
    NOW_MS,
    append,
    batch,
    batch_positions,
    file_bytes,
    files,
    new_disk,
    new_log,
    offsets,
    read_everything,
    reopened,
)
from tests.settings import log_config

LOG = "00000000000000000000.log"


@pytest.mark.spec("slides:A05", "slides:A06", "admin:LS-01", "admin:LS-02", "book1:B-08")
def test_offsets_count_records_from_zero() -> None:
    """Each record gets the next offset of its partition, whatever batch it came in."""
    log = new_log(new_disk())
    results = [append(log, count=count) for count in (1, 3, 2)]
    assert [(each.base_offset, each.last_offset) for each in results] == [(0, 0), (1, 3), (4, 5)]
    assert log.log_end_offset == 6
    assert offsets(log) == [0, 1, 2, 3, 4, 5]


@pytest.mark.spec("admin:LS-03")
def test_an_offset_locates_exactly_one_record() -> None:
    """Topic, partition and offset name one record: reading it again gives the same one."""
    log = new_log(new_disk())
    for _ in range(5):
        append(log, count=4)
    records = read_everything(log)
    assert [record.offset for record in records] == list(range(20))
    for record in records:
        found = [each for each in read_everything(log, record.offset) if each == record]
        assert found == [record]


@pytest.mark.spec(
    "slides:A03", "slides:A07", "admin:LS-06", "book1:B-06", "book1:B-09", "book1:B-10"
)
def test_records_come_back_in_the_order_of_their_arrival() -> None:
    """Order in a partition is the order of arrival, not that of timestamps or sizes."""
    log = new_log(new_disk())
    for number in (5, 3, 9, 1):
        append(log, size=number, timestamp=NOW_MS - number)
    assert [len(record.value or b"") for record in read_everything(log)] == [5, 3, 9, 1]


@pytest.mark.spec("admin:LS-05", "admin:LS-24", "slides:A22", "book1:B-17")
def test_only_the_first_sixteen_bytes_are_the_logs_to_write() -> None:
    """Base offset and leader epoch are stamped; every other byte is stored as it was sent."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=7)
    sent = batch(3, compression=Codec.ZSTD, size=200)
    append(log, sent, leader_epoch=4)
    stored = file_bytes(disk, LOG)[-len(sent) :]
    assert stored[:16] == struct.pack(">qii", 7, len(sent) - 12, 4)
    assert stored[16:] == sent[16:]


@pytest.mark.spec("admin:LS-04", "book1:B-17")
def test_what_was_written_never_changes() -> None:
    """The log file only grows: all earlier bytes stay where and what they are."""
    disk = new_disk()
    log = new_log(disk)
    before = b""
    for count in range(1, 20):
        append(log, count=count)
        now = file_bytes(disk, LOG)
        assert now.startswith(before)
        assert len(now) > len(before)
        before = now


@pytest.mark.spec("book1:B-01", "admin:LS-11")
def test_a_batch_is_in_the_file_when_append_returns() -> None:
    """Nothing is buffered in the process: the bytes are in the log file before any reader asks."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=2)
    assert batch_positions(file_bytes(disk, LOG)) == [(0, 0, 1)]


@pytest.mark.spec("admin:LS-08", "admin:LS-17", "admin:LS-30", "slides:A02")
def test_a_new_log_has_kafkas_files() -> None:
    """A partition is a folder; with its first records come segment files that share a stem."""
    disk = new_disk()
    log = new_log(disk)
    assert files(disk) == ["partition.metadata"]
    append(log)
    log.close()
    stem = "00000000000000000000"
    assert files(disk) == [
        f"{stem}.index",
        f"{stem}.log",
        f"{stem}.timeindex",
        "00000000000000000001.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]


def test_an_epoch_is_noted_where_it_began() -> None:
    """A new leader epoch is remembered with the first offset that it wrote (KIP-101)."""
    log = new_log(new_disk())
    append(log, count=2, leader_epoch=0)
    append(log, count=2, leader_epoch=3)
    append(log, count=2, leader_epoch=3)
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(0, 0), (3, 2)]


@pytest.mark.spec("admin:LS-26", "book1:B-26")
def test_append_time_replaces_the_producers_time() -> None:
    """LogAppendTime: the broker's clock is the time of every record, and the answer tells it."""
    log = new_log(new_disk(), log_config(message_timestamp_type="LogAppendTime"))
    result = append(log, count=3, timestamp=5, now_ms=NOW_MS + 70)
    assert result.log_append_time_ms == NOW_MS + 70
    assert [record.timestamp for record in read_everything(log)] == [NOW_MS + 70] * 3
    piece = log.read(0, 1000, up_to=3)
    assert piece.file is not None
    header = read_header(piece.file.read(piece.position, piece.size))
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME


@pytest.mark.spec("admin:LS-26", "book1:B-26")
def test_create_time_is_kept() -> None:
    """CreateTime, the default: records keep the time that their producer gave them."""
    log = new_log(new_disk())
    result = append(log, timestamp=NOW_MS - 5)
    assert result.log_append_time_ms == -1
    assert [record.timestamp for record in read_everything(log)] == [NOW_MS - 5]


@pytest.mark.spec("slides:A23", "admin:LS-24")
@pytest.mark.parametrize("codec", list(Codec))
def test_the_producers_codec_is_kept_by_default(codec: Codec) -> None:
    """`compression.type=producer` stores a batch in the codec in which it came."""
    disk = new_disk()
    append(new_log(disk), batch(5, size=100, compression=codec))
    assert read_header(file_bytes(disk, LOG)).compression is codec


@pytest.mark.spec("slides:A23", "admin:LS-25")
@pytest.mark.parametrize("name", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_the_topics_codec_wins(name: str) -> None:
    """Any other `compression.type` makes the broker recompress; the records stay the same."""
    disk = new_disk()
    log = new_log(disk, log_config(compression_type=name))
    for codec in Codec:
        append(log, batch(5, size=100, compression=codec))
    data = file_bytes(disk, LOG)
    wanted = Codec.NONE if name == "uncompressed" else Codec[name.upper()]
    headers = [read_header(data, position) for position, _, _ in batch_positions(data)]
    assert [header.compression for header in headers] == [wanted] * 5
    sent = batch(5, size=100)
    values = [record.value for record in iterate(read_header(sent), sent)]
    assert [record.value for record in read_everything(log)] == values * 5


def test_a_batch_in_the_topics_codec_is_not_touched() -> None:
    """Recompression only happens where the codecs differ."""
    disk = new_disk()
    sent = batch(5, size=100, compression=Codec.LZ4)
    append(new_log(disk, log_config(compression_type="lz4")), sent)
    assert file_bytes(disk, LOG)[16:] == sent[16:]


def test_new_settings_hold_from_the_next_append_on() -> None:
    """A changed topic setting needs no restart."""
    log = new_log(new_disk())
    append(log, size=500)
    log.config = log_config(max_message_bytes=200)
    with pytest.raises(ClientFault, match=r"max\.message\.bytes allows 200"):
        append(log, size=500)


def test_a_full_disk_changes_nothing() -> None:
    """An append that the disk refuses leaves offsets, files, producers and readers as they were."""
    disk = new_disk()
    log = new_log(disk)
    append(log, producer_id=7, producer_epoch=0, base_sequence=0)
    before = file_bytes(disk, LOG)
    disk.fail_at(1, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(OSError, match="No space"):
        append(log, producer_id=7, producer_epoch=0, base_sequence=1)
    assert log.log_end_offset == 1
    assert file_bytes(disk, LOG) == before
    again = append(log, producer_id=7, producer_epoch=0, base_sequence=1)
    assert (again.base_offset, again.duplicate) == (1, False)
    assert offsets(log) == [0, 1]


def test_a_retry_is_answered_but_not_written() -> None:
    """KIP-98: a batch that is in the log already is answered with its first offsets."""
    log = new_log(new_disk())
    first = append(log, count=3, producer_id=7, producer_epoch=0, base_sequence=0)
    append(log, count=1, producer_id=7, producer_epoch=0, base_sequence=3)
    again = append(log, count=3, producer_id=7, producer_epoch=0, base_sequence=0)
    assert again.duplicate
    assert (again.base_offset, again.last_offset) == (first.base_offset, first.last_offset)
    assert again.size == 0
    assert log.log_end_offset == 4


def test_a_gap_in_the_sequence_is_refused() -> None:
    """KIP-98: a lost batch must not be papered over by its successor."""
    log = new_log(new_disk())
    append(log, producer_id=7, producer_epoch=0, base_sequence=0)
    with pytest.raises(ClientFault) as fault:
        append(log, producer_id=7, producer_epoch=0, base_sequence=2)
    assert fault.value.error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.log_end_offset == 1


def test_a_retry_is_recognised_after_a_restart() -> None:
    """The producer snapshot written at a clean shutdown carries the sequences over."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=3, producer_id=7, producer_epoch=0, base_sequence=0)
    log.close()
    log = reopened(disk)
    again = append(log, count=3, producer_id=7, producer_epoch=0, base_sequence=0)
    assert (again.duplicate, again.base_offset) == (True, 0)
