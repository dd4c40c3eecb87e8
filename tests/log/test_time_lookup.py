"""Finding offsets by time (ListOffsets): across batches, segments, restarts and codecs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.log import PartitionLog
from headrace.records.batch import HEADER, read_header, seal
from headrace.records.builder import BatchBuilder
from headrace.records.compression import Codec
from tests.log.logs import (
    FOLDER,
    NOW_MS,
    append,
    new_disk,
    new_log,
    read_everything,
    reopened,
    replicated,
)
from tests.settings import log_config

SMALL = log_config(segment_bytes=600, index_interval_bytes=100)


def found(log: PartitionLog, timestamp: int) -> tuple[int, int] | None:
    answer = log.offset_for_time(timestamp, up_to=log.log_end_offset)
    return None if answer is None else (answer.timestamp, answer.offset)


def timed(*timestamps: int, compression: Codec = Codec.NONE) -> memoryview:
    """One batch with a record for each timestamp."""
    builder = BatchBuilder(compression=compression)
    for timestamp in timestamps:
        builder.append(None, b"x", timestamp)
    return memoryview(builder.build())


def test_the_first_record_at_or_after_a_time() -> None:
    """The answer is a record's own time and offset, found across several segments."""
    log = new_log(new_disk(), SMALL)
    for number in range(30):
        append(log, timed(NOW_MS + number * 10, NOW_MS + number * 10 + 5))
    assert len(log.segments) > 3
    assert found(log, 0) == (NOW_MS, 0)
    assert found(log, NOW_MS) == (NOW_MS, 0)
    assert found(log, NOW_MS + 1) == (NOW_MS + 5, 1)
    assert found(log, NOW_MS + 151) == (NOW_MS + 155, 31)
    assert found(log, NOW_MS + 295) == (NOW_MS + 295, 59)


def test_there_is_none_after_the_last() -> None:
    """A time later than every record has no answer, and neither has an empty log."""
    log = new_log(new_disk(), SMALL)
    assert found(log, 0) is None
    append(log, timed(NOW_MS))
    assert found(log, NOW_MS + 1) is None


def test_the_answer_is_below_the_bound() -> None:
    """What is not committed is not found."""
    log = new_log(new_disk())
    append(log, timed(NOW_MS, NOW_MS + 10))
    assert log.offset_for_time(NOW_MS + 5, up_to=2) == (NOW_MS + 10, 1)
    assert log.offset_for_time(NOW_MS + 5, up_to=1) is None


def test_deleted_records_are_not_found() -> None:
    """The search begins at the log's start, even inside a batch."""
    log = new_log(new_disk())
    append(log, timed(NOW_MS, NOW_MS + 10, NOW_MS + 20))
    log.high_watermark = 3
    log.delete_records_before(2)
    assert found(log, 0) == (NOW_MS + 20, 2)


def test_times_that_go_back_and_forth() -> None:
    """Producers' clocks differ: the first record in the log wins, not the earliest time."""
    log = new_log(new_disk(), SMALL)
    for timestamp in (50, 10, 90, 20, 95, 30, 40, 99, 60):
        append(log, timed(NOW_MS + timestamp))
    assert found(log, NOW_MS + 15) == (NOW_MS + 50, 0)
    assert found(log, NOW_MS + 60) == (NOW_MS + 90, 2)
    assert found(log, NOW_MS + 96) == (NOW_MS + 99, 7)


@pytest.mark.parametrize("codec", list(Codec))
def test_compressed_batches_are_searched_record_by_record(codec: Codec) -> None:
    """Only the batch that holds the answer is unpacked, in whatever codec it is."""
    log = new_log(new_disk())
    append(log, timed(NOW_MS, NOW_MS + 10, NOW_MS + 20, compression=codec))
    assert found(log, NOW_MS + 11) == (NOW_MS + 20, 2)


def test_append_time_finds_the_first_record_of_its_batch() -> None:
    """With LogAppendTime all records of a batch have one time."""
    log = new_log(new_disk(), log_config(message_timestamp_type="LogAppendTime"))
    append(log, timed(1, 2, 3), now_ms=NOW_MS)
    append(log, timed(1, 2, 3), now_ms=NOW_MS + 100)
    assert found(log, NOW_MS + 50) == (NOW_MS + 100, 3)


def test_the_largest_time_of_the_log() -> None:
    """KIP-734: the offset of the record with the largest timestamp, wherever it lies."""
    log = new_log(new_disk(), SMALL)
    assert log.offset_of_max_timestamp() is None
    for number in range(20):
        append(log, timed(NOW_MS + number, NOW_MS - number))
    append(log, timed(NOW_MS - 5, NOW_MS + 500, NOW_MS + 400))
    for number in range(20):
        append(log, timed(NOW_MS + number))
    assert log.offset_of_max_timestamp() == (NOW_MS + 500, 41)


def test_records_without_time_are_found_by_nobody() -> None:
    """The timestamp -1 says that there is none."""
    log = new_log(new_disk())
    append(log, timed(-1))
    assert found(log, 0) is None
    assert log.offset_of_max_timestamp() is None


def test_a_batch_that_cannot_be_read_answers_by_its_header() -> None:
    """Garbage behind a good CRC, as another broker may have let in, leaves the rest searchable."""
    good = timed(NOW_MS, NOW_MS + 10)
    garbage = b"\xff" * 20
    header = read_header(good)
    log = new_log(new_disk())
    replicated(log, memoryview(seal(header, garbage)))
    append(log, timed(NOW_MS + 50))
    assert len(garbage) + HEADER.size < log.size_bytes
    assert found(log, NOW_MS + 5) == (NOW_MS + 10, 0)
    assert found(log, NOW_MS + 20) == (NOW_MS + 50, 2)


@given(
    batches=st.lists(
        st.lists(st.integers(0, 100), min_size=1, max_size=4), min_size=1, max_size=40
    ),
    asked=st.lists(st.integers(0, 110), min_size=1, max_size=8),
    restart=st.sampled_from(["no", "clean", "crash", "without indexes"]),
)
def test_any_time_is_found_as_by_reading_everything(
    batches: list[list[int]], asked: list[int], restart: str
) -> None:
    """Index and headers give what a search through all records gives, before and after a start."""
    disk = new_disk()
    log = new_log(disk, SMALL)
    for timestamps in batches:
        append(log, timed(*timestamps))
    if restart == "clean":
        log.close()
        log = reopened(disk, SMALL)
    elif restart == "crash":
        log.flush()
        log = reopened(disk.crash(), SMALL, clean=False)
    elif restart == "without indexes":
        log.close()
        for name in disk.list(FOLDER):
            if name.endswith("index"):
                disk.remove(f"{FOLDER}/{name}")
        log = reopened(disk, SMALL)
    records = read_everything(log)
    assert len(records) == sum(map(len, batches))
    for timestamp in asked:
        first = next((r for r in records if r.timestamp >= timestamp), None)
        wanted = None if first is None else (first.timestamp, first.offset)
        assert found(log, timestamp) == wanted
    largest = max(record.timestamp for record in records)
    answer = log.offset_of_max_timestamp()
    assert answer is not None
    assert answer.timestamp == largest
