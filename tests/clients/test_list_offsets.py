"""ListOffsets: the ends of a log, and offsets by time across batches and segments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from headrace.errors import Error
from headrace.records.compression import Codec
from tests.clients.raw import Connection, batch_headers
from tests.clients.records import (
    FIRST_TIMESTAMP_MS,
    TIMESTAMP_STEP_MS,
    Record,
    incompressible,
    numbered_records,
)
from tests.clients.requests import EARLIEST, LATEST, fetched, offset_at, produced

MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -3, -4, -5
NOT_FOUND = (Error.NONE, -1, -1)


def found(connection: Connection, topic: str, timestamp: int, version: int) -> tuple[int, int, int]:
    result = offset_at(connection, topic, timestamp, version=version)
    return (result.error_code, result.offset, result.timestamp)


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_tells_the_ends(connection: Connection, topic: str, version: int) -> None:
    """The earliest offset has no timestamp, nor has the latest: it is the next to be written."""
    produced(connection, topic, numbered_records(7))
    assert found(connection, topic, EARLIEST, version) == (Error.NONE, 0, -1)
    assert found(connection, topic, LATEST, version) == (Error.NONE, 7, -1)


@pytest.mark.parametrize("version", range(1, 12))
def test_an_empty_log_has_both_ends_at_0(connection: Connection, topic: str, version: int) -> None:
    """Before the first record earliest and latest are the same, and no time is found."""
    assert found(connection, topic, EARLIEST, version) == (Error.NONE, 0, -1)
    assert found(connection, topic, LATEST, version) == (Error.NONE, 0, -1)
    assert found(connection, topic, FIRST_TIMESTAMP_MS, version) == NOT_FOUND


@pytest.mark.parametrize("version", range(1, 12))
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_time_finds_the_first_record_at_or_after_it(
    connection: Connection, topic: str, version: int, codec: Codec
) -> None:
    """KIP-79, to the record inside a batch, compressed or not, with that record's own time."""
    records = numbered_records(30)
    for begin in (0, 10, 20):
        produced(connection, topic, records[begin : begin + 10], compression=codec)
    for number in (0, 9, 10, 17, 29):
        at = FIRST_TIMESTAMP_MS + number * TIMESTAMP_STEP_MS
        assert found(connection, topic, at, version) == (Error.NONE, number, at)
        assert found(connection, topic, at - 1, version) == (Error.NONE, number, at)


@pytest.mark.parametrize("version", range(1, 12))
def test_a_time_after_every_record_finds_nothing(
    connection: Connection, topic: str, version: int
) -> None:
    """-1 and -1: no such record, which is no error."""
    produced(connection, topic, numbered_records(5))
    last = FIRST_TIMESTAMP_MS + 4 * TIMESTAMP_STEP_MS
    assert found(connection, topic, last + 1, version) == NOT_FOUND


def test_times_may_go_backwards(connection: Connection, topic: str) -> None:
    """The first record by offset wins, although an earlier time follows later in the log."""
    steps = [5, 1, 9, 3]
    plain = numbered_records(len(steps))
    for step, record in zip(steps, plain, strict=True):
        produced(connection, topic, [replace(record, timestamp_ms=FIRST_TIMESTAMP_MS + step)])
    answers = {
        at: found(connection, topic, FIRST_TIMESTAMP_MS + at, 7)[1] for at in (0, 2, 5, 6, 9, 10)
    }
    assert answers == {0: 0, 2: 0, 5: 0, 6: 2, 9: 2, 10: -1}


def test_times_are_found_in_every_segment(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """The search crosses segments: sealed ones by their time index, the active one too."""
    topic = new_topic(config={"segment.bytes": str(1 << 20)})
    value = incompressible(300_000)
    for number in range(12):
        at = FIRST_TIMESTAMP_MS + number * TIMESTAMP_STEP_MS
        produced(connection, topic, [Record(b"", value, at), Record(b"", b"", at)])
    for number in range(12):
        at = FIRST_TIMESTAMP_MS + number * TIMESTAMP_STEP_MS
        assert found(connection, topic, at, 7) == (Error.NONE, 2 * number, at)
    assert found(connection, topic, at + 1, 7) == NOT_FOUND


def test_the_record_with_the_latest_time(connection: Connection, topic: str) -> None:
    """KIP-734: the maximum timestamp and the first offset that has it, not the last record."""
    assert found(connection, topic, MAX_TIMESTAMP, 7) == NOT_FOUND
    for step in (1, 8, 3, 8, 2):
        at = FIRST_TIMESTAMP_MS + step
        produced(connection, topic, [Record(b"", b"", at)])
    assert found(connection, topic, MAX_TIMESTAMP, 7) == (Error.NONE, 1, FIRST_TIMESTAMP_MS + 8)


def test_without_tiered_storage_all_is_local(connection: Connection, topic: str) -> None:
    """KIP-405: the earliest local offset is the earliest; nothing was tiered (KIP-1005)."""
    produced(connection, topic, numbered_records(3))
    assert found(connection, topic, EARLIEST_LOCAL, 8)[:2] == (Error.NONE, 0)
    assert found(connection, topic, LATEST_TIERED, 9)[:2] == (Error.NONE, -1)


@pytest.mark.parametrize("timestamp", [EARLIEST, LATEST, FIRST_TIMESTAMP_MS])
def test_an_unknown_topic_is_refused(
    connection: Connection, topic: str, topic_name: str, timestamp: int
) -> None:
    """Neither an unknown topic nor an unknown partition has offsets."""
    unknown = (Error.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert found(connection, topic_name, timestamp, 7) == unknown
    result = offset_at(connection, topic, timestamp, partition=5)
    assert (result.error_code, result.offset) == (Error.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_leader_epochs_are_told_and_checked(connection: Connection, topic: str) -> None:
    """KIP-320: the epoch of the record found; a future epoch of the client is refused."""
    produced(connection, topic, numbered_records(1))
    (header,) = batch_headers(fetched(connection, topic, 0).records)
    epoch = header.partition_leader_epoch
    assert offset_at(connection, topic, FIRST_TIMESTAMP_MS).leader_epoch == epoch
    assert offset_at(connection, topic, LATEST).leader_epoch == epoch
    refused = offset_at(connection, topic, LATEST, current_leader_epoch=epoch + 1)
    assert refused.error_code == Error.UNKNOWN_LEADER_EPOCH
