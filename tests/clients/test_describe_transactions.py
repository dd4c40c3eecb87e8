"""DescribeTransactions: what a coordinator knows of a transactional id."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.errors import Error
from headrace.wire.messages.describe_transactions import DescribeTransactionsRequest
from tests.clients.contract import eventually
from tests.clients.raw import Connection
from tests.clients.transactions.raw_producer import RawProducer, find_coordinator, new_id


def described(connection: Connection, *names: str) -> list[Any]:
    request = DescribeTransactionsRequest(transactional_ids=list(names))
    states: list[Any] = connection.ask(request, 0).transaction_states
    return states


def awaited(connection: Connection, name: str, state: str) -> Any:
    """Wait until a transactional id is in this state."""
    eventually(lambda: described(connection, name)[0].transaction_state == state, state)
    return described(connection, name)[0]


def test_the_life_of_a_transaction(connection: Connection, new_topic: Callable[..., str]) -> None:
    """Empty, Ongoing with its partitions and its start, and complete without them."""
    topic = new_topic(partitions=3)
    producer = RawProducer.start(connection)
    name = producer.transactional_id
    (state,) = described(connection, name)
    assert (state.error_code, state.transactional_id) == (Error.NONE, name)
    assert (state.transaction_state, state.transaction_start_time_ms) == ("Empty", -1)
    assert (state.producer_id, state.producer_epoch) == (producer.producer_id, 0)
    assert (state.transaction_timeout_ms, state.topics) == (60_000, [])
    producer.add({topic: [2, 0]})
    (state,) = described(connection, name)
    assert state.transaction_state == "Ongoing"
    # A coordinator's clock does not jump with the wall clock, so the two may differ a little.
    assert abs(time.time() * 1000 - state.transaction_start_time_ms) < 60_000
    ((found, partitions),) = [(each.topic, sorted(each.partitions)) for each in state.topics]
    assert (found, partitions) == (topic, [0, 2])
    for commit, expected in ((True, "CompleteCommit"), (False, "CompleteAbort")):
        producer.add({topic: [1]})
        assert producer.end(commit=commit).error_code == Error.NONE
        complete = awaited(connection, name, expected)
        assert complete.topics == []


def test_ids_that_nobody_has_used(connection: Connection, topic: str) -> None:
    """TRANSACTIONAL_ID_NOT_FOUND for each of them, beside those that are known."""
    producer, unknown = RawProducer.start(connection), new_id()
    find_coordinator(connection, unknown)
    states = {
        each.transactional_id: each
        for each in described(connection, unknown, producer.transactional_id)
    }
    assert states[producer.transactional_id].error_code == Error.NONE
    assert states[unknown].error_code == Error.TRANSACTIONAL_ID_NOT_FOUND


def test_nothing_asked_nothing_answered(connection: Connection) -> None:
    """An empty list is answered with an empty list."""
    assert described(connection) == []


def test_an_empty_id_is_refused(connection: Connection) -> None:
    """The empty string names no transaction: INVALID_REQUEST."""
    find_coordinator(connection, "")
    (state,) = described(connection, "")
    assert state.error_code == Error.INVALID_REQUEST
