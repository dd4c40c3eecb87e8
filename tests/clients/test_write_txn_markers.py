"""WriteTxnMarkers: the ends of transactions, as coordinators and tools write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.clients.producer.written import batches
from tests.clients.raw import Connection
from tests.clients.transactions.raw_producer import RawProducer

VERSIONS = [1, 2]


def marker(
    producer: RawProducer, topics: dict[str, list[int]], *, commit: bool, **options: Any
) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=options.pop("producer_epoch", producer.producer_epoch),
        transaction_result=commit,
        coordinator_epoch=options.pop("coordinator_epoch", 0),
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=partitions)
            for name, partitions in topics.items()
        ],
        **options,
    )


def written(
    connection: Connection, *markers: WritableTxnMarker, version: int = 1
) -> dict[tuple[int, str, int], Error]:
    """The error of each partition of each producer."""
    answer = connection.ask(WriteTxnMarkersRequest(markers=list(markers)), version)
    return {
        (each.producer_id, topic.name, partition.partition_index): Error(partition.error_code)
        for each in answer.markers
        for topic in each.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_markers_end_open_transactions(
    connection: Connection, new_topic: Callable[..., str], version: int, commit: bool
) -> None:
    """Of several producers in several partitions, each with the outcome of its own."""
    topic = new_topic(partitions=2)
    one, other = RawProducer.start(connection), RawProducer.start(connection)
    for producer in (one, other):
        producer.add({topic: [0, 1]})
        for partition in (0, 1):
            assert producer.write(topic, partition=partition) == Error.NONE
    errors = written(
        connection,
        marker(one, {topic: [0, 1]}, commit=commit),
        marker(other, {topic: [0]}, commit=not commit),
        version=version,
    )
    assert errors == {
        (one.producer_id, topic, 0): Error.NONE,
        (one.producer_id, topic, 1): Error.NONE,
        (other.producer_id, topic, 0): Error.NONE,
    }
    assert [each.is_control for each in batches(connection, topic)] == [False, False, True, True]
    assert [each.is_control for each in batches(connection, topic, 1)] == [False, False, True]
    for producer in (one, other):
        assert producer.end(commit=False).error_code == Error.NONE


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_that_is_absent(connection: Connection, topic: str, version: int) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION for it; the others get their marker."""
    producer = RawProducer.start(connection)
    producer.add({topic: [0]})
    assert producer.write(topic) == Error.NONE
    wanted = marker(producer, {topic: [0, 5], "absent": [0]}, commit=True)
    assert written(connection, wanted, version=version) == {
        (producer.producer_id, topic, 0): Error.NONE,
        (producer.producer_id, topic, 5): Error.UNKNOWN_TOPIC_OR_PARTITION,
        (producer.producer_id, "absent", 0): Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [each.is_control for each in batches(connection, topic)] == [False, True]
    assert producer.end(commit=True).error_code == Error.NONE


def test_a_marker_of_the_past_is_refused(connection: Connection, topic: str) -> None:
    """By the producer's epoch, and by that of the coordinator which wrote one before."""
    producer = RawProducer.start(connection)
    producer = RawProducer.start(connection, producer.transactional_id)
    assert producer.producer_epoch == 1
    producer.add({topic: [0]})
    assert producer.write(topic) == Error.NONE
    where = (producer.producer_id, topic, 0)
    old_producer = marker(producer, {topic: [0]}, commit=True, producer_epoch=0)
    assert written(connection, old_producer) == {where: Error.INVALID_PRODUCER_EPOCH}
    newer = marker(producer, {topic: [0]}, commit=True, coordinator_epoch=7)
    assert written(connection, newer) == {where: Error.NONE}
    older = marker(producer, {topic: [0]}, commit=True, coordinator_epoch=6)
    assert written(connection, older) == {where: Error.TRANSACTION_COORDINATOR_FENCED}
    assert [each.is_control for each in batches(connection, topic)] == [False, True]


def test_nothing_is_open(connection: Connection, topic: str) -> None:
    """A marker for a producer that has never written here is written all the same."""
    producer = RawProducer.start(connection)
    wanted = marker(producer, {topic: [0]}, commit=False)
    assert written(connection, wanted) == {(producer.producer_id, topic, 0): Error.NONE}
    assert [each.is_control for each in batches(connection, topic)] == [True]


def test_no_markers_no_answers(connection: Connection) -> None:
    """An empty request has an empty answer."""
    assert written(connection) == {}
