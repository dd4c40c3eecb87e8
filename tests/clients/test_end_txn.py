"""EndTxn: the decision of a producer, once and for all."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from tests.clients.contract import eventually
from tests.clients.producer.written import batches
from tests.clients.raw import Connection
from tests.clients.transactions.raw_producer import (
    OF_TRANSACTIONS_V2,
    RawProducer,
    find_coordinator,
    initialised,
    new_id,
)

COMMIT, ABORT = True, False


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("commit", [COMMIT, ABORT], ids=["commit", "abort"])
def test_a_transaction_ends_with_a_marker(
    connection: Connection, topic: str, version: int, commit: bool
) -> None:
    """v0-v4: the same producer and epoch go on; the marker says how it ended."""
    producer = RawProducer.start(connection)
    producer.add({topic: [0]})
    assert producer.write(topic, 3) == Error.NONE
    assert producer.end(commit=commit, version=version).error_code == Error.NONE
    producer.transact(topic)  # which waits for the first one
    first, marker, *_ = batches(connection, topic)
    assert (first.record_count, marker.is_control, marker.base_offset) == (3, True, 3)
    assert marker.producer_epoch == first.producer_epoch == producer.producer_epoch


@pytest.mark.parametrize("commit", [COMMIT, ABORT], ids=["commit", "abort"])
def test_from_v5_on_each_end_raises_the_epoch(
    connection: Connection, topic: str, commit: bool
) -> None:
    """KIP-890: a write of the transaction before cannot slip into the next one."""
    producer = RawProducer.start(connection)
    before = producer.producer_epoch
    assert producer.write(topic, version=OF_TRANSACTIONS_V2) == Error.NONE
    answer = producer.end(commit=commit, version=5)
    assert (answer.error_code, answer.producer_epoch) == (Error.NONE, before + 1)
    assert answer.producer_id == producer.producer_id
    eventually(lambda: batches(connection, topic)[-1].is_control, "the marker")
    late = RawProducer(connection, producer.transactional_id, producer.producer_id, before)
    late.sequences[topic, 0] = 1
    assert late.write(topic, version=OF_TRANSACTIONS_V2) == Error.INVALID_PRODUCER_EPOCH
    assert producer.write(topic, version=OF_TRANSACTIONS_V2) == Error.NONE
    assert producer.end(commit=COMMIT, version=5).error_code == Error.NONE


@pytest.mark.parametrize("commit", [COMMIT, ABORT], ids=["commit", "abort"])
def test_a_repeated_end_is_answered_as_the_first(
    connection: Connection, topic: str, commit: bool
) -> None:
    """The other decision is INVALID_TXN_STATE: what is decided stays."""
    producer = RawProducer.start(connection)
    producer.add({topic: [0]})
    for _ in range(2):
        assert producer.end(commit=commit).error_code == Error.NONE
    assert producer.end(commit=not commit).error_code == Error.INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [COMMIT, ABORT], ids=["commit", "abort"])
def test_a_repeated_end_of_v5_has_the_same_answer(
    connection: Connection, topic: str, commit: bool
) -> None:
    """The producer that names itself as it was before the end learns who it is now."""
    producer = RawProducer.start(connection)
    before = producer.producer_epoch
    assert producer.write(topic, version=OF_TRANSACTIONS_V2) == Error.NONE
    first = producer.end(commit=commit, version=5)
    again = producer.end(commit=commit, version=5, producer_epoch=before)
    assert (again.error_code, again.producer_id) == (Error.NONE, first.producer_id)
    assert again.producer_epoch == first.producer_epoch == before + 1
    other = producer.end(commit=not commit, version=5, producer_epoch=before)
    assert (other.error_code, other.producer_epoch) == (Error.INVALID_TXN_STATE, -1)


def test_without_a_transaction_there_is_nothing_to_end(connection: Connection) -> None:
    """INVALID_TXN_STATE; but since v5 an abort is granted, as nobody may know (KIP-890)."""
    producer = RawProducer.start(connection)
    for commit in (COMMIT, ABORT):
        assert producer.end(commit=commit).error_code == Error.INVALID_TXN_STATE
    assert producer.end(commit=COMMIT, version=5).error_code == Error.INVALID_TXN_STATE
    before = producer.producer_epoch
    answer = producer.end(commit=ABORT, version=5)
    assert (answer.error_code, answer.producer_epoch) == (Error.NONE, before + 1)


@pytest.mark.parametrize("version", range(6))
def test_a_fenced_producer_is_told_so(connection: Connection, topic: str, version: int) -> None:
    """PRODUCER_FENCED since v2, INVALID_PRODUCER_EPOCH before; its transaction was aborted."""
    zombie = RawProducer.start(connection)
    zombie.add({topic: [0]})
    RawProducer.start(connection, zombie.transactional_id)
    expected = Error.PRODUCER_FENCED if version >= 2 else Error.INVALID_PRODUCER_EPOCH
    answer = zombie.end(commit=COMMIT, version=version)
    assert answer.error_code == expected


@pytest.mark.parametrize("version", [4, 5])
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
    connection: Connection, topic: str, version: int, identity: dict[str, Any], expected: Error
) -> None:
    """The transactional id must be known, and belong to this producer in this epoch."""
    if identity.get("transactional_id"):
        find_coordinator(connection, identity["transactional_id"])
    producer = RawProducer.start(connection)
    producer.add({topic: [0]})
    assert producer.end(commit=COMMIT, version=version, **identity).error_code == expected
    assert producer.end(commit=ABORT).error_code == Error.NONE


def test_a_producer_goes_on_after_its_coordinator_said_no(
    connection: Connection, topic: str
) -> None:
    """InitProducerId with its own id and epoch gives it the next epoch (KIP-360)."""
    producer = RawProducer.start(connection, new_id())
    producer.add({topic: [0]})
    again = initialised(
        connection,
        producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
    )
    assert again.error_code == Error.NONE
    assert again.producer_id == producer.producer_id
    assert again.producer_epoch > producer.producer_epoch
    assert producer.end(commit=COMMIT).error_code == Error.PRODUCER_FENCED
