"""DeleteRecords: the start of a log moves up, and never back."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.clients.raw import Connection, batch_headers
from tests.clients.records import numbered_records
from tests.clients.requests import EARLIEST, TIMEOUT_MS, fetched, offset_at, produced

HIGH_WATERMARK = -1


def deleted(
    connection: Connection, topic: str, offset: int, *, partition: int = 0, version: int = 2
) -> Any:
    wanted = DeleteRecordsPartition(partition_index=partition, offset=offset)
    topics = [DeleteRecordsTopic(name=topic, partitions=[wanted])]
    response = connection.ask(DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS), version)
    ((result,),) = [each.partitions for each in response.topics]
    return result


@pytest.mark.parametrize("version", range(3))
def test_every_version_moves_the_start(connection: Connection, topic: str, version: int) -> None:
    """KIP-107: what lies before the offset is gone for readers, in the middle of a batch too."""
    produced(connection, topic, numbered_records(10))
    produced(connection, topic, numbered_records(10))
    result = deleted(connection, topic, 14, version=version)
    assert (result.error_code, result.low_watermark) == (Error.NONE, 14)
    assert offset_at(connection, topic, EARLIEST).offset == 14
    assert fetched(connection, topic, 13).error_code == Error.OFFSET_OUT_OF_RANGE
    after = fetched(connection, topic, 14)
    assert (after.log_start_offset, after.high_watermark) == (14, 20)
    assert [header.base_offset for header in batch_headers(after.records)] == [10]


def test_minus_one_means_everything(connection: Connection, topic: str) -> None:
    """The high watermark as it is; writing goes on behind it."""
    produced(connection, topic, numbered_records(5))
    assert deleted(connection, topic, HIGH_WATERMARK).low_watermark == 5
    assert fetched(connection, topic, 5).error_code == Error.NONE
    assert produced(connection, topic, numbered_records(1)).base_offset == 5


def test_the_start_never_goes_back(connection: Connection, topic: str) -> None:
    """An offset that is deleted already changes nothing and is no error."""
    produced(connection, topic, numbered_records(10))
    deleted(connection, topic, 6)
    result = deleted(connection, topic, 2)
    assert (result.error_code, result.low_watermark) == (Error.NONE, 6)


@pytest.mark.parametrize("offset", [11, -2])
def test_an_impossible_offset_is_refused(connection: Connection, topic: str, offset: int) -> None:
    """Beyond the high watermark there is nothing to delete: OFFSET_OUT_OF_RANGE."""
    produced(connection, topic, numbered_records(10))
    result = deleted(connection, topic, offset)
    assert (result.error_code, result.low_watermark) == (Error.OFFSET_OUT_OF_RANGE, -1)


def test_an_unknown_partition_is_refused(
    connection: Connection, topic: str, topic_name: str
) -> None:
    """Neither an unknown topic nor an unknown partition has records."""
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert deleted(connection, topic_name, 0).error_code == unknown
    assert deleted(connection, topic, 0, partition=3).error_code == unknown
