"""ListTransactions: the transactional ids of a broker, and filters on them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.list_transactions import ListTransactionsRequest
from tests.clients.contract import eventually
from tests.clients.raw import Connection
from tests.clients.transactions.raw_producer import RawProducer, new_id


def answered(connection: Connection, version: int = 2, **filters: Any) -> Any:
    wanted: dict[str, Any] = {"state_filters": [], "producer_id_filters": [], **filters}
    return connection.ask(ListTransactionsRequest(**wanted), version)


def listed(connection: Connection, version: int = 2, **filters: Any) -> dict[str, str]:
    """Transactional ids and their states."""
    answer = answered(connection, version, **filters)
    assert answer.error_code == Error.NONE
    return {each.transactional_id: each.transaction_state for each in answer.transaction_states}


@pytest.fixture
def producers(connection: Connection, topic: str) -> tuple[RawProducer, RawProducer]:
    """One with an open transaction, one whose transaction is complete."""
    prefix = new_id()
    ongoing = RawProducer.start(connection, f"{prefix}-ongoing")
    ongoing.add({topic: [0]})
    complete = RawProducer.start(connection, f"{prefix}-complete")
    complete.add({topic: [0]})
    assert complete.end(commit=True).error_code == Error.NONE
    eventually(lambda: listed(connection)[complete.transactional_id] == "CompleteCommit", "the end")
    return ongoing, complete


@pytest.mark.parametrize("version", range(3))
def test_every_version_lists_all(
    connection: Connection, producers: tuple[RawProducer, RawProducer], version: int
) -> None:
    """Each id with its producer and its state."""
    ongoing, complete = producers
    found = listed(connection, version)
    assert found[ongoing.transactional_id] == "Ongoing"
    assert found[complete.transactional_id] == "CompleteCommit"
    ids = {
        each.transactional_id: each.producer_id
        for each in answered(connection, version).transaction_states
    }
    assert ids[ongoing.transactional_id] == ongoing.producer_id


def test_by_state(connection: Connection, producers: tuple[RawProducer, RawProducer]) -> None:
    """Names of states that do not exist are told back, and match nothing."""
    ongoing, complete = producers
    found = listed(connection, state_filters=["Ongoing"])
    assert ongoing.transactional_id in found
    assert complete.transactional_id not in found
    answer = answered(connection, state_filters=["Ongoing", "Onwards"])
    assert answer.unknown_state_filters == ["Onwards"]
    assert ongoing.transactional_id in {each.transactional_id for each in answer.transaction_states}
    answer = answered(connection, state_filters=["Onwards"])
    assert (answer.unknown_state_filters, answer.transaction_states) == (["Onwards"], [])


def test_by_producer(connection: Connection, producers: tuple[RawProducer, RawProducer]) -> None:
    """Any of the producer ids; together with states both must hold."""
    ongoing, complete = producers
    both = [ongoing.producer_id, complete.producer_id]
    found = listed(connection, producer_id_filters=both)
    assert set(found) == {ongoing.transactional_id, complete.transactional_id}
    found = listed(connection, producer_id_filters=both, state_filters=["CompleteCommit"])
    assert set(found) == {complete.transactional_id}
    assert listed(connection, producer_id_filters=[987_654_321]) == {}


@pytest.mark.parametrize("version", [1, 2])
def test_by_duration(
    connection: Connection, producers: tuple[RawProducer, RawProducer], version: int
) -> None:
    """KIP-994: a transaction that has been open for longer, and ids that have none open."""
    ongoing, complete = producers
    both = {ongoing.transactional_id, complete.transactional_id}
    eventually(
        lambda: both <= set(listed(connection, version, duration_filter=1)),
        "transactions of more than a millisecond",
    )
    assert ongoing.transactional_id not in listed(connection, version, duration_filter=3_600_000)


def test_by_pattern(connection: Connection, producers: tuple[RawProducer, RawProducer]) -> None:
    """KIP-1152: the whole id must match the regular expression; null and empty match all."""
    ongoing, complete = producers
    prefix = re.escape(ongoing.transactional_id.rpartition("-")[0])
    found = listed(connection, transactional_id_pattern=f"{prefix}-.*")
    assert set(found) == {ongoing.transactional_id, complete.transactional_id}
    assert listed(connection, transactional_id_pattern=prefix) == {}
    for everything in (None, ""):
        found = listed(connection, transactional_id_pattern=everything)
        assert {ongoing.transactional_id, complete.transactional_id} <= set(found)


def test_a_pattern_that_is_none(connection: Connection) -> None:
    """INVALID_REGULAR_EXPRESSION, and nothing is listed."""
    answer = answered(connection, transactional_id_pattern="(unclosed")
    assert answer.error_code == Error.INVALID_REGULAR_EXPRESSION
    assert answer.transaction_states == []
