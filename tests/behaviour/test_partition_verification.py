"""`transaction.partition.verification.enable`: are producers of transactions v1 believed?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import create_topic, produce_request

TOPIC, GROUP, NAME = "written", "group", "producer"
GROUPS, TRANSACTIONS = 0, 1


@pytest.fixture(scope="module", params=["true", "false"])
def verifies(request: pytest.FixtureRequest) -> Iterator[tuple[Connection, bool]]:
    """A connection to a broker, and whether that broker verifies."""
    settings = {
        "transaction.partition.verification.enable": request.param,
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.num.partitions": 1,
    }
    with Broker(settings) as broker, Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, TOPIC)
        yield connection, request.param == "true"


def new_producer(connection: Connection) -> Any:
    """Its id and epoch; both coordinators answer when this returns."""
    await_coordinator(connection, GROUPS, GROUP)
    await_coordinator(connection, TRANSACTIONS, NAME)
    request = InitProducerIdRequest(transactional_id=NAME, transaction_timeout_ms=60_000)
    answers: list[Any] = []

    def succeeds() -> bool:
        answers.append(connection.ask(request, 4))
        return int(answers[-1].error_code) == Error.NONE

    eventually(succeeds, "a producer id")
    return answers[-1]


def await_coordinator(connection: Connection, kind: int, key: str) -> None:
    request = FindCoordinatorRequest(key=key, key_type=kind)
    eventually(lambda: not connection.ask(request, 3).error_code, f"a coordinator of {key}")


def test_a_write_to_a_partition_that_was_not_added(verifies: tuple[Connection, bool]) -> None:
    """KIP-890: refused as INVALID_TXN_STATE, or taken on trust, up to Produce v11."""
    connection, is_verified = verifies
    producer = new_producer(connection)
    batch = batch_of(
        numbered_records(1),
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        transactional=True,
    )
    request = produce_request(TOPIC, batch, transactional_id=NAME)
    ((answer,),) = [each.partition_responses for each in connection.ask(request, 10).responses]
    assert answer.error_code == (Error.INVALID_TXN_STATE if is_verified else Error.NONE)


def test_offsets_of_a_group_that_was_not_added(verifies: tuple[Connection, bool]) -> None:
    """The same for TxnOffsetCommit up to v4; v5 adds the group and needs no trust."""
    connection, is_verified = verifies
    producer = new_producer(connection)
    request = TxnOffsetCommitRequest(
        transactional_id=NAME,
        group_id=GROUP,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[
            TxnOffsetCommitRequestTopic(
                name=TOPIC,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=0, committed_offset=1, committed_metadata=None
                    )
                ],
            )
        ],
    )

    def error(version: int) -> int:
        ((answer,),) = [each.partitions for each in connection.ask(request, version).topics]
        return int(answer.error_code)

    assert error(3) == (Error.INVALID_TXN_STATE if is_verified else Error.NONE)
    assert error(5) == Error.NONE
