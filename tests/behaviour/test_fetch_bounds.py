"""The offset, the least and the most that a fetch asks for, and the memory that follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.fetch import FetchRequest
from tests.clients.raw import Connection, batch_headers, batch_of
from tests.clients.records import Record, numbered_records
from tests.clients.requests import fetch_request, fetched, produced, produced_bytes

PARTITIONS = 10
PARTITION_MAX_BYTES = 2_000_000


@pytest.mark.spec("book2:J-27", "book2:J-28")
def test_a_fetch_returns_from_its_offset_no_more_than_its_maximum(
    connection: Connection, topic: str
) -> None:
    """Whatever the maximum, the answer fits into it and begins where the client asked."""
    batch = batch_of(numbered_records(10))
    for _ in range(20):
        produced_bytes(connection, topic, batch)
    for whole_batches in (1, 2, 7):
        limit = whole_batches * len(batch) + len(batch) // 2
        for bound in ("partition_max_bytes", "max_bytes"):
            found = fetched(connection, topic, 50, **{bound: limit})
            headers = batch_headers(found.records)
            assert len(found.records) <= limit
            assert [each.base_offset for each in headers] == [
                50 + 10 * number for number in range(whole_batches)
            ]


@pytest.mark.spec("book2:J-27", "book2:J-29")
def test_a_fetch_waits_until_its_minimum_has_gathered(
    broker: Broker, connection: Connection, topic: str
) -> None:
    """Nine small batches are not enough and bring no answer; the tenth brings all of them."""
    batch = batch_of(numbered_records(1))
    waiting = fetch_request(topic, 0, max_wait_ms=20_000, min_bytes=10 * len(batch))
    began = time.monotonic()
    correlation_id = connection.send(waiting, 12)
    with Connection(broker.bootstrap_servers) as writer:
        for _ in range(10):
            produced_bytes(writer, topic, batch)
    (found,) = connection.answer(correlation_id, FetchRequest, 12).responses[0].partitions
    assert len(batch_headers(found.records)) == 10
    assert time.monotonic() - began < 15


@pytest.mark.spec("book2:J-30")
def test_an_offset_is_checked_before_it_is_read(connection: Connection, topic: str) -> None:
    """An offset that the log does not have is an error; one that it has is read up to the limit."""
    batch = batch_of(numbered_records(3))
    for _ in range(4):
        produced_bytes(connection, topic, batch)
    for offset in (-1, 13):
        assert fetched(connection, topic, offset).error_code == Error.OFFSET_OUT_OF_RANGE
    found = fetched(connection, topic, 3, partition_max_bytes=2 * len(batch))
    assert found.error_code == Error.NONE
    assert [each.base_offset for each in batch_headers(found.records)] == [3, 6]


@pytest.mark.spec("book2:N-03")
@pytest.mark.spec("book1:F-09", "book1:N-09", "book1:C-27")
def test_a_consumer_needs_memory_for_partitions_times_their_maximum(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """Ten partitions with 2 MB each bring at most 20 MB, and nearly as much, however full."""
    topic = new_topic(partitions=PARTITIONS)
    request = fetch_request(topic, 0, max_bytes=50_000_000)
    request.topics[0].partitions.clear()
    for partition in range(PARTITIONS):
        for _ in range(3):
            filling = batch_of([Record(None, bytes(900_000), 0)])
            produced_bytes(connection, topic, filling, partition=partition)
        more = fetch_request(topic, 0, partition=partition, partition_max_bytes=PARTITION_MAX_BYTES)
        request.topics[0].partitions += more.topics[0].partitions
    (answer,) = connection.ask(request, 12).responses
    sizes = [len(each.records) for each in answer.partitions]
    assert len(sizes) == PARTITIONS
    assert max(sizes) <= PARTITION_MAX_BYTES
    assert 18_000_000 < sum(sizes) <= PARTITIONS * PARTITION_MAX_BYTES
    assert {len(batch_headers(each.records)) for each in answer.partitions} == {2}


def test_an_empty_partition_costs_nothing(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """A maximum is no promise: partitions without records bring no bytes."""
    topic = new_topic(partitions=2)
    produced(connection, topic, numbered_records(1))
    request = fetch_request(topic, 0)
    request.topics[0].partitions += fetch_request(topic, 0, partition=1).topics[0].partitions
    (answer,) = connection.ask(request, 12).responses
    assert [bool(each.records) for each in answer.partitions] == [True, False]
