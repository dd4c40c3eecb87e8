"""DescribeProducers: who has written to a partition, and who has a transaction open there."""

from __future__ import annotations

from typing import Any

from headrace.errors import Error
from headrace.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from tests.clients.contract import eventually
from tests.clients.raw import Connection
from tests.clients.records import FIRST_TIMESTAMP_MS, TIMESTAMP_STEP_MS, numbered_records
from tests.clients.requests import produced
from tests.clients.transactions.raw_producer import RawProducer


def described(connection: Connection, topic: str, partition: int = 0) -> Any:
    """The partition's part of the answer."""
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=topic, partition_indexes=[partition])]
    )
    ((result,),) = [each.partitions for each in connection.ask(request, 0).topics]
    return result


def test_a_partition_that_nobody_has_written_to(connection: Connection, topic: str) -> None:
    """No producers; records of a producer without an id make none either."""
    produced(connection, topic, numbered_records(3))
    result = described(connection, topic)
    assert (result.error_code, result.active_producers) == (Error.NONE, [])


def test_an_idempotent_producer(connection: Connection, topic: str) -> None:
    """Its last sequence and its last time; it has no transaction and no coordinator."""
    init = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    identity = connection.ask(init, 4)
    produced(
        connection,
        topic,
        numbered_records(5),
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=0,
    )
    (state,) = described(connection, topic).active_producers
    assert (state.producer_id, state.producer_epoch) == (identity.producer_id, 0)
    assert state.last_sequence == 4
    assert state.last_timestamp == FIRST_TIMESTAMP_MS + 4 * TIMESTAMP_STEP_MS
    assert (state.coordinator_epoch, state.current_txn_start_offset) == (-1, -1)


def test_an_open_transaction_shows_where_it_began(connection: Connection, topic: str) -> None:
    """KIP-664: until its marker is there; then the coordinator's epoch is known."""
    produced(connection, topic, numbered_records(2))
    producer = RawProducer.start(connection)
    producer.add({topic: [0]})
    for _ in range(2):
        assert producer.write(topic) == Error.NONE
    (state,) = described(connection, topic).active_producers
    assert state.producer_id == producer.producer_id
    assert (state.last_sequence, state.current_txn_start_offset) == (1, 2)
    assert state.coordinator_epoch == -1
    assert producer.end(commit=True).error_code == Error.NONE

    def is_over() -> bool:
        (state,) = described(connection, topic).active_producers
        return bool(state.current_txn_start_offset == -1 and state.coordinator_epoch >= 0)

    eventually(is_over, "the marker")


def test_several_producers_of_a_partition(connection: Connection, topic: str) -> None:
    """Each with its own state."""
    producers = [RawProducer.start(connection) for _ in range(3)]
    for producer in producers:
        producer.add({topic: [0]})
        assert producer.write(topic) == Error.NONE
    found = {
        each.producer_id: each.current_txn_start_offset
        for each in described(connection, topic).active_producers
    }
    assert found == {producer.producer_id: index for index, producer in enumerate(producers)}
    for producer in producers:
        assert producer.end(commit=False).error_code == Error.NONE


def test_a_partition_that_is_absent(connection: Connection, topic: str) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION, and nobody."""
    for name, partition in ((topic, 3), ("absent", 0)):
        result = described(connection, name, partition)
        assert result.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
        assert result.active_producers == []
