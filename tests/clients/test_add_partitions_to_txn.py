"""AddPartitionsToTxn: partitions that a transaction is going to write to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tests.clients.raw import Connection
from tests.clients.transactions.raw_producer import RawProducer, find_coordinator, new_id, patiently

ABSENT = "absent-topic"


def asked(
    connection: Connection,
    *transactions: tuple[RawProducer, dict[str, list[int]]],
    verify_only: bool,
    version: int = 5,
) -> Any:
    """AddPartitionsToTxn as brokers send it, for several transactions."""
    request = AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                **producer.identity,
                verify_only=verify_only,
                topics=[
                    AddPartitionsToTxnTopic(name=name, partitions=partitions)
                    for name, partitions in topics.items()
                ],
            )
            for producer, topics in transactions
        ]
    )
    return patiently(
        lambda: connection.ask(request, version),
        lambda answer: [error for _, _, error in outcomes(answer)],
    )


def outcomes(answer: Any) -> list[tuple[str, int, Error]]:
    """Transactional id, partition and error of each partition of the answer."""
    return [
        (result.transactional_id, each.partition_index, Error(each.partition_error_code))
        for result in answer.results_by_transaction
        for topic in result.topic_results
        for each in topic.results_by_partition
    ]


@pytest.mark.parametrize("version", range(4))
def test_a_client_adds_partitions(
    connection: Connection, new_topic: Callable[..., str], version: int
) -> None:
    """v0-v3: several at once, again without harm; then they take transactional records."""
    topic = new_topic(partitions=3)
    producer = RawProducer.start(connection)
    none = {(topic, 0): Error.NONE, (topic, 2): Error.NONE}
    assert producer.add({topic: [0, 2]}, version) == none
    assert producer.add({topic: [0, 2]}, version) == none
    assert producer.write(topic, partition=2) == Error.NONE
    assert producer.end(commit=True).error_code == Error.NONE


@pytest.mark.parametrize("version", [0, 3])
def test_one_partition_that_is_absent_refuses_all(
    connection: Connection, topic: str, version: int
) -> None:
    """It is UNKNOWN_TOPIC_OR_PARTITION, the others are OPERATION_NOT_ATTEMPTED."""
    producer = RawProducer.start(connection)
    assert producer.add({topic: [0, 7], ABSENT: [0]}, version) == {
        (topic, 0): Error.OPERATION_NOT_ATTEMPTED,
        (topic, 7): Error.UNKNOWN_TOPIC_OR_PARTITION,
        (ABSENT, 0): Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert producer.end(commit=True).error_code == Error.INVALID_TXN_STATE


@pytest.mark.parametrize("version", range(4))
def test_a_fenced_producer_is_told_so(connection: Connection, topic: str, version: int) -> None:
    """An old epoch is PRODUCER_FENCED since v2, INVALID_PRODUCER_EPOCH before (KIP-588)."""
    zombie = RawProducer.start(connection)
    RawProducer.start(connection, zombie.transactional_id)
    expected = Error.PRODUCER_FENCED if version >= 2 else Error.INVALID_PRODUCER_EPOCH
    assert zombie.add({topic: [0]}, version) == {(topic, 0): expected}


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ({"transactional_id": "nobody-has-this-id"}, Error.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_id": 987_654_321}, Error.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_epoch": 5}, Error.PRODUCER_FENCED),
        ({"transactional_id": ""}, Error.INVALID_REQUEST),
    ],
    ids=["unknown id", "another producer", "an epoch to come", "empty id"],
)
def test_who_a_producer_must_be(
    connection: Connection, topic: str, identity: dict[str, Any], expected: Error
) -> None:
    """The transactional id must be known, and belong to this producer in this epoch."""
    if identity.get("transactional_id"):
        find_coordinator(connection, identity["transactional_id"])
    producer = RawProducer.start(connection)
    assert producer.add({topic: [0]}, **identity) == {(topic, 0): expected}


@pytest.mark.parametrize("version", [4, 5])
def test_a_broker_verifies_several_transactions(
    connection: Connection, new_topic: Callable[..., str], version: int
) -> None:
    """KIP-890: a partition that is not in the transaction is TRANSACTION_ABORTABLE."""
    topic = new_topic(partitions=2)
    one, other = RawProducer.start(connection), RawProducer.start(connection)
    one.add({topic: [0, 1]})
    other.add({topic: [0]})
    answer = asked(
        connection,
        (one, {topic: [0, 1]}),
        (other, {topic: [0, 1]}),
        verify_only=True,
        version=version,
    )
    assert answer.error_code == Error.NONE
    assert sorted(outcomes(answer)) == sorted(
        [
            (one.transactional_id, 0, Error.NONE),
            (one.transactional_id, 1, Error.NONE),
            (other.transactional_id, 0, Error.NONE),
            (other.transactional_id, 1, Error.TRANSACTION_ABORTABLE),
        ]
    )
    for producer in (one, other):
        assert producer.end(commit=False).error_code == Error.NONE


def test_a_broker_adds_partitions(connection: Connection, new_topic: Callable[..., str]) -> None:
    """v4 and later add for brokers, as the first write of a producer of transactions v2 does."""
    topic = new_topic(partitions=2)
    producer = RawProducer.start(connection)
    answer = asked(connection, (producer, {topic: [1]}), verify_only=False)
    assert outcomes(answer) == [(producer.transactional_id, 1, Error.NONE)]
    assert producer.write(topic, partition=1) == Error.NONE
    assert producer.end(commit=True).error_code == Error.NONE


@pytest.mark.parametrize("verify_only", [False, True], ids=["add", "verify"])
def test_a_broker_hears_of_absent_partitions_too(
    connection: Connection, topic: str, verify_only: bool
) -> None:
    """One absent partition refuses those of its transaction; other transactions go on."""
    one, other = RawProducer.start(connection), RawProducer.start(connection)
    other.add({topic: [0]})
    answer = asked(
        connection,
        (one, {topic: [0], ABSENT: [0]}),
        (other, {topic: [0]}),
        verify_only=verify_only,
    )
    assert sorted(outcomes(answer)) == sorted(
        [
            (one.transactional_id, 0, Error.OPERATION_NOT_ATTEMPTED),
            (one.transactional_id, 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
            (other.transactional_id, 0, Error.NONE),
        ]
    )
    assert other.end(commit=False).error_code == Error.NONE


def test_a_broker_that_names_nobody(connection: Connection, topic: str) -> None:
    """An unknown transactional id and an old epoch are told apart, for each transaction."""
    stranger = RawProducer(connection, new_id(), 1, 0)
    find_coordinator(connection, stranger.transactional_id)
    zombie = RawProducer.start(connection)
    RawProducer.start(connection, zombie.transactional_id)
    answer = asked(connection, (stranger, {topic: [0]}), (zombie, {topic: [0]}), verify_only=False)
    assert sorted(outcomes(answer)) == sorted(
        [
            (stranger.transactional_id, 0, Error.INVALID_PRODUCER_ID_MAPPING),
            (zombie.transactional_id, 0, Error.PRODUCER_FENCED),
        ]
    )
