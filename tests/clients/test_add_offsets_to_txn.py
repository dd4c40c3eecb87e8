"""AddOffsetsToTxn: a group whose offsets become part of a transaction."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from tests.clients.raw import Connection
from tests.clients.transactions.raw_producer import RawProducer, find_coordinator, new_id


@pytest.mark.parametrize("version", range(5))
def test_every_version_adds_a_group(connection: Connection, topic: str, version: int) -> None:
    """Afterwards the group takes offsets in the transaction, which it would not before."""
    producer, group = RawProducer.start(connection), new_id()
    assert producer.add_offsets(group, version) == Error.NONE
    assert producer.add_offsets(group, version) == Error.NONE
    assert producer.commit_offset(group, topic, 5) == Error.NONE
    assert producer.end(commit=True).error_code == Error.NONE


@pytest.mark.parametrize("version", range(5))
def test_a_fenced_producer_is_told_so(connection: Connection, version: int) -> None:
    """PRODUCER_FENCED since v2, INVALID_PRODUCER_EPOCH before (KIP-588)."""
    zombie = RawProducer.start(connection)
    RawProducer.start(connection, zombie.transactional_id)
    expected = Error.PRODUCER_FENCED if version >= 2 else Error.INVALID_PRODUCER_EPOCH
    assert zombie.add_offsets(new_id(), version) == expected


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
    connection: Connection, identity: dict[str, Any], expected: Error
) -> None:
    """The transactional id must be known, and belong to this producer in this epoch."""
    if identity.get("transactional_id"):
        find_coordinator(connection, identity["transactional_id"])
    producer = RawProducer.start(connection)
    assert producer.add_offsets(new_id(), **identity) == expected


def test_a_group_alone_is_a_transaction(connection: Connection) -> None:
    """It can be ended though no record was written."""
    producer = RawProducer.start(connection)
    assert producer.end(commit=True).error_code == Error.INVALID_TXN_STATE
    assert producer.add_offsets(new_id()) == Error.NONE
    assert producer.end(commit=False).error_code == Error.NONE


def test_the_first_group_of_a_broker_may_be_in_a_transaction() -> None:
    """A producer adds a group before it looks for the coordinator, whose topic nobody has made."""
    with Broker() as broker, Connection(broker.bootstrap_servers) as connection:
        producer = RawProducer.start(connection)
        assert producer.add_offsets("group") == Error.NONE
        assert producer.end(commit=True).error_code == Error.NONE
